"""The values of placement: Task, Chip, CoRunCosts (the costs of sharing a chip), and Placement (the tasks by chip).

A cost is a task's *degradation*: the share of its speed that it loses next to others, 1 - alone/alongside in time, from
0 to below 1 (Anderson 2013, eq. 6.21, over 100). Costs are known by whole sets, by pairs, or both.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from becalm.errors import UsageError
from becalm.nouns.codec import Json, decode, plain_dict
from becalm.nouns.result import Documented

NOISE = 3.0
"""The number of standard errors by which a measured cost may be below zero; it is then a small cost with noise."""

NOTHING = 1e-12
"""The mean cost up to which it counts as zero, by the precision of sums and of a solver."""


class CostOrigin(StrEnum):
    """The source of costs: measured on a machine, given in a file, or computed by a model; it is always reported."""

    MEASURED = "measured"
    GIVEN = "given"
    MODEL = "model"


class PlacementObjective(StrEnum):
    """The figure that is averaged over the tasks: degradation D (Anderson, 6.21), or slowdown D/(1 - D) (Jiang et al.
    2011, CPI alongside over CPI alone, less 1). Their optima may differ."""

    DEGRADATION = "degradation"
    SLOWDOWN = "slowdown"

    def of(self, degradation: float) -> float:
        """Return the value of a degradation on this scale."""
        return degradation if self is PlacementObjective.DEGRADATION else degradation / (1 - degradation)


class Task(msgspec.Struct, frozen=True):
    """A program to be placed, as `processes` equal processes, of which the slowest determines its time.

    - `solo_s`: seconds alone
    - `pressure`: how much it slows others, in memory lines per 1,000 instructions or on another scale common to all
    - `cpi`: cycles per instruction alone
    - `sensitivity`: how much others slow it, CPI with a small share of the cache over CPI with all of it, less 1
    - `node`: the NUMA node of its memory; on chips of other nodes it loses `remote` more
    """

    name: str
    solo_s: float | None = None
    processes: int = 1
    pressure: float | None = None
    sensitivity: float | None = None
    cpi: float | None = None
    node: int | None = None
    remote: float = 0.0

    def __post_init__(self) -> None:
        """Raise UsageError for invalid numbers."""
        if not self.name:
            raise UsageError("A task needs a name.")
        if self.processes < 1:
            raise UsageError(f"{self.name} has {self.processes} processes. A task has at least one.")
        for what, value in (("pressure", self.pressure), ("sensitivity", self.sensitivity)):
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise UsageError(f"The {what} of {self.name} is {value:g}. It is a number from 0.")
        for what, value in (("solo_s", self.solo_s), ("cpi", self.cpi)):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise UsageError(f"{what} of {self.name} is {value:g}. It is a number above 0.")
        if not 0 <= self.remote < 1:
            raise UsageError(f"`remote` of {self.name} is {self.remote:g}. It is a share from 0 and below 1.")

    def away(self, chip: Chip) -> float:
        """Return the degradation from remote memory on a chip, a share of speed."""
        return self.remote if self.node is not None and self.node != chip.node else 0.0


class Chip(msgspec.Struct, frozen=True):
    """CPUs that share a cache: `cores` of them, each with `threads` that share the core, on a NUMA node.

    `cpus`: the numbers of a real machine's CPUs, core by core.
    """

    cores: int
    threads: int = 1
    node: int = 0
    cpus: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Raise UsageError for a chip without room."""
        if self.cores < 1 or self.threads < 1:
            raise UsageError(f"A chip of {self.cores} cores with {self.threads} threads has no room for a task.")
        if self.cpus and len(self.cpus) != self.slots:
            raise UsageError(f"A chip with room for {self.slots} is listed with the CPUs {list(self.cpus)}.")

    @property
    def slots(self) -> int:
        """The number of processes that run there at the same time."""
        return self.cores * self.threads


def chips_of(sizes: Sequence[tuple[int, int]]) -> tuple[Chip, ...]:
    """Return the chips of these cores and threads of a core."""
    return tuple(Chip(cores, threads) for cores, threads in sizes)


class SetCosts(msgspec.Struct, frozen=True):
    """The loss of each of the tasks that share a chip, in their order. A task of several processes occurs once for each
    of its processes there. `errors`: standard errors of the costs, where they were measured."""

    tasks: tuple[str, ...]
    costs: tuple[float, ...]
    errors: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Raise UsageError for invalid costs."""
        if not len(self.tasks) == len(self.costs) == (len(self.errors) or len(self.tasks)):
            raise UsageError(
                f"The set {', '.join(self.tasks)} has {len(self.costs)} costs and {len(self.errors)} errors. It has "
                "one of each for a task."
            )
        errors = self.errors or (0.0,) * len(self.costs)
        for task, cost, error in zip(self.tasks, self.costs, errors, strict=True):
            others = list(self.tasks)
            others.remove(task)
            check_cost(task, tuple(others), cost, error)


class PairCost(msgspec.Struct, frozen=True):
    """The loss of `task` next to `alongside` only; `error` is its standard error."""

    task: str
    alongside: str
    cost: float
    error: float | None = None

    def __post_init__(self) -> None:
        """Raise UsageError for an invalid cost."""
        check_cost(self.task, (self.alongside,), self.cost, self.error or 0.0)


def check_cost(task: str, others: Sequence[str], cost: float, error: float) -> None:
    """Raise UsageError for an invalid cost: not a number, a gain beyond noise, or a loss of all speed."""
    alongside = " and ".join(others) or "nothing"
    if not math.isfinite(cost):
        raise UsageError(f"The cost of {task} next to {alongside} is {cost}, which is not a number. Measure it again.")
    if not (math.isfinite(error) and error >= 0):
        raise UsageError(
            f"The standard error of the cost of {task} next to {alongside} is {error}. It is a number from 0."
        )
    if cost < -NOISE * error:
        raise UsageError(
            f"The cost of {task} next to {alongside} is {cost:g}, below zero by more than its noise: a program does "
            "not "
            "run faster for its neighbours. Measure it again, or leave it out."
        )
    if cost >= 1:
        raise UsageError(
            f"The cost of {task} next to {alongside} is {cost:g}. A cost is the share of speed that is lost, "
            "1 - alone/alongside, and below 1; a slowdown s is s/(1 + s)."
        )


class CoRunCosts(msgspec.Struct, frozen=True):
    """The costs of sharing a chip. A set in `sets` has the stated costs; any other set the sums of its pairs.

    Pairs add up on the averaged scale (`PlacementObjective`), which is a model for more than two. `siblings`: the
    additional loss of a task next to one that shares its core. `missing` returns the pairs that were not measured in
    both directions; a placement that needs one is refused.
    """

    origin: CostOrigin
    sets: tuple[SetCosts, ...] = ()
    pairs: tuple[PairCost, ...] = ()
    siblings: tuple[PairCost, ...] = ()

    def __post_init__(self) -> None:
        """Raise UsageError for sets or pairs that occur twice, and for none at all."""
        if not (self.sets or self.pairs):
            raise UsageError("There are no costs. Measure some with `becalm corun`.")
        twice = [
            key
            for key, count in Counter(tuple(sorted(set_costs.tasks)) for set_costs in self.sets).items()
            if count > 1
        ]
        for some in (self.pairs, self.siblings):
            twice += [key for key, count in Counter((pair.task, pair.alongside) for pair in some).items() if count > 1]
        if twice:
            raise UsageError(f"The cost of {', '.join(twice[0])} is given twice. Leave one of them out.")

    def by_set(self) -> dict[tuple[str, ...], dict[str, float]]:
        """Return the loss of each task by the sorted names of its set; of equal sets, the largest loss."""
        result: dict[tuple[str, ...], dict[str, float]] = {}
        for set_costs in self.sets:
            costs = result.setdefault(tuple(sorted(set_costs.tasks)), {})
            for task, cost in zip(set_costs.tasks, set_costs.costs, strict=True):
                costs[task] = max(cost, costs.get(task, cost))
        return result

    def by_pair(self) -> dict[tuple[str, str], float]:
        """Return the losses by task and neighbour, including those of sets of two."""
        result = {(pair.task, pair.alongside): pair.cost for pair in self.pairs}
        for set_costs in self.sets:
            if len(set_costs.tasks) == 2:
                (task, other), (task_cost, other_cost) = set_costs.tasks, set_costs.costs
                result |= {(task, other): task_cost, (other, task): other_cost}
        return result

    def missing(self, tasks: Sequence[Task]) -> tuple[tuple[str, str], ...]:
        """Return the pairs of these tasks, in their order, whose costs are not known in both directions."""
        known = self.by_pair()
        names = [task.name for task in tasks]
        return tuple(
            (name, other)
            for index, name in enumerate(names)
            for other in names[index:] if name != other or tasks[index].processes > 1
            if (name, other) not in known or (other, name) not in known
        )  # fmt: skip

    @property
    def worst_error(self) -> float | None:
        """The largest known standard error."""
        errors = [error for set_costs in self.sets for error in set_costs.errors]
        errors += [pair.error for pair in self.pairs if pair.error is not None]
        return max(errors, default=None)

    def to_json(self) -> Json:
        """Return the value as JSON."""
        return plain_dict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> CoRunCosts:
        """Return the costs that `to_json` wrote. Raises UsageError, TypeError or ValueError with the place."""
        return decode(cls, value)


class Placement(Documented, frozen=True):
    """The tasks on each chip. A task of several processes occurs once for each of them.

    - `sharing`: the names of the tasks in the order of chips, core by core where threads share cores
    - `cost`: the mean over the tasks on the scale of `objective`, with the `degradation` of each by name; None where
      the method knew no costs
    - `bound`: a proved lower bound of the cost
    - `decision_ns`: the time of the decision, as measured by the engine if it made the decision
    - `out_of_time`: whether the budget ended the search, so that this is the best sharing until then
    """

    KIND = "placement"
    DERIVED = ("gap", "unfairness")

    method: str
    sharing: tuple[tuple[str, ...], ...]
    objective: PlacementObjective
    origin: CostOrigin
    cost: float | None
    degradation: Mapping[str, float]
    bound: float | None = None
    seed: int = 0
    decision_ns: int = 0
    out_of_time: bool = False

    @property
    def gap(self) -> float | None:
        """The largest possible distance from the optimum, as a share of the cost; 0 is proved to be optimal."""
        if self.cost is None or self.bound is None:
            return None
        return max(0.0, self.cost - self.bound) / self.cost if self.cost > NOTHING else 0.0

    @property
    def unfairness(self) -> float | None:
        """100 times the standard deviation (over N) of the degradations over their mean; None without degradations."""
        return unfairness(list(self.degradation.values()))

    def chip_of(self, name: str) -> int:
        """Return the first chip of a task. Raises KeyError for a task that is on no chip."""
        for index, names in enumerate(self.sharing):
            if name in names:
                return index
        raise KeyError(name)

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Placement:
        """Return the placement that `to_json` wrote. Raises TypeError or ValueError with the place."""
        return decode(cls, value)


def unfairness(values: Sequence[float]) -> float | None:
    """Return 100 times the standard deviation, over N, over the mean; None where the mean is not above 0."""
    mean = math.fsum(values) / len(values) if values else 0.0
    if mean <= 0:
        return None
    return 100 * math.sqrt(math.fsum((task - mean) ** 2 for task in values) / len(values)) / mean


def items(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """Return each task as often as it has processes. Raises UsageError for two tasks with one name."""
    twice = [name for name, count in Counter(task.name for task in tasks).items() if count > 1]
    if twice:
        raise UsageError(f"Two tasks are called {twice[0]}. Give them different names, or one of them `processes`.")
    return tuple(task for task in tasks for _ in range(task.processes))


def in_rounds(chips: Sequence[Chip], processes: int) -> tuple[Chip, ...]:
    """Return copies of these chips for as many rounds as `processes` need: chip k of round r is number r·len(chips) +
    k. Tasks in different rounds do not meet. Raises UsageError without a chip."""
    room = sum(chip.slots for chip in chips)
    if not room:
        raise UsageError("There is no chip to place tasks on.")
    return tuple(chips) * max(1, -(-processes // room))
