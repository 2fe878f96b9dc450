"""From costs to advice: the best sharing, what it gains with how much noise, the costliest pairs, what nobody measured.

    advise(tasks, chips, costs, …) -> PlacementAdvice

With one chip there is nothing to separate: then it is rounds (`becalm.placement.rounds`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from becalm.analysis.place_gain import (
    Decider,
    InRounds,
    MeasuredPart,
    Names,
    OnChips,
    dearest,
    decisions,
    filled,
    gains,
    plain_gains,
)
from becalm.errors import UsageError
from becalm.placement import BUDGET_S, method_named, place
from becalm.placement.result import PlacementSearch
from becalm.placement.rounds import Rounds, plan
from becalm.results.place import PlacementAdvice, SharingShape, TogetherCost
from becalm.results.place_costs import Chip, CoRunCosts, PlacementObjective, Task

LEAST_BUDGET_S = 0.05
"""For one of the many decisions by which a gain is judged."""


@dataclass(frozen=True, slots=True)
class AdviceOptions:
    """How it is to be decided."""

    method: str = "optimal"
    objective: PlacementObjective = PlacementObjective.DEGRADATION
    seed: int = 0
    budget_s: float = BUDGET_S


@dataclass(frozen=True, slots=True)
class _Decided:
    """A decision: names by chip or round, and what it costs."""

    shape: SharingShape
    sharing: Names
    cost: float
    degradation: Mapping[str, float]
    bound: float | None
    out_of_time: bool


def advise(
    tasks: Sequence[Task],
    chips: Sequence[Chip],
    costs: CoRunCosts,
    parts: Sequence[MeasuredPart] = (),
    wanted: AdviceOptions = AdviceOptions(),
    *,
    source: str = "",
    machine: Mapping[str, str] | None = None,
    commands: Mapping[str, tuple[str, ...]] | None = None,
) -> PlacementAdvice:
    """Say which tasks belong together.

    Arguments:
        tasks, chips, costs: as `becalm.placement.place` takes them; pairs may be missing, and are avoided.
        parts: the measurement in parts, by which the gain is judged (`placement_gain`); none: without noise.
        wanted: the method, what is averaged, and for how long may be searched.
        source, machine, commands: what the advice says of itself.

    Raises UsageError for what cannot be placed.
    """
    if len(tasks) < 2:
        raise UsageError(f"There {'is one program' if tasks else 'are no programs'}, and nothing to share.")
    method_named(wanted.method)
    decide = _in_rounds if len(chips) == 1 else _on_chips
    found = decide(tasks, chips, costs, wanted, dearest(costs))
    missing = costs.missing(tasks)
    could = 0.0
    if missing:
        best = decide(tasks, chips, filled(costs, tasks, 0.0), wanted, 0.0)
        could = max(0.0, found.cost - best.cost)
    short = max(LEAST_BUDGET_S, wanted.budget_s / decisions(max(2, len(parts))))
    decider: Decider = (
        InRounds(chips[0], short)
        if found.shape is SharingShape.ROUNDS
        else OnChips(tuple(chips), wanted.method, wanted.objective, short)
    )
    judged = gains(parts, decider) if parts else plain_gains(tasks, costs, decider, found.sharing)
    return PlacementAdvice(
        source=source,
        shape=found.shape,
        chips=tuple(chips),
        sharing=found.sharing,
        method=wanted.method,
        objective=wanted.objective,
        origin=costs.origin,
        cost=found.cost,
        degradation=found.degradation,
        commands=dict(commands or {}),
        over_random=judged[0],
        over_worst=judged[1],
        machine=dict(machine or {}),
        bound=found.bound,
        out_of_time=found.out_of_time,
        alone_s=sum(task.solo_s or 0.0 for task in tasks) if found.shape is SharingShape.ROUNDS else None,
        costliest=costliest(tasks, costs),
        unmeasured=missing,
        resting_on=tuple(pair for pair in missing if any(set(pair) <= set(names) for names in found.sharing)),
        could_change=could,
    )


def costliest(tasks: Sequence[Task], costs: CoRunCosts) -> tuple[TogetherCost, ...]:
    """Pairs that were measured both ways, those that lose most first."""
    known = costs.by_pair()
    errors = {(pair.task, pair.beside): pair.error for pair in costs.pairs}
    found = []
    for one, other in combinations([task.name for task in tasks], 2):
        if (one, other) in known and (other, one) in known:
            of = errors.get((one, other)), errors.get((other, one))
            error = None if of[0] is None or of[1] is None else (of[0] ** 2 + of[1] ** 2) ** 0.5
            found.append(TogetherCost(one, other, known[one, other], known[other, one], error))
    return tuple(sorted(found, key=lambda each: -each.both))


def _on_chips(
    tasks: Sequence[Task], chips: Sequence[Chip], costs: CoRunCosts, wanted: AdviceOptions, unknown: float
) -> _Decided:
    known = filled(costs, tasks, unknown)
    placed = place(
        tasks, chips, known, method=wanted.method, seed=wanted.seed, budget_s=wanted.budget_s,
        objective=wanted.objective,
    )  # fmt: skip
    assert placed.cost is not None
    return _Decided(
        SharingShape.CHIPS, placed.sharing, placed.cost, dict(placed.degradation), placed.bound, placed.out_of_time
    )


def _in_rounds(
    tasks: Sequence[Task], chips: Sequence[Chip], costs: CoRunCosts, wanted: AdviceOptions, unknown: float
) -> _Decided:
    del unknown  # What nobody measured together does not run together.
    rounds = Rounds.of(tasks, chips[0], costs)
    found = plan(rounds, PlacementSearch(wanted.seed, wanted.budget_s))
    return _Decided(
        SharingShape.ROUNDS, rounds.named(found.sharing), rounds.total_s(found.sharing), rounds.lost(found.sharing),
        found.bound, found.out_of_time,
    )  # fmt: skip


def warned(advice: PlacementAdvice, warnings: Sequence[str]) -> PlacementAdvice:
    """The same with more warnings."""
    return replace(advice, warnings=(*advice.warnings, *warnings))
