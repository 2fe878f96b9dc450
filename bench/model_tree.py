"""The trees that Anderson (2013) took from Weka, on the trees of scikit-learn: REPTree and M5'.

Both grow a regression tree by least squares. REPTree prunes it by the errors on data that it was not grown on (Quinlan
1987, Simplifying decision trees). M5' has a linear model at each node, prunes by the errors of these and smooths what a
leaf predicts by the models above it (Wang & Witten 1997, Inducing model trees for continuous classes).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeRegressor

Array = NDArray[np.float64]
Places = NDArray[np.int64]

LEAF = -1
"""The child of a leaf, as scikit-learn has it."""

HELD_OUT = 3
"""The share of rows by which a REPTree is pruned: one in this number (Weka's usual three folds)."""

FEWEST = 4
"""Rows of a leaf of M5' (Weka's usual)."""

STILL = 0.05
"""A node whose standard deviation is a smaller share of that of all rows is not split (Quinlan 1992)."""

EXACT = 1e-5
"""A model whose error is a smaller share of the standard deviation of all rows is not divided (Weka)."""

SMOOTHING = 15.0
"""Rows that the model above counts as where a prediction is smoothed (Quinlan 1992)."""


@dataclass
class ReducedErrorTree:
    """A regression tree that is pruned by rows it was not grown on; its leaves predict the mean of all their rows."""

    seed: int = 0
    tree: Any = None
    leaves: set[int] = field(default_factory=set)
    values: Array = field(default_factory=lambda: np.empty(0))

    def fit(self, inputs: Array, targets: Array) -> Self:
        """Grow the tree on two thirds of the rows, and prune it by the rest."""
        place = np.random.default_rng(self.seed).permutation(len(targets)) % HELD_OUT
        grow, prune = place > 0, place == 0
        self.tree = DecisionTreeRegressor(min_samples_leaf=2, random_state=self.seed).fit(inputs[grow], targets[grow])
        shape = self.tree.tree_
        means = shape.value[:, 0, 0]
        reached = self.tree.decision_path(inputs[prune]).toarray().astype(bool)
        errors = np.array([((targets[prune][rows] - means[node]) ** 2).sum() for node, rows in enumerate(reached.T)])
        # A child has a higher number than its parent.
        for node in reversed(range(shape.node_count)):
            left, right = shape.children_left[node], shape.children_right[node]
            if left == LEAF or errors[node] <= errors[left] + errors[right]:
                self.leaves.add(node)
            else:
                errors[node] = errors[left] + errors[right]
        whole = self.tree.decision_path(inputs).toarray().astype(bool)
        self.values = np.array([targets[rows].mean() if rows.any() else means[n] for n, rows in enumerate(whole.T)])
        return self

    def predict(self, inputs: Array) -> Array:
        """Return the mean of the leaf that each row comes to."""
        return np.array([self.values[node] for node in _leaves_of(self.tree.tree_, self.leaves, inputs)])


def adjusted(squares: float, rows: int, terms: int) -> float:
    """Return a root mean square of errors, larger by (n + v) / (n - v) for v terms of n rows (Quinlan 1992)."""
    return float(np.sqrt(squares / rows)) * ((rows + terms) / (rows - terms) if rows > terms else 10.0)


@dataclass
class LinearModel:
    """A linear model in some of the columns, with its rows and the sum of their squared errors."""

    columns: tuple[int, ...]
    weights: Array
    rows: int
    squares: float

    @property
    def error(self) -> float:
        """The error of the node, in which its terms count."""
        return adjusted(self.squares, self.rows, len(self.weights))

    @classmethod
    def of(cls, columns: tuple[int, ...], inputs: Array, targets: Array) -> Self:
        """Fit it, and leave out columns as long as that lowers the error."""
        best = cls._fitted(columns, inputs, targets)
        while best.columns:
            fewer = (tuple(c for c in best.columns if c != column) for column in best.columns)
            least = min((cls._fitted(columns, inputs, targets) for columns in fewer), key=lambda fit: fit.error)
            if least.error > best.error:
                break
            best = least
        return best

    @classmethod
    def _fitted(cls, columns: tuple[int, ...], inputs: Array, targets: Array) -> Self:
        design = np.column_stack([np.ones(len(targets)), inputs[:, columns]])
        weights: Array = np.linalg.lstsq(design, targets, rcond=None)[0].astype(np.float64)
        return cls(columns, weights, len(targets), float(((targets - design @ weights) ** 2).sum()))

    def predict(self, inputs: Array) -> Array:
        """Return the value of each row."""
        array: Array = self.weights[0] + inputs[:, self.columns] @ self.weights[1:]
        return array


@dataclass
class ModelTree:
    """A regression tree with linear models in its leaves: M5'."""

    seed: int = 0
    tree: Any = None
    leaves: set[int] = field(default_factory=set)
    models: dict[int, LinearModel] = field(default_factory=dict)

    def fit(self, inputs: Array, targets: Array) -> Self:
        """Grow the tree, fit a model at each node, and prune where a node's model is no worse than those below."""
        self.tree = DecisionTreeRegressor(min_samples_leaf=FEWEST, random_state=self.seed).fit(inputs, targets)
        shape, spread = self.tree.tree_, targets.std()
        reached = self.tree.decision_path(inputs).toarray().astype(bool)
        tested: list[set[int]] = [set() for _ in range(shape.node_count)]
        above: list[set[int]] = [set() for _ in range(shape.node_count)]
        for node in range(shape.node_count):
            for child in (shape.children_left[node], shape.children_right[node]):
                if child != LEAF:
                    above[child] = above[node] | {int(shape.feature[node])}
        squares, terms = np.empty(shape.node_count), np.empty(shape.node_count, dtype=int)
        for node in reversed(range(shape.node_count)):
            rows, left, right = reached[:, node], shape.children_left[node], shape.children_right[node]
            still = targets[rows].std() < STILL * spread
            if left != LEAF and not still:
                tested[node] = {int(shape.feature[node]), *tested[left], *tested[right]}
            model = LinearModel.of(tuple(sorted(tested[node] | above[node])), inputs[rows], targets[rows])
            self.models[node], squares[node], terms[node] = model, model.squares, len(model.weights)
            if left == LEAF or still or model.error < EXACT * spread:
                self.leaves.add(node)
                continue
            # A split is a term, too.
            below, many = squares[left] + squares[right], 1 + terms[left] + terms[right]
            if model.error <= adjusted(below, model.rows, many):
                self.leaves.add(node)
            else:
                squares[node], terms[node] = below, many
        return self

    def predict(self, inputs: Array) -> Array:
        """Return what the leaf's model predicts of each row, smoothed by the models on the way to the root."""
        array = np.empty(len(inputs))
        for place, path in enumerate(_paths_of(self.tree.tree_, self.leaves, inputs)):
            row, below = inputs[place : place + 1], self.models[path[-1]]
            value = float(below.predict(row)[0])
            for node in reversed(path[:-1]):
                own = float(self.models[node].predict(row)[0])
                value = (below.rows * value + SMOOTHING * own) / (below.rows + SMOOTHING)
                below = self.models[node]
            array[place] = value
        return array


def _paths_of(shape: Any, leaves: set[int], inputs: Array) -> list[list[int]]:
    """Return the nodes from the root to the leaf of each row."""
    paths = []
    for row in inputs.astype(np.float32):
        node, path = 0, [0]
        while node not in leaves:
            low = row[shape.feature[node]] <= shape.threshold[node]
            node = int(shape.children_left[node] if low else shape.children_right[node])
            path.append(node)
        paths.append(path)
    return paths


def _leaves_of(shape: Any, leaves: set[int], inputs: Array) -> list[int]:
    """Return the leaf of each row."""
    return [path[-1] for path in _paths_of(shape, leaves, inputs)]
