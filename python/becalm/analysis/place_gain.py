"""The gain of the best sharing without the bias of choosing it by the same noisy costs.

The smallest of many noisy costs is too small ("winner's curse"), so the rounds of a measurement are divided into parts.
Each part evaluates the choice made from the parts before it, and never one in which it took part (prequential: Dawid,
JRSS A 147, 1984, 278). Then the noise of a part is independent of the noise of the parts before it, and the noise of
the mean is right however unstable the choice is. This is not true of leaving one part out (Bengio & Grandvalet, JMLR 5,
2004, 1089). The means of several orders of the parts are averaged; the noise of one order is an upper limit of the
average's noise. Costs with errors and without rounds are divided by thinning: X + √K·σ·(z_k - mean z) for k of K are
independent, with mean X (Neufeld et al., JMLR 25, 2024).

parts_of(profile) or thin_costs(tasks, costs) -> parts; estimate_gains(parts, decider) -> (over random, over worst)

A `Decider` determines how tasks are shared: `OnChips` or `InRounds`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

import msgspec
import numpy as np
from msgspec.structs import replace

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
"""The largest number of parts, and the fewest rounds for which there is an interval."""

FIRST = 3
"""The divisor of the number of parts that only choose: the first third of each order."""

ORDERS = 4
"""The number of orders: as measured, backwards, and the others at random."""

UNCERTAIN = 1.0
"""The standard error of a part's costs, which lets them be below zero by noise."""

SEED = 20


class MeasuredPart(msgspec.Struct, frozen=True):
    """A part of a measurement: tasks and costs as measured in it alone. All parts have the same pairs and sets."""

    tasks: tuple[Task, ...]
    costs: CoRunCosts

    def of(self, names: Sequence[str]) -> MeasuredPart:
        """Return the part with only the tasks of these names."""
        return replace(self, tasks=tuple(task for task in self.tasks if task.name in names))


class Decider(Protocol):
    """A way to share tasks, some of whose pairs may be unmeasured. The best sharing avoids these pairs, and the worst
    assumes that they cost nothing, so that no gain depends on them."""

    def best(self, tasks: Sequence[Task], costs: CoRunCosts) -> Names:
        """Return the best sharing."""

    def worst(self, tasks: Sequence[Task], costs: CoRunCosts) -> Names:
        """Return the sharing that costs most."""

    def gain(self, tasks: Sequence[Task], costs: CoRunCosts, sharing: Names, over: Names | None) -> float:
        """Return the gain of a sharing over another, or with None over the mean of random ones. Costs are complete
        here."""


@dataclass(frozen=True)
class OnChips:
    """A decider that places tasks on chips by an algorithm of `becalm.placement`."""

    chips: tuple[Chip, ...]
    method: str = "optimal"
    objective: PlacementObjective = PlacementObjective.DEGRADATION
    budget_s: float = 10.0

    def _problem(self, tasks: Sequence[Task], costs: CoRunCosts) -> Problem:
        return Problem.of(tasks, self.chips, costs, self.objective)

    def best(self, tasks: Sequence[Task], costs: CoRunCosts) -> Names:
        """Return the sharing that the algorithm chooses."""
        complete_costs = fill_missing(costs, tasks, largest_cost(costs))
        return place(
            tasks, self.chips, complete_costs, method=self.method, objective=self.objective, budget_s=self.budget_s
        ).sharing

    def worst(self, tasks: Sequence[Task], costs: CoRunCosts) -> Names:
        """Return the worst of all sharings, or of many."""
        problem = self._problem(tasks, fill_missing(costs, tasks, 0.0))
        return problem.named(worst(problem, PlacementSearch(0, self.budget_s)))

    def gain(self, tasks: Sequence[Task], costs: CoRunCosts, sharing: Names, over: Names | None) -> float:
        """Return the difference of mean costs."""
        problem = self._problem(tasks, costs)
        baseline = expected(problem) if over is None else problem.worth(_numbers(problem, over))[0]
        return baseline - problem.worth(_numbers(problem, sharing))[0]


@dataclass(frozen=True)
class InRounds:
    """A decider that runs tasks in rounds on one chip."""

    chip: Chip
    budget_s: float = 10.0

    def best(self, tasks: Sequence[Task], costs: CoRunCosts) -> Names:
        """Return the rounds that take the least time."""
        rounds = Rounds.of(tasks, self.chip, costs)
        return rounds.named(plan(rounds, PlacementSearch(0, self.budget_s)).sharing)

    def worst(self, tasks: Sequence[Task], costs: CoRunCosts) -> Names:
        """Return the full rounds that take the most time."""
        rounds = Rounds.of(tasks, self.chip, fill_missing(costs, tasks, 0.0))
        return rounds.named(plan(rounds, PlacementSearch(0, self.budget_s), longest=True).sharing)

    def gain(self, tasks: Sequence[Task], costs: CoRunCosts, sharing: Names, over: Names | None) -> float:
        """Return the share of time that is saved."""
        rounds = Rounds.of(tasks, self.chip, costs)
        number = {task.name: index for index, task in enumerate(tasks)}

        def total(shared: Names) -> float:
            return rounds.total_s(tuple(tuple(number[name] for name in names) for names in shared))

        baseline_s = rounds.expected() if over is None else total(over)
        return 1 - total(sharing) / baseline_s


def estimate_gains(parts: Sequence[MeasuredPart], decider: Decider) -> tuple[Gain, Gain]:
    """Return the gain of the best sharing over the mean of random ones, and over the worst; each part evaluates the
    choice of others. Raises UsageError for tasks that cannot be placed."""
    order_gains: list[tuple[list[float], list[float]]] = []
    sharings: dict[frozenset[int], tuple[Names, Names]] = {}
    for order in _orders(len(parts)):
        over_random, over_worst = [], []
        for position in range(max(1, len(parts) // FIRST), len(parts)):
            before = frozenset(order[:position])
            if before not in sharings:
                mean = mean_part([parts[index] for index in sorted(before)])
                sharings[before] = decider.best(mean.tasks, mean.costs), decider.worst(mean.tasks, mean.costs)
            best, worst = sharings[before]
            over_random.append(_evaluate(decider, parts[order[position]], best, None))
            over_worst.append(_evaluate(decider, parts[order[position]], best, worst))
        order_gains.append((over_random, over_worst))
    over_random_by_order, over_worst_by_order = zip(*order_gains, strict=True)
    return _mean_gain(over_random_by_order, len(parts)), _mean_gain(over_worst_by_order, len(parts))


def decision_count(parts: int) -> int:
    """Return the approximate number of decisions that `estimate_gains` takes for a number of parts."""
    return 2 * ORDERS * (parts - max(1, parts // FIRST))


def _orders(count: int) -> list[list[int]]:
    orders, random = [list(range(count)), list(range(count))[::-1]], Random(SEED)
    while len(orders) < ORDERS:
        orders.append(random.sample(range(count), count))
    return orders


def mean_part(parts: Sequence[MeasuredPart]) -> MeasuredPart:
    """Return the mean of several parts."""
    costs, share = parts[0].costs, 1 / len(parts)
    pairs = tuple(
        replace(pair, cost=math.fsum(part.costs.pairs[index].cost for part in parts) * share)
        for index, pair in enumerate(costs.pairs)
    )
    sets = tuple(
        replace(
            cost_set,
            costs=tuple(
                math.fsum(part.costs.sets[index].costs[place] for part in parts) * share
                for place in range(len(cost_set.tasks))
            ),
        )
        for index, cost_set in enumerate(costs.sets)
    )
    tasks = tuple(_mean_task([part.tasks[index] for part in parts]) for index in range(len(parts[0].tasks)))
    return MeasuredPart(tasks, replace(costs, sets=sets, pairs=pairs))


def _mean_task(tasks: Sequence[Task]) -> Task:
    def mean(values: Sequence[float | None]) -> float | None:
        known_values = [value for value in values if value is not None]
        return statistics.fmean(known_values) if len(known_values) == len(values) else None

    return replace(
        tasks[0],
        solo_s=mean([task.solo_s for task in tasks]),
        pressure=mean([task.pressure for task in tasks]),
        sensitivity=mean([task.sensitivity for task in tasks]),
    )


def exact_gains(tasks: Sequence[Task], costs: CoRunCosts, decider: Decider, best: Names) -> tuple[Gain, Gain]:
    """Return the gains for costs without errors, taken as exact: without an interval."""
    part = MeasuredPart(tuple(tasks), costs)
    worst = decider.worst(tasks, costs)
    return Gain(_evaluate(decider, part, best, None)), Gain(_evaluate(decider, part, best, worst))


def _evaluate(decider: Decider, part: MeasuredPart, sharing: Names, over: Names | None) -> float:
    complete_costs = fill_missing(part.costs, part.tasks, 0.0)
    result = decider.gain(part.tasks, complete_costs, sharing, over)
    depends_on_missing = any(_are_together(sharing, *pair) for pair in part.costs.missing(part.tasks))
    if not depends_on_missing:
        return result
    # The additional loss of the sharing if its unmeasured pairs cost as much as the most expensive pair.
    dear_costs = fill_missing(part.costs, part.tasks, largest_cost(part.costs))
    return min(result, decider.gain(part.tasks, dear_costs, sharing, over))


def _mean_gain(orders: Sequence[Sequence[float]], parts: int) -> Gain:
    """Return the mean over orders of the parts, with the mean noise of a single order: averaging only lessens it."""
    mean = statistics.fmean(gain for values in orders for gain in values)
    count = len(orders[0])
    if count < 2:
        return Gain(mean, parts=parts)
    noise = math.sqrt(statistics.fmean(statistics.variance(values) for values in orders) / count)
    half_width = stdtrit(count - 1.0, 0.975) * noise
    return Gain(mean, noise, mean - half_width, mean + half_width, parts)


def parts_of(profile: CoRunProfile, most: int = PARTS) -> tuple[MeasuredPart, ...]:
    """Return a profile's rounds divided into parts; empty when a set of programs has too few rounds."""
    round_lists = _common_rounds(profile)
    count = min(most, *(len(rounds) for rounds in round_lists)) if round_lists else 0
    if count < FEWEST:
        return ()
    # Where some rounds were lost, each set of programs has its own rounds, which are divided in their own order.
    tasks = profile.tasks()
    return tuple(_measured_part(tasks, _part(profile, count, number)) for number in range(count))


def _measured_part(tasks: Sequence[Task], part: CoRunProfile) -> MeasuredPart:
    """Return tasks and costs as a part alone shows them; the counters of a program are the same in all parts."""
    costs = _exact(part)
    pairs = costs.by_pair()
    part_tasks = []
    for task in tasks:
        program = part.program(task.name)
        caused = [max(0.0, cost) for (_, alongside), cost in pairs.items() if alongside == task.name]
        suffered = [
            PlacementObjective.SLOWDOWN.of(max(0.0, cost))
            for (task_name, _), cost in pairs.items()
            if task_name == task.name
        ]
        part_tasks.append(
            replace(
                task,
                solo_s=program.solo_s,
                pressure=task.pressure if program.counted or not caused else statistics.fmean(caused),
                sensitivity=statistics.fmean(suffered) if suffered else task.sensitivity,
            )
        )
    return MeasuredPart(tuple(part_tasks), costs)


def _common_rounds(profile: CoRunProfile) -> list[list[int]]:
    """Return the rounds in which a program ran both alone and next to others, for each co-run that has any."""
    alone = {program.name: {run.round for run in program.alone} for program in profile.programs}
    round_lists = [
        sorted(run.round for run in co_run.runs if run.round in alone[co_run.program]) for co_run in profile.co_runs
    ]
    return [rounds for rounds in round_lists if rounds]


def _part(profile: CoRunProfile, count: int, number: int) -> CoRunProfile:
    """Return the profile with the rounds of one part."""

    def rounds_of_part(runs: Sequence[TimedRun], rounds: Sequence[int]) -> tuple[TimedRun, ...]:
        selected = {round_number for index, round_number in enumerate(rounds) if index % count == number}
        return tuple(run for run in runs if run.round in selected)

    alone = {program.name: sorted(run.round for run in program.alone) for program in profile.programs}
    co_runs = []
    for co_run in profile.co_runs:
        whole_rounds = set(alone[co_run.program])
        runs = [run for run in co_run.runs if run.round in whole_rounds]
        co_runs.append(replace(co_run, runs=rounds_of_part(runs, sorted(run.round for run in runs))))
    programs = []
    for program in profile.programs:
        # A program's runs alone include all rounds that its co-runs need.
        needed = {run.round for co_run in co_runs if co_run.program == program.name for run in co_run.runs}
        alone_runs = tuple(run for run in program.alone if run.round in needed)
        alone_runs = alone_runs or rounds_of_part(program.alone, alone[program.name])
        programs.append(replace(program, alone=alone_runs or program.alone))
    return replace(profile, programs=tuple(programs), co_runs=tuple(co_runs))


def _exact(profile: CoRunProfile) -> CoRunCosts:
    """Return the costs of a part: means of log(alone/alongside), not limited by their noise, which few rounds do not
    show."""
    by_set = dict[tuple[str, ...], dict[str, float]]()
    pairs, on_one_core = list[PairCost](), list[PairCost]()
    for co_run in profile.co_runs:
        alone = {run.round: run.seconds for run in profile.program(co_run.program).alone}
        ratios = [math.log(alone[run.round] / run.seconds) for run in co_run.runs if run.round in alone]
        if not ratios:
            continue
        cost = _clamp(-math.expm1(statistics.fmean(ratios)))
        if len(co_run.alongside) == 1:
            target = on_one_core if co_run.same_core else pairs
            target.append(PairCost(co_run.program, co_run.alongside[0], cost, UNCERTAIN))
        else:
            by_set.setdefault(tuple(sorted((co_run.program, *co_run.alongside))), {})[co_run.program] = cost
    sets = tuple(
        SetCosts(names, tuple(costs[name] for name in names), (UNCERTAIN,) * len(names))
        for names, costs in by_set.items()
        if len(costs) == len(names)
    )
    other_core_costs = {(pair.task, pair.alongside): pair.cost for pair in pairs}
    siblings = tuple(
        replace(pair, cost=max(0.0, pair.cost - other_core_costs[pair.task, pair.alongside]))
        for pair in on_one_core
        if (pair.task, pair.alongside) in other_core_costs
    )
    return CoRunCosts(CostOrigin.MEASURED, sets, tuple(pairs), siblings)


def thin_costs(tasks: Sequence[Task], costs: CoRunCosts, count: int = PARTS) -> tuple[MeasuredPart, ...]:
    """Return costs divided into independent parts by noise that cancels; empty unless all errors are known."""
    if not _has_errors(costs):
        return ()
    random = np.random.default_rng(SEED)
    noise = random.standard_normal((count, sum(len(cost_set.tasks) for cost_set in costs.sets) + len(costs.pairs)))
    noise -= noise.mean(axis=0)
    return tuple(
        MeasuredPart(tuple(tasks), _shifted(costs, math.sqrt(count) * noise[number])) for number in range(count)
    )


def _has_errors(costs: CoRunCosts) -> bool:
    return all(cost_set.errors for cost_set in costs.sets) and all(pair.error is not None for pair in costs.pairs)


def _shifted(costs: CoRunCosts, multiples: Sequence[float]) -> CoRunCosts:
    """Return the costs, each shifted by a multiple of its error."""
    shifts = iter(multiples)
    sets = tuple(
        SetCosts(
            cost_set.tasks,
            tuple(
                _clamp(cost + error * next(shifts)) for cost, error in zip(cost_set.costs, cost_set.errors, strict=True)
            ),
            (UNCERTAIN,) * len(cost_set.tasks),
        )
        for cost_set in costs.sets
    )
    pairs = tuple(
        PairCost(pair.task, pair.alongside, _clamp(pair.cost + (pair.error or 0.0) * next(shifts)), UNCERTAIN)
        for pair in costs.pairs
    )
    return replace(costs, sets=sets, pairs=pairs)


def _clamp(cost: float) -> float:
    """Return the cost limited to the range that `CoRunCosts` accepts."""
    return min(ALL, max(-2 * UNCERTAIN, cost))


def largest_cost(costs: CoRunCosts) -> float:
    """Return the largest known cost of a pair, which is assumed for unknown pairs so that they are avoided."""
    return max((cost for cost in costs.by_pair().values()), default=0.5)


def fill_missing(costs: CoRunCosts, tasks: Sequence[Task], value: float) -> CoRunCosts:
    """Return the costs with those of unmeasured pairs set to a value."""
    measured = costs.by_pair()
    missing = [(first, second) for pair in costs.missing(tasks) for first, second in (pair, pair[::-1])]
    pairs = tuple(
        PairCost(first, second, value, UNCERTAIN)
        for first, second in dict.fromkeys(missing)
        if (first, second) not in measured
    )
    return replace(costs, pairs=(*costs.pairs, *pairs)) if pairs else costs


def _are_together(sharing: Names, first: str, second: str) -> bool:
    return any(first in names and second in names for names in sharing)


def _numbers(problem: Problem, sharing: Names) -> tuple[tuple[int, ...], ...]:
    """Return a sharing by names as numbers of processes."""
    free: dict[str, list[int]] = {}
    for number, task in enumerate(problem.item):
        free.setdefault(task.name, []).append(number)
    return tuple(tuple(free[name].pop(0) for name in names) for names in sharing)
