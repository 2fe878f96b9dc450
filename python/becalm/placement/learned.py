"""Learned placements: `mlp` and `svm` predict the chip of a task, `costs` predicts the costs of a set.

Weights are data (weights/NAME.json), made by `becalm place train` (training.py), with a description of their origin;
the engine computes the predictions (place/learned.rs). `rows` and `features` are their inputs, in training and in use.
"""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from becalm.errors import UsageError
from becalm.files.text import read_text
from becalm.placement import exact
from becalm.placement.engine import ask
from becalm.placement.generated import FLOOR_LINES, ROOM, TASKS
from becalm.placement.problem import Problem
from becalm.placement.result import FoundPlacement, PlacementSearch, sharing_of
from becalm.placement.search import swap
from becalm.placement.simple import by_pressure
from becalm.results.place_costs import CoRunCosts, CostOrigin, SetCosts, Task

LEAST_PART = 1 / 11
"""The share of the cache that a program always keeps: one way of eleven."""

MOST_LACKING = 1.7
"""The logarithm of the cache over the smallest part for which sensitivities are known, 19.25 over 3.5 MB."""

FULL_RATE = 93.0
"""Memory lines per 1,000 cycles that fill the link to 95 % (model.LINK_GB_S, at 3.18 GHz and 64 bytes a line)."""

HIGHEST = 0.99
"""The largest predicted cost, since a cost is below 1."""


def weights(name: str, folder: str | None = None) -> dict[str, Any]:
    """Return the trained weights of a name: `about`, their origin, and `model`, in the engine's form. `folder`: a
    folder made by `becalm place train --save`. Raises UsageError where there are none."""
    if folder is None:
        return _shipped(name)
    path = Path(folder) / f"{name}.json"
    try:
        return _of_text(read_text(path))
    except UsageError as error:
        raise UsageError(f"{error} `becalm place train --save {folder}` makes them.") from None
    except (ValueError, KeyError, TypeError) as error:
        why = f"it lacks {error}" if isinstance(error, KeyError) else error
        raise UsageError(
            f"The weights {path} cannot be used: {why}. `becalm place train --save {folder}` makes them."
        ) from None


@cache
def _shipped(name: str) -> dict[str, Any]:
    return _of_text((importlib.resources.files("becalm.placement") / "weights" / f"{name}.json").read_text("utf-8"))


def _of_text(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    # Both are required.
    return {"about": document["about"], "model": document["model"]}


def infer(model: dict[str, Any], rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the outputs of a model, row by row, and the time for a row, ns."""
    answer = ask("infer", {"model": model, "rows": rows.tolist()})
    return np.array(answer["outputs"]), float(answer["row_ns"])


def rows(lines: Sequence[float]) -> NDArray[np.float64]:
    """Return the inputs for the pressures of eight tasks, in order: for each task its own logarithm, then those of its
    competitors, highest first."""
    logs = np.log(np.maximum(np.array(lines, dtype=float), 0.0) + FLOOR_LINES)
    return np.array([[own, *sorted(np.delete(logs, index), reverse=True)] for index, own in enumerate(logs)])


def chosen(outputs: NDArray[np.float64]) -> tuple[int, ...]:
    """Return the four tasks on the chip of the first task: itself, and the three others with the highest outputs. The
    outputs are in the order of the tasks' pressures, highest first."""
    order = sorted(range(1, len(outputs)), key=lambda task: -outputs[task])
    return (0, *order[: ROOM - 1])


def score(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores of outputs for the first chip: the first output less the second for a network, minus the only
    output for a vector machine."""
    result: NDArray[np.float64] = outputs[:, 0] - outputs[:, 1] if outputs.shape[1] == 2 else -outputs[:, 0]
    return result


def classified(name: str, problem: Problem, search: PlacementSearch) -> FoundPlacement:
    """Classify by trained weights, which only apply to eight tasks on two chips of four. Raises UsageError."""
    if problem.rooms != (ROOM, ROOM) or len(problem.item) != TASKS or not problem.single:
        raise UsageError(
            f"The placement {name} was trained on eight single tasks on two chips of four, and "
            "works only for these. Choose `costs`, `swap` or `optimal`."
        )
    order = by_pressure(problem)
    outputs, row_ns = infer(
        weights(name, search.weights)["model"], rows([problem.item[item].pressure or 0.0 for item in order])
    )
    first = {order[rank] for rank in chosen(score(outputs))}
    chips = [0 if task in first else 1 for task in range(TASKS)]
    return FoundPlacement(sharing_of(chips, 2), decision_ns=round(TASKS * row_ns))


def features(tasks: Sequence[Task], members: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the inputs of `costs` for each member of each set (a row of `members`) in turn.

    They are its sensitivity, its lack of cache if the cache is shared by the rates of reading lines, and the product of
    both; its own rate and that of the whole set, their logarithms, and their product.
    """
    rate = np.array([(task.pressure or 0.0) / (task.cpi or 1.0) for task in tasks])[members]
    sensitivity = np.array([task.sensitivity or 0.0 for task in tasks])[members]
    count = members.shape[1]
    whole = np.broadcast_to(rate.sum(axis=1, keepdims=True), rate.shape)
    share = np.divide(rate, whole, out=np.full_like(rate, 1 / count), where=whole > 0)
    lacks = -np.log(LEAST_PART + (1 - count * LEAST_PART) * share)
    columns = (
        sensitivity, lacks, sensitivity * np.minimum(lacks, MOST_LACKING), rate, np.log(rate + FLOOR_LINES), whole,
        np.log(whole + FLOOR_LINES), np.minimum(whole, FULL_RATE) * rate,
    )  # fmt: skip
    return np.stack([column.reshape(-1) for column in columns], axis=1)


def predicted(problem: Problem, folder: str | None = None) -> CoRunCosts:
    """Return the predicted costs of sets, or of pairs as sets of two where sets are too many. Raises UsageError for
    tasks without the necessary figures."""
    for task in problem.tasks:
        missing = [name for name in ("pressure", "cpi", "sensitivity") if getattr(task, name) is None]
        if missing:
            raise UsageError(
                f"`costs` needs the {missing[0]} of each task, and the {missing[0]} of {task.name} is not known. "
                "Choose `optimal` or `swap`."
            )
    sizes = problem.sizes if problem.countable else (2,)
    known: dict[tuple[str, ...], tuple[float, ...]] = {}
    for size in sizes:
        if size < 2:
            continue
        sets = list(problem.sets([size]))
        outputs, _ = infer(weights("costs", folder)["model"], features(problem.item, np.array(sets)))
        lost = np.clip(outputs[:, 0], 0.0, HIGHEST).reshape(len(sets), size)
        for members, values in zip(sets, lost, strict=True):
            known.setdefault(tuple(problem.item[member].name for member in members), tuple(map(float, values)))
    if not known:
        return CoRunCosts(CostOrigin.MODEL, (SetCosts((problem.item[0].name,), (0.0,)),))
    return CoRunCosts(CostOrigin.MODEL, tuple(SetCosts(names, lost) for names, lost in known.items()))


def by_costs(problem: Problem, search: PlacementSearch) -> FoundPlacement:
    """Predict the costs of sets and place by them: optimally where sets can be listed, else by local search."""
    imagined = Problem(problem.tasks, problem.chips, predicted(problem, search.weights), problem.objective)
    placement = exact.optimal(imagined, search) if problem.countable else swap(imagined, search)
    return FoundPlacement(placement.sharing, decision_ns=placement.decision_ns, out_of_time=placement.out_of_time)
