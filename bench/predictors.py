"""The prediction of co-run slowdowns from misses alone: the predictors that Anderson (2013) compared in Weka.

    python bench/predictors.py
    python bench/predictors.py --quick                                   # few pools: shows that it works
    python bench/predictors.py --document docs/explanation/placement.md  # fills its table there

A row is a program in a set of four. Its inputs are the memory lines per 1,000 instructions of the program and of its
three neighbours, sorted; the target is what the program loses in that set. Each predictor is fitted to four fifths of
the rows and tested on the last fifth, for each fifth: once with rows held out, as published, and once with whole
programs held out. Each pool has eleven generated programs. Their losses are those of becalm's model, since the losses
that the source measured were never published (docs/explanation/placement.md). The network is fitted by L-BFGS where
Weka takes single steps; it has as many hidden nodes, half of inputs and outputs. Needs scikit-learn (`becalm[train]`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

from becalm.placement.generated import PROGRAMS, ROOM, drawn
from becalm.placement.model import of_sets, published
from campaign import Record, table
from fill import put
from model_tree import ModelTree, ReducedErrorTree

Array = NDArray[np.float64]
Places = NDArray[np.int64]


class Predictor(Protocol):
    """A method that is fitted to rows, as scikit-learn has them."""

    def fit(self, inputs: Array, targets: Array) -> Any:
        """Fit it to rows."""

    def predict(self, inputs: Array) -> Array:
        """Return what it predicts of rows."""


class Network:
    """A network of one hidden layer of sigmoids, inputs and target scaled to -1 to 1 as Weka does."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.scaled, self.target = MinMaxScaler((-1, 1)), MinMaxScaler((-1, 1))

    def fit(self, inputs: Array, targets: Array) -> Self:
        """Fit it to rows."""
        nodes = (inputs.shape[1] + 1) // 2
        net = MLPRegressor(
            hidden_layer_sizes=(nodes,), activation="logistic", solver="lbfgs", max_iter=500, random_state=self.seed
        )
        self.model = make_pipeline(self.scaled, net)
        # So small a network is fitted faster by one thread, above all on a busy machine.
        with threadpool_limits(1):
            self.model.fit(inputs, self.target.fit_transform(targets[:, None])[:, 0])
        return self

    def predict(self, inputs: Array) -> Array:
        """Return what it predicts of rows."""
        array: Array = self.target.inverse_transform(self.model.predict(inputs)[:, None])[:, 0]
        return array


PREDICTORS: dict[str, Callable[[int], Predictor]] = {
    "MLP": Network,
    "linear": lambda seed: LinearRegression(),
    "REPTree": ReducedErrorTree,
    "M5'": ModelTree,
}

PUBLISHED = {"MLP": 0.7616, "linear": 0.8332, "REPTree": 0.99, "M5'": 0.9906}
"""Correlations that the source reports."""

FOLDS = 5


@dataclass(frozen=True)
class Rows:
    """Inputs, targets, and the program that each row is of, counted through all pools."""

    inputs: Array
    targets: Array
    programs: Places


def rows_of(pools: int, seed: int) -> Rows:
    """Return the rows of so many pools of eleven generated programs."""
    known, random = published(), np.random.default_rng(seed)
    inputs, targets, owners = [], [], []
    for pool in range(pools):
        programs = drawn(known, PROGRAMS, random)
        sets = list(combinations(range(PROGRAMS), ROOM))
        lost = of_sets(programs, sets, known.cache)
        for members, losses in zip(sets, lost, strict=True):
            for member, loss in zip(members, losses, strict=True):
                others = sorted(programs[other].lines for other in members if other != member)
                inputs.append([programs[member].lines, *others])
                targets.append(float(loss))
                owners.append(pool * PROGRAMS + member)
    return Rows(np.array(inputs), np.array(targets), np.array(owners))


def folds(rows: Rows, by_program: bool, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Yield the rows that are held out, fold by fold."""
    units = rows.programs if by_program else np.arange(len(rows.targets))
    place = np.random.default_rng(seed).permutation(int(units.max()) + 1) % FOLDS
    for fold in range(FOLDS):
        yield place[units] == fold


def validated(rows: Rows, make: Callable[[int], Predictor], by_program: bool, seed: int) -> Record:
    """Return the correlation and the errors of a predictor on rows that it was not fitted to."""
    guess = np.empty(len(rows.targets))
    for held in folds(rows, by_program, seed):
        guess[held] = make(seed).fit(rows.inputs[~held], rows.targets[~held]).predict(rows.inputs[held])
    error = np.abs(guess - rows.targets)
    return {
        # What predicts the same of all rows is not correlated with anything.
        "correlation": float(np.corrcoef(guess, rows.targets)[0, 1]) if guess.std() > 0 else 0.0,
        "error": float(error.mean()),
        "relative": float(error.sum() / np.abs(rows.targets - rows.targets.mean()).sum()),
    }


def predictor_records(rows: Rows, seed: int, names: Sequence[str] = tuple(PREDICTORS)) -> list[Record]:
    """Return each predictor's figures, with rows and with programs held out."""
    return [
        {"predictor": name, "rows": validated(rows, PREDICTORS[name], False, seed)}
        | {"programs": validated(rows, PREDICTORS[name], True, seed)}
        for name in names
    ]


def report(result: Sequence[Mapping[str, Any]], rows: Rows) -> str:
    """Return the table of predictors."""
    head = ["Predictor", "published", "correlation", "error", "relative", "new programs", "error", "relative"]
    cells = [
        [row["predictor"], f"{PUBLISHED[row['predictor']]:.4f}"]
        + [text for held in ("rows", "programs") for text in _figures(row[held])]
        for row in result
    ]
    return (
        f"{table(head, cells)}\n\n{len(rows.targets):,} rows of {int(rows.programs.max()) + 1} generated programs. "
        "Correlation of predicted and true losses; error: their mean absolute difference, in points of a percent; "
        "relative: that over the error of the mean. First with a fifth of the rows held out at a time, as published, "
        "then with a fifth of the programs."
    )


def _figures(accuracy: Mapping[str, float]) -> tuple[str, str, str]:
    return f"{accuracy['correlation']:.4f}", f"{100 * accuracy['error']:.2f}", f"{100 * accuracy['relative']:.0f} %"


def main() -> None:
    """Compare, and print or fill in the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pools", type=int, default=4, help="elevens of programs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--document", type=Path, help="fill the block in this document")
    parser.add_argument("--quick", action="store_true", help="show that it works")
    chosen = parser.parse_args()
    rows = rows_of(1 if chosen.quick else chosen.pools, chosen.seed)
    body = report(predictor_records(rows, chosen.seed), rows)
    print(body)
    if chosen.document is not None and not chosen.quick:
        put(chosen.document, "predictors", body)


if __name__ == "__main__":
    main()
