"""Placement advice from costs: the best sharing, its gain with uncertainty, the costliest pairs, the unmeasured pairs.

advise(tasks, chips, costs, …) -> PlacementAdvice

With one chip tasks cannot be separated, so the advice is rounds (`becalm.placement.rounds`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec
from msgspec.structs import replace

from becalm.analysis.place_gain import (
    Decider,
    InRounds,
    MeasuredPart,
    Names,
    OnChips,
    decision_count,
    estimate_gains,
    exact_gains,
    fill_missing,
    largest_cost,
)
from becalm.errors import UsageError
from becalm.placement import BUDGET_S, method_named, place
from becalm.placement.result import PlacementSearch
from becalm.placement.rounds import Rounds, plan
from becalm.results.place import PlacementAdvice, SharingShape, TogetherCost
from becalm.results.place_costs import Chip, CoRunCosts, PlacementObjective, Task

LEAST_BUDGET_S = 0.05
"""The least budget of each of the many decisions by which a gain is estimated."""


class AdviceOptions(msgspec.Struct, frozen=True):
    """The options of a decision: algorithm, objective, seed and budget."""

    method: str = "optimal"
    objective: PlacementObjective = PlacementObjective.DEGRADATION
    seed: int = 0
    budget_s: float = BUDGET_S


class _Decision(msgspec.Struct, frozen=True):
    """A decision: names by chip or round, and their cost."""

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
    options: AdviceOptions = AdviceOptions(),
    *,
    source: str = "",
    machine: Mapping[str, str] | None = None,
    commands: Mapping[str, tuple[str, ...]] | None = None,
) -> PlacementAdvice:
    """Return advice on which tasks should share a chip.

    Arguments:
        tasks, chips, costs: as for `becalm.placement.place`; pairs may be missing, and are avoided.
        parts: the measurement in parts, from which the gain is estimated (`place_gain`); without parts it has no noise.
        options: the algorithm, the objective, and the time for searching.
        source, machine, commands: origin of the costs, for the advice.

    Raises UsageError for tasks that cannot be placed.
    """
    if len(tasks) < 2:
        raise UsageError(f"There {'is one program' if tasks else 'are no programs'}, and nothing to share.")
    method_named(options.method)
    decide = _in_rounds if len(chips) == 1 else _on_chips
    decision = decide(tasks, chips, costs, options, largest_cost(costs))
    missing = costs.missing(tasks)
    could_change = 0.0
    if missing:
        optimistic = decide(tasks, chips, fill_missing(costs, tasks, 0.0), options, 0.0)
        could_change = max(0.0, decision.cost - optimistic.cost)
    decision_budget_s = max(LEAST_BUDGET_S, options.budget_s / decision_count(max(2, len(parts))))
    decider: Decider = (
        InRounds(chips[0], decision_budget_s)
        if decision.shape is SharingShape.ROUNDS
        else OnChips(tuple(chips), options.method, options.objective, decision_budget_s)
    )
    over_random_and_worst = (
        estimate_gains(parts, decider) if parts else exact_gains(tasks, costs, decider, decision.sharing)
    )
    return PlacementAdvice(
        source=source,
        shape=decision.shape,
        chips=tuple(chips),
        sharing=decision.sharing,
        method=options.method,
        objective=options.objective,
        origin=costs.origin,
        cost=decision.cost,
        degradation=decision.degradation,
        commands=dict(commands or {}),
        over_random=over_random_and_worst[0],
        over_worst=over_random_and_worst[1],
        machine=dict(machine or {}),
        bound=decision.bound,
        out_of_time=decision.out_of_time,
        alone_s=sum(task.solo_s or 0.0 for task in tasks) if decision.shape is SharingShape.ROUNDS else None,
        costliest=costliest(tasks, costs),
        unmeasured=missing,
        resting_on=tuple(pair for pair in missing if any(set(pair) <= set(names) for names in decision.sharing)),
        could_change=could_change,
    )


def costliest(tasks: Sequence[Task], costs: CoRunCosts) -> tuple[TogetherCost, ...]:
    """Return the pairs that were measured in both directions, those that lose most first."""
    measured = costs.by_pair()
    errors = {(pair.task, pair.alongside): pair.error for pair in costs.pairs}
    pairs = []
    for first, second in combinations([task.name for task in tasks], 2):
        if (first, second) in measured and (second, first) in measured:
            both_errors = errors.get((first, second)), errors.get((second, first))
            error = (
                None
                if both_errors[0] is None or both_errors[1] is None
                else (both_errors[0] ** 2 + both_errors[1] ** 2) ** 0.5
            )
            pairs.append(TogetherCost(first, second, measured[first, second], measured[second, first], error))
    return tuple(sorted(pairs, key=lambda cost: -cost.both))


def _on_chips(
    tasks: Sequence[Task], chips: Sequence[Chip], costs: CoRunCosts, options: AdviceOptions, unknown: float
) -> _Decision:
    complete_costs = fill_missing(costs, tasks, unknown)
    placement = place(
        tasks, chips, complete_costs, method=options.method, seed=options.seed, budget_s=options.budget_s,
        objective=options.objective,
    )  # fmt: skip
    assert placement.cost is not None
    return _Decision(
        SharingShape.CHIPS,
        placement.sharing,
        placement.cost,
        dict(placement.degradation),
        placement.bound,
        placement.out_of_time,
    )


def _in_rounds(
    tasks: Sequence[Task], chips: Sequence[Chip], costs: CoRunCosts, options: AdviceOptions, unknown: float
) -> _Decision:
    del unknown  # Rounds never contain an unmeasured pair.
    rounds = Rounds.of(tasks, chips[0], costs)
    result = plan(rounds, PlacementSearch(options.seed, options.budget_s))
    return _Decision(
        SharingShape.ROUNDS, rounds.named(result.sharing), rounds.total_s(result.sharing), rounds.lost(result.sharing),
        result.bound, result.out_of_time,
    )  # fmt: skip


def with_warnings(advice: PlacementAdvice, warnings: Sequence[str]) -> PlacementAdvice:
    """Return the advice with further warnings."""
    return replace(advice, warnings=(*advice.warnings, *warnings))
