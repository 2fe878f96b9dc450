"""Placements tried in simulation: programs of a characterisation, placed by several methods, each played through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from becalm.errors import UsageError
from becalm.nouns.result import Result
from becalm.placement import BUDGET_S, METHODS, method_named, place
from becalm.placement.baselines import expected
from becalm.placement.corun import PlayedTasks, play
from becalm.placement.model import LATENCY_CYCLES, LINK_GB_S, Characterisation, Program, costs
from becalm.placement.problem import Problem
from becalm.results.place_costs import Chip, CoRunCosts, Placement, PlacementObjective, Task

DRAWING = "random"
"""The method with random sharings."""

DRAWS = 100
"""The number of sharings that represent all random ones, if the cost of one depends on the order in which tasks end."""

MODEL = f"model: {LINK_GB_S:g} GB/s to memory and {LATENCY_CYCLES:g} cycles a line and queue, chosen and not measured"
"""The note on every figure of the model."""


class PlacementTrial(msgspec.Struct, frozen=True):
    """A placement and the result of playing it through.

    `refused`: why a method could not place; placement and result are then None. `expected`: for a random method, the
    mean over all its sharings, of which the placement is one.
    """

    method: str
    placement: Placement | None
    played: PlayedTasks | None
    refused: str = ""
    expected: float | None = None

    def cost(self, objective: PlacementObjective) -> float | None:
        """Return the mean cost over the tasks; for a random method also over its draws."""
        if self.expected is not None or self.played is None:
            return self.expected
        return self.played.cost(objective)


class PlacementTrials(Result, frozen=True):
    """The results of methods on the same tasks and chips. `machine`: where the programs were characterised."""

    KIND = "placement-trials"
    DERIVED = ("origin",)

    machine: str
    tasks: tuple[str, ...]
    chips: tuple[Chip, ...]
    objective: PlacementObjective
    drain: bool
    rows: tuple[PlacementTrial, ...]
    sentence: str = ""
    origin = MODEL

    @property
    def best(self) -> float | None:
        """The least mean cost of the methods; None where nothing was placed."""
        costs = (row.cost(self.objective) for row in self.rows)
        return min((cost for cost in costs if cost is not None), default=None)


def tried(
    known: Characterisation,
    names: Sequence[str],
    chips: Sequence[Chip],
    methods: Sequence[str],
    *,
    drain: bool = False,
    objective: PlacementObjective = PlacementObjective.DEGRADATION,
    seed: int = 0,
    budget_s: float = BUDGET_S,
    weights: str | None = None,
) -> PlacementTrials:
    """Place programs by each method, and play each placement through; by default all programs and all methods.

    Raises UsageError for programs that no method can place.
    """
    programs = _numbered(known.named(names)) if names else known.programs
    most = min(len(programs), max((chip.slots for chip in chips), default=1))
    table = costs(programs, known.cache, range(1, most + 1))
    tasks = [program.task for program in programs]
    rows = []
    for name in methods or [method.name for method in METHODS]:
        method_named(name)
        try:
            placed = place(
                tasks, chips, table, method=name, seed=seed, budget_s=budget_s, objective=objective, weights=weights
            )
        except UsageError as error:
            rows.append(PlacementTrial(name, None, None, str(error)))
            continue
        played = play(tasks, chips, table, placed.sharing, drain=drain)
        mean = None
        if name == DRAWING:
            # A single draw may be lucky, so the method is judged by its mean.
            mean = expected(Problem.of(tasks, chips, table, objective))
            if drain:
                mean = _drawn(tasks, chips, table, objective, seed)
        rows.append(PlacementTrial(name, placed, played, expected=mean))
    if all(row.placement is None for row in rows):
        raise UsageError(rows[0].refused)
    return PlacementTrials(
        known.cache.name, tuple(task.name for task in tasks), tuple(chips), objective, drain, tuple(rows)
    )


def _numbered(programs: Sequence[Program]) -> tuple[Program, ...]:
    """Return programs with unique names: the second copy of gcc is "gcc 2"."""
    seen: Counter[str] = Counter()
    named = []
    for program in programs:
        seen[program.name] += 1
        named.append(
            program if seen[program.name] == 1 else replace(program, name=f"{program.name} {seen[program.name]}")
        )
    return tuple(named)


def _drawn(
    tasks: Sequence[Task], chips: Sequence[Chip], table: CoRunCosts, objective: PlacementObjective, seed: int
) -> float:
    """Return the mean cost of many drawn sharings that are played until all tasks have ended."""
    total = 0.0
    for draw in range(DRAWS):
        sharing = place(tasks, chips, table, method=DRAWING, seed=seed + draw, objective=objective).sharing
        total += play(tasks, chips, table, sharing, drain=True).cost(objective)
    return total / DRAWS
