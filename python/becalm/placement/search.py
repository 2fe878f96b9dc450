"""Local search: DI's sharing improved by exchanges of two processes, and the same from many starts (place/swap.rs)."""

from __future__ import annotations

from typing import Any

from becalm.placement import simple
from becalm.placement.engine import ask
from becalm.placement.problem import Problem, Sharing
from becalm.placement.result import FoundPlacement, PlacementSearch, sharing_of

STARTS = 11
"""The number of descents: one from DI's sharing, one from sets that were grown, then in turns one from an annealing and
one from the best sharing after some random exchanges."""

LARGE_STARTS = 3
LARGE = 256
"""The number of processes from which an annealing takes a second or more."""

MOST_BITS = 64
"""The largest number of processes whose sets the engine takes as bits."""


def begun(problem: Problem) -> Sharing:
    """Return the start of a search: DI's sharing, or Linux's where pressures are unknown."""
    if all(task.pressure is not None for task in problem.tasks):
        return simple.distributed_intensity(problem)
    return simple.as_linux(problem)


def swap(problem: Problem, search: PlacementSearch) -> FoundPlacement:
    """Search locally with the costs of sets where all of them are known, else of pairs. With costs of pairs, threads
    that share a core are paired afterwards, so that the result is not an optimum of both."""
    start = [0] * len(problem.item)
    for chip, members in enumerate(begun(problem)):
        for member in members:
            start[member] = chip
    request: dict[str, Any] = {
        "rooms": problem.rooms,
        "job": problem.job,
        "away": problem.away.tolist() if problem.away.any() else [],
        "start": start,
        "starts": STARTS if len(start) < LARGE else LARGE_STARTS,
        "seed": search.seed % 2**64,
        "budget_ms": max(1, round(search.budget_s * 1000)),
    }
    if _by_sets(problem):
        request["sets"] = [
            (sum(1 << member for member in members), problem.losses(members, problem.chips[0]))
            for members in problem.sets(problem.sizes)
        ]
    else:
        request["pairs"] = problem.pairs().tolist()
    answer = ask("swap", request)
    return FoundPlacement(
        sharing_of(answer["chips"], len(problem.chips)),
        decision_ns=round(answer["decision_ns"]),
        out_of_time=answer["out_of_time"],
    )


def _by_sets(problem: Problem) -> bool:
    """Return whether to use costs of sets: they are known, few, and the same on every chip."""
    same = problem.threads == 1 or len(set(problem.rooms)) == 1
    return problem.by_sets() and problem.countable and len(problem.item) <= MOST_BITS and same
