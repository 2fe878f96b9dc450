"""Training of the learned placements on generated workloads, labelled with the decisions of the best sharing.

Networks and lines are fitted here, the support vector machine by scikit-learn if that is installed. `said` returns the
outputs of weights for rows, as the engine computes them. Their quality on unseen data is in validation.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from becalm.errors import MachineError, install
from becalm.placement.generated import Generated, drawn
from becalm.placement.learned import features, rows
from becalm.placement.model import Characterisation, of_sets

POOLS = 20
"""The number of draws of eleven programs, 165 workloads each, on which shipped classifiers are trained."""

STEPS = 300
"""The steps of L-BFGS; Weka's 500 epochs of single steps, which Anderson (2013) likely used, give the same networks
more slowly."""

DECAY = 1e-4
COST_NODES = 16
COST_STEPS = 800
COST_POOLS = 12
"""The number of draws of eleven programs on which `costs` is trained."""

SVM_C, SVM_GAMMA = 8192.0, 2.0**-13
MOST_SVM_ROWS = 800

Array = NDArray[np.float64]
Model = dict[str, Any]


@dataclass(frozen=True)
class TrainingData:
    """The instances of workloads, eight for each, in the order of the tasks' pressures: inputs, and labels, 1 for a
    task that is not on the chip of the first one."""

    pool: Generated
    workloads: tuple[tuple[int, ...], ...]
    inputs: Array
    labels: Array

    @classmethod
    def of(cls, pool: Generated, workloads: Sequence[tuple[int, ...]]) -> TrainingData:
        """Label each workload by its best sharing."""
        inputs = [rows([pool.programs[program].lines for program in workload]) for workload in workloads]
        labels = [[float(program not in pool.best(workload)) for program in workload] for workload in workloads]
        return cls(pool, tuple(workloads), np.concatenate(inputs), np.concatenate(labels))


def network(inputs: Array, targets: Array, nodes: int, seed: int, *, classes: bool, steps: int | None = None) -> Model:
    """Return a network of one hidden layer (none for 0 nodes), fitted by least squares: sigmoids with two outputs for
    `classes`, else hyperbolic tangents and one linear output."""
    shift, spread = inputs.mean(axis=0), inputs.std(axis=0)
    scale = 1 / np.where(spread > 0, spread, 1.0)
    x = (inputs - shift) * scale
    y = np.stack([1 - targets, targets], axis=1) if classes else targets[:, None]
    widths = [x.shape[1], *([nodes] if nodes else []), y.shape[1]]
    shapes = [(b, a) for a, b in pairwise(widths)]
    random = np.random.default_rng(seed)
    start = np.concatenate([random.normal(0, 1 / math.sqrt(a), b * a + b) for b, a in shapes])

    def unpacked(values: Array) -> list[tuple[Array, Array]]:
        result, at = [], 0
        for b, a in shapes:
            result.append((values[at : at + b * a].reshape(b, a), values[at + b * a : at + b * a + b]))
            at += b * a + b
        return result

    def loss(values: Array) -> tuple[float, Array]:
        layers = unpacked(values)
        outputs = [x]
        for index, (weight, bias) in enumerate(layers):
            sums = outputs[-1] @ weight.T + bias
            if classes:
                outputs.append(1 / (1 + np.exp(-np.clip(sums, -60, 60))))
            else:
                outputs.append(np.tanh(sums) if index + 1 < len(layers) else sums)
        error = outputs[-1] - y
        slope, parts = 2 * error / len(x), []
        for index in reversed(range(len(layers))):
            here = outputs[index + 1]
            if classes:
                slope = slope * here * (1 - here)
            elif index + 1 < len(layers):
                slope = slope * (1 - here**2)
            weight, _ = layers[index]
            parts.append(np.concatenate([(slope.T @ outputs[index]).ravel(), slope.sum(axis=0)]))
            slope = slope @ weight
        return float((error**2).sum() / len(x) + decay * values @ values), np.concatenate(
            parts[::-1]
        ) + 2 * decay * values

    decay = DECAY if classes else 1e-8
    fitted = unpacked(
        minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS if steps is None else steps}).x
    )
    kinds = ["sigmoid" if classes else "tanh"] * len(fitted)
    if not classes:
        kinds[-1] = "linear"
    layers = [
        {"weights": weight.tolist(), "bias": bias.tolist(), "activation": kind}
        for (weight, bias), kind in zip(fitted, kinds, strict=True)
    ]
    return {"shift": shift.tolist(), "scale": scale.tolist(), "layers": layers}


def vector_machine(inputs: Array, targets: Array, seed: int) -> Model:
    """Return a support vector machine with a Gaussian kernel, C = 8192 and γ = 2⁻¹³ (Anderson 2013), from at most
    MOST_SVM_ROWS instances.

    Raises MachineError without scikit-learn.
    """
    try:
        from sklearn.svm import SVC
    except ImportError:
        raise MachineError(
            f"A support vector machine is trained by scikit-learn, which is missing: {install('scikit-learn')}"
        ) from None
    shift, spread = inputs.mean(axis=0), inputs.std(axis=0)
    scale = 1 / np.where(spread > 0, spread, 1.0)
    some = np.random.default_rng(seed).permutation(len(inputs))[:MOST_SVM_ROWS]
    fitted = SVC(C=SVM_C, gamma=SVM_GAMMA).fit(((inputs - shift) * scale)[some], targets[some])
    svm = {
        "vectors": fitted.support_vectors_.tolist(), "coefficients": fitted.dual_coef_[0].tolist(),
        "intercept": float(fitted.intercept_[0]), "gamma": SVM_GAMMA,
    }  # fmt: skip
    return {"shift": shift.tolist(), "scale": scale.tolist(), "svm": svm}


def said(model: Model, inputs: Array) -> Array:
    """Return the outputs of a model for rows, as the engine computes them."""
    x = (inputs - np.array(model["shift"])) * np.array(model["scale"])
    if "svm" in model:
        svm = model["svm"]
        vectors = np.array(svm["vectors"])
        distance = (x**2).sum(axis=1)[:, None] + (vectors**2).sum(axis=1) - 2 * x @ vectors.T
        array: Array = np.exp(-svm["gamma"] * distance) @ np.array(svm["coefficients"])[:, None] + svm["intercept"]
        return array
    for layer in model["layers"]:
        x = x @ np.array(layer["weights"]).T + np.array(layer["bias"])
        if layer["activation"] == "sigmoid":
            x = 1 / (1 + np.exp(-x))
        elif layer["activation"] == "tanh":
            x = np.tanh(x)
    return np.asarray(x)


Trainer = Callable[[Array, Array, int], Model]

CLASSIFIERS: dict[str, Trainer] = {
    "mlp5": lambda x, y, seed: network(x, y, 5, seed, classes=True),
    "mlp2": lambda x, y, seed: network(x, y, 2, seed, classes=True),
    "svm": vector_machine,
    "linear": lambda x, y, seed: network(x, y, 0, seed, classes=True),
}
"""The learners of a task's chip; `linear` is for comparison."""


class FitQuality(msgspec.Struct, frozen=True):
    """The quality of a method's predicted costs of unseen programs: correlation, and mean absolute error."""

    method: str
    correlation: float
    error: float


def cost_rows(known: Characterisation, pools: int, random: np.random.Generator) -> tuple[Array, Array]:
    """Return features and degradations of all sets of two to four programs, for several draws of eleven programs."""
    inputs, targets = [], []
    for _ in range(pools):
        programs = drawn(known, 11, random)
        for size in (2, 3, 4):
            sets = np.array(list(combinations(range(11), size)))
            inputs.append(features([program.task for program in programs], sets))
            targets.append(of_sets(programs, sets.tolist(), known.cache).reshape(-1))
    return np.concatenate(inputs), np.concatenate(targets)


def train_costs(known: Characterisation, seed: int) -> tuple[Model, tuple[FitQuality, ...]]:
    """Return the network of `costs`, and the quality with which it and a line predict other generated programs."""
    random = np.random.default_rng(seed)
    inputs, targets = cost_rows(known, COST_POOLS, random)
    fresh, truth = cost_rows(known, max(2, COST_POOLS // 4), random)
    model = network(inputs, targets, COST_NODES, seed, classes=False, steps=COST_STEPS)
    line = network(inputs, targets, 0, seed, classes=False, steps=COST_STEPS)
    qualities = []
    for name, fitted in (("costs", model), ("linear", line)):
        guess = np.clip(said(fitted, fresh)[:, 0], 0.0, 1.0)
        qualities.append(FitQuality(name, float(np.corrcoef(guess, truth)[0, 1]), float(np.abs(guess - truth).mean())))
    return model, tuple(qualities)


def train_classifier(known: Characterisation, name: str, seed: int) -> Model:
    """Return the weights of a classifier of chips, trained on `POOLS` draws of eleven programs."""
    random = np.random.default_rng(seed)
    data = [
        TrainingData.of(pool, pool.workloads)
        for pool in (Generated(drawn(known, 11, random), known.cache) for _ in range(POOLS))
    ]
    return CLASSIFIERS[name](
        np.concatenate([datum.inputs for datum in data]), np.concatenate([datum.labels for datum in data]), seed
    )
