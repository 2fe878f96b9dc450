"""What the best sharing gains, honestly: it was chosen by the same noisy costs that it would be judged by.

The smallest of many noisy costs is too small ("winner's curse"), so the rounds of a measurement are divided into parts;
each part judges what those before it chose, and never what it took part in choosing (prequential: Dawid, JRSS A 147,
1984, 278). What a part says is then off by noise that those before it do not know, so that the noise of the mean is
right however unstable the choice is, which that of leaving one out is not (Bengio & Grandvalet, JMLR 5, 2004, 1089).
Means of several orders of the parts are averaged; their noise is that of one order, which is no less. Costs that come
with errors and without rounds are divided by thinning: X + √K·σ·(z_k - mean z) for k of K are independent, with mean X
(Neufeld et al., JMLR 25, 2024).

    parts_of(profile) or thinned(tasks, costs) -> Parts; gains(parts, decider) -> (over random, over the worst)

A `Decider` says how tasks are shared: `OnChips` or `InRounds`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol

import numpy as np

from becalm.placement import place
from becalm.placement.baselines import expected, worst
from becalm.placement.problem import Problem
from becalm.placement.result import PlacementSearch
from becalm.placement.rounds import Rounds, plan
from becalm.results.corun import ALL, CoRunProfile, TimedRun
from becalm.results.place import Gain
from becalm.results.place_costs import Chip, CoRunCosts, CostOrigin, PairCost, PlacementObjective, SetCosts, Task
from becalm.stats.student import stdtrit

Names = tuple[tuple[str, ...], ...]

PARTS, FEWEST = 10, 4
"""So many parts at most; with fewer rounds than the least, there is no interval."""

FIRST = 3
"""The first third of the parts, of each order, only choose."""

ORDERS = 4
"""As measured, backwards, and so many more that are drawn."""

UNCERTAIN = 1.0
"""The standard error that costs of a part are said to have: they may be below zero, by noise."""

SEED = 20


@dataclass(frozen=True, slots=True)
class MeasuredPart:
    """A part of what was measured: tasks and costs as it alone shows them. All parts know the same pairs and sets."""

    tasks: tuple[Task, ...]
    costs: CoRunCosts

    def of(self, names: Sequence[str]) -> MeasuredPart:
        """The same with tasks of these names alone."""
        return replace(self, tasks=tuple(task for task in self.tasks if task.name in names))


class Decider(Protocol):
    """How tasks are shared. Pairs that nobody measured may be missing: the best avoids them, the worst takes them to
    cost nothing, so that no gain rests on them."""

    def best(self, tasks: Sequence[Task], costs: CoRunCosts) -> Names:
        """The sharing that is chosen."""

    def worst(self, tasks: Sequence[Task], costs: CoRunCosts) -> Names:
        """The sharing that costs most."""

    def gain(self, tasks: Sequence[Task], costs: CoRunCosts, sharing: Names, over: Names | None) -> float:
        """What a sharing gains over another, None: over the mean of random ones. Costs are complete here."""


@dataclass(frozen=True)
class OnChips:
    """Tasks on chips, by a method of `becalm.placement`."""

    chips: tuple[Chip, ...]
    method: str = "optimal"
    objective: PlacementObjective = PlacementObjective.DEGRADATION
    budget_s: float = 10.0

    def _problem(self, tasks: Sequence[Task], costs: CoRunCosts) -> Problem:
        return Problem.of(tasks, self.chips, costs, self.objective)

    def best(self, tasks: Sequence[Task], costs: CoRunCosts) -> Names:
        """By the method."""
        known = filled(costs, tasks, dearest(costs))
        return place(
            tasks, self.chips, known, method=self.method, objective=self.objective, budget_s=self.budget_s
        ).sharing

    def worst(self, tasks: Sequence[Task], costs: CoRunCosts) -> Names:
        """By trying all, or many."""
        problem = self._problem(tasks, filled(costs, tasks, 0.0))
        return problem.named(worst(problem, PlacementSearch(0, self.budget_s)))

    def gain(self, tasks: Sequence[Task], costs: CoRunCosts, sharing: Names, over: Names | None) -> float:
        """The difference of mean costs."""
        problem = self._problem(tasks, costs)
        than = expected(problem) if over is None else problem.worth(_numbers(problem, over))[0]
        return than - problem.worth(_numbers(problem, sharing))[0]


@dataclass(frozen=True)
class InRounds:
    """Tasks in rounds on one chip."""

    chip: Chip
    budget_s: float = 10.0

    def best(self, tasks: Sequence[Task], costs: CoRunCosts) -> Names:
        """Those that take the least time."""
        rounds = Rounds.of(tasks, self.chip, costs)
        return rounds.named(plan(rounds, PlacementSearch(0, self.budget_s)).sharing)

    def worst(self, tasks: Sequence[Task], costs: CoRunCosts) -> Names:
        """Full rounds that take the most."""
        rounds = Rounds.of(tasks, self.chip, filled(costs, tasks, 0.0))
        return rounds.named(plan(rounds, PlacementSearch(0, self.budget_s), longest=True).sharing)

    def gain(self, tasks: Sequence[Task], costs: CoRunCosts, sharing: Names, over: Names | None) -> float:
        """The share of time that is saved."""
        rounds = Rounds.of(tasks, self.chip, costs)
        number = {task.name: index for index, task in enumerate(tasks)}

        def total(names: Names) -> float:
            return rounds.total_s(tuple(tuple(number[each] for each in some) for some in names))

        than = rounds.expected() if over is None else total(over)
        return 1 - total(sharing) / than


def gains(parts: Sequence[MeasuredPart], decider: Decider) -> tuple[Gain, Gain]:
    """What the chosen sharing gains over the mean of random ones, and over the worst; each part judges what others
    chose. Raises UsageError for what cannot be placed."""
    found: list[tuple[list[float], list[float]]] = []
    known: dict[frozenset[int], tuple[Names, Names]] = {}
    for order in _orders(len(parts)):
        over_random, over_worst = [], []
        for at in range(max(1, len(parts) // FIRST), len(parts)):
            before = frozenset(order[:at])
            if before not in known:
                said = joined([parts[each] for each in sorted(before)])
                known[before] = decider.best(said.tasks, said.costs), decider.worst(said.tasks, said.costs)
            chosen, against = known[before]
            over_random.append(_judged(decider, parts[order[at]], chosen, None))
            over_worst.append(_judged(decider, parts[order[at]], chosen, against))
        found.append((over_random, over_worst))
    return _summed([one for one, _ in found], len(parts)), _summed([other for _, other in found], len(parts))


def decisions(parts: int) -> int:
    """About how often `gains` decides."""
    return 2 * ORDERS * (parts - max(1, parts // FIRST))


def _orders(count: int) -> list[list[int]]:
    orders, random = [list(range(count)), list(range(count))[::-1]], Random(SEED)
    while len(orders) < ORDERS:
        orders.append(random.sample(range(count), count))
    return orders


def joined(parts: Sequence[MeasuredPart]) -> MeasuredPart:
    """What several parts say together: the mean."""
    costs, share = parts[0].costs, 1 / len(parts)
    pairs = tuple(
        replace(each, cost=math.fsum(part.costs.pairs[at].cost for part in parts) * share)
        for at, each in enumerate(costs.pairs)
    )
    sets = tuple(
        replace(
            each,
            costs=tuple(
                math.fsum(part.costs.sets[at].costs[place] for part in parts) * share
                for place in range(len(each.tasks))
            ),
        )
        for at, each in enumerate(costs.sets)
    )
    tasks = tuple(_mean_task([part.tasks[at] for part in parts]) for at in range(len(parts[0].tasks)))
    return MeasuredPart(tasks, replace(costs, sets=sets, pairs=pairs))


def _mean_task(same: Sequence[Task]) -> Task:
    def mean(values: Sequence[float | None]) -> float | None:
        known = [each for each in values if each is not None]
        return statistics.fmean(known) if len(known) == len(values) else None

    return replace(
        same[0],
        solo_s=mean([task.solo_s for task in same]),
        pressure=mean([task.pressure for task in same]),
        sensitivity=mean([task.sensitivity for task in same]),
    )


def plain_gains(tasks: Sequence[Task], costs: CoRunCosts, decider: Decider, chosen: Names) -> tuple[Gain, Gain]:
    """The same of costs that say nothing of their errors: taken as exact, without an interval."""
    part = MeasuredPart(tuple(tasks), costs)
    against = decider.worst(tasks, costs)
    return Gain(_judged(decider, part, chosen, None)), Gain(_judged(decider, part, chosen, against))


def _judged(decider: Decider, part: MeasuredPart, chosen: Names, over: Names | None) -> float:
    free = filled(part.costs, part.tasks, 0.0)
    result = decider.gain(part.tasks, free, chosen, over)
    resting = any(_together(chosen, *pair) for pair in part.costs.missing(part.tasks))
    if not resting:
        return result
    # What the chosen sharing loses more where its unmeasured pairs cost as much as the dearest.
    dear = filled(part.costs, part.tasks, dearest(part.costs))
    return min(result, decider.gain(part.tasks, dear, chosen, over))


def _summed(orders: Sequence[Sequence[float]], parts: int) -> Gain:
    """The mean over orders of the parts, with the mean noise of one: averaging can only lessen it."""
    mean = statistics.fmean(each for values in orders for each in values)
    count = len(orders[0])
    if count < 2:
        return Gain(mean, parts=parts)
    noise = math.sqrt(statistics.fmean(statistics.variance(values) for values in orders) / count)
    reach = stdtrit(count - 1.0, 0.975) * noise
    return Gain(mean, noise, mean - reach, mean + reach, parts)


def parts_of(profile: CoRunProfile, most: int = PARTS) -> tuple[MeasuredPart, ...]:
    """A profile's rounds, dealt out to parts: none when some programs were measured together in too few rounds."""
    numbers = _common(profile)
    count = min(most, *(len(number) for number in numbers)) if numbers else 0
    if count < FEWEST:
        return ()
    # Each set of programs has its own rounds, where some were lost: each is dealt out by its own order.
    tasks = profile.tasks()
    return tuple(_seen(tasks, _part(profile, count, number)) for number in range(count))


def _seen(tasks: Sequence[Task], part: CoRunProfile) -> MeasuredPart:
    """Tasks and costs as a part alone shows them; what processors counted is of the program, and of all parts."""
    costs = _exact(part)
    pairs = costs.by_pair()
    made = []
    for task in tasks:
        program = part.program(task.name)
        caused = [max(0.0, cost) for (_, beside), cost in pairs.items() if beside == task.name]
        suffered = [
            PlacementObjective.SLOWDOWN.of(max(0.0, cost)) for (one, _), cost in pairs.items() if one == task.name
        ]
        made.append(
            replace(
                task,
                solo_s=program.solo_s,
                pressure=task.pressure if program.counted or not caused else statistics.fmean(caused),
                sensitivity=statistics.fmean(suffered) if suffered else task.sensitivity,
            )
        )
    return MeasuredPart(tuple(made), costs)


def _common(profile: CoRunProfile) -> list[list[int]]:
    """Of each program beside others, rounds in which it also ran alone."""
    alone = {program.name: {run.round for run in program.alone} for program in profile.programs}
    found = [
        sorted(run.round for run in co_run.runs if run.round in alone[co_run.program]) for co_run in profile.co_runs
    ]
    return [each for each in found if each]


def _part(profile: CoRunProfile, count: int, number: int) -> CoRunProfile:
    """The profile with the rounds of one part."""

    def kept(runs: Sequence[TimedRun], dealt: Sequence[int]) -> tuple[TimedRun, ...]:
        chosen = {each for index, each in enumerate(dealt) if index % count == number}
        return tuple(run for run in runs if run.round in chosen)

    alone = {program.name: sorted(run.round for run in program.alone) for program in profile.programs}
    co_runs = []
    for co_run in profile.co_runs:
        runs = [run for run in co_run.runs if run.round in set(alone[co_run.program])]
        co_runs.append(replace(co_run, runs=kept(runs, sorted(run.round for run in runs))))
    programs = []
    for program in profile.programs:
        # Alone, it has all rounds that its runs beside others need.
        needed = {run.round for co_run in co_runs if co_run.program == program.name for run in co_run.runs}
        own = tuple(run for run in program.alone if run.round in needed) or kept(program.alone, alone[program.name])
        programs.append(replace(program, alone=own or program.alone))
    return replace(profile, programs=tuple(programs), co_runs=tuple(co_runs))


def _exact(profile: CoRunProfile) -> CoRunCosts:
    """Costs of a part: means of log(alone/beside), without a bound by their own noise, which few rounds do not know."""
    by_set = dict[tuple[str, ...], dict[str, float]]()
    pairs, on_one_core = list[PairCost](), list[PairCost]()
    for co_run in profile.co_runs:
        alone = {run.round: run.seconds for run in profile.program(co_run.program).alone}
        ratios = [math.log(alone[run.round] / run.seconds) for run in co_run.runs if run.round in alone]
        if not ratios:
            continue
        cost = _possible(-math.expm1(statistics.fmean(ratios)))
        if len(co_run.beside) == 1:
            some = on_one_core if co_run.same_core else pairs
            some.append(PairCost(co_run.program, co_run.beside[0], cost, UNCERTAIN))
        else:
            by_set.setdefault(tuple(sorted((co_run.program, *co_run.beside))), {})[co_run.program] = cost
    sets = tuple(
        SetCosts(names, tuple(found[name] for name in names), (UNCERTAIN,) * len(names))
        for names, found in by_set.items()
        if len(found) == len(names)
    )
    apart = {(pair.task, pair.beside): pair.cost for pair in pairs}
    siblings = tuple(
        replace(each, cost=max(0.0, each.cost - apart[each.task, each.beside]))
        for each in on_one_core
        if (each.task, each.beside) in apart
    )
    return CoRunCosts(CostOrigin.MEASURED, sets, tuple(pairs), siblings)


def thinned(tasks: Sequence[Task], costs: CoRunCosts, count: int = PARTS) -> tuple[MeasuredPart, ...]:
    """Costs with errors, divided into independent parts by adding noise that cancels; none where errors are not known
    for all."""
    if not _with_errors(costs):
        return ()
    random = np.random.default_rng(SEED)
    drawn = random.standard_normal((count, sum(len(each.tasks) for each in costs.sets) + len(costs.pairs)))
    drawn -= drawn.mean(axis=0)
    return tuple(MeasuredPart(tuple(tasks), _moved(costs, math.sqrt(count) * drawn[number])) for number in range(count))


def _with_errors(costs: CoRunCosts) -> bool:
    return all(each.errors for each in costs.sets) and all(pair.error is not None for pair in costs.pairs)


def _moved(costs: CoRunCosts, by: Sequence[float]) -> CoRunCosts:
    """Each cost moved by so many of its errors."""
    steps = iter(by)
    sets = tuple(
        SetCosts(
            each.tasks,
            tuple(_possible(cost + error * next(steps)) for cost, error in zip(each.costs, each.errors, strict=True)),
            (UNCERTAIN,) * len(each.tasks),
        )
        for each in costs.sets
    )
    pairs = tuple(
        PairCost(pair.task, pair.beside, _possible(pair.cost + (pair.error or 0.0) * next(steps)), UNCERTAIN)
        for pair in costs.pairs
    )
    return replace(costs, sets=sets, pairs=pairs)


def _possible(cost: float) -> float:
    """A cost as `CoRunCosts` takes it."""
    return min(ALL, max(-2 * UNCERTAIN, cost))


def dearest(costs: CoRunCosts) -> float:
    """The largest cost of a pair that is known; what is not known is avoided as if it cost so much."""
    return max((each for each in costs.by_pair().values()), default=0.5)


def filled(costs: CoRunCosts, tasks: Sequence[Task], value: float) -> CoRunCosts:
    """Costs with those of pairs that nobody measured set to a value."""
    known = costs.by_pair()
    missing = [(one, other) for pair in costs.missing(tasks) for one, other in (pair, pair[::-1])]
    added = tuple(
        PairCost(one, other, value, UNCERTAIN) for one, other in dict.fromkeys(missing) if (one, other) not in known
    )
    return replace(costs, pairs=(*costs.pairs, *added)) if added else costs


def _together(sharing: Names, one: str, other: str) -> bool:
    return any(one in names and other in names for names in sharing)


def _numbers(problem: Problem, sharing: Names) -> tuple[tuple[int, ...], ...]:
    """Names on chips as numbers of processes."""
    free: dict[str, list[int]] = {}
    for number, task in enumerate(problem.item):
        free.setdefault(task.name, []).append(number)
    return tuple(tuple(free[name].pop(0) for name in names) for names in sharing)
