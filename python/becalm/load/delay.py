"""The delay factor of a run, the expected one, and the assumptions of the expectation that failed.

delay factor = wall time / reference time (Mund 1996). The reference is the wall time of an unloaded run, else the
program's own user + system time. Three expectations stand next to it:

- `mund`: 1 while the run queue holds no more tasks than there are CPUs, else queue / CPUs. It assumes equal shares.
- `fair_delay`: the same with the kernel's weights (nice, control groups, autogroup) and a quota.
- `exact`: 1 + run-queue wait / CPU time, both counted by the kernel.

Public: Contender, fair_delay, weight_of_nice, mund, Competition, Delay, delay, own_reference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from becalm.load.time_accounting import Times

WEIGHTS = (
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
    9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
    1024, 820, 655, 526, 423, 335, 272, 215, 172, 137,
    110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
)  # fmt: skip
"""The weights of nice -20 to 19 (Linux, kernel/sched/core.c, sched_prio_to_weight)."""

GROUP_WEIGHT = 1024
"""The weight of a control group with cpu.weight 100 or cpu.shares 1024, and of an autogroup of nice 0."""

AGREE = 0.1
"""The relative difference up to which expectation and measurement agree: the queue is sampled, and no scheduler is
exact over a short run."""


def weight_of_nice(nice: int) -> int:
    """Return the kernel's weight of a task with a nice value from -20 to 19. Raises ValueError for other values."""
    if not -20 <= nice <= 19:
        raise ValueError(f"A nice value lies between -20 and 19, not at {nice}.")
    return WEIGHTS[nice + 20]


def mund(queue: float, cpus: float, tasks: float = 1.0) -> float:
    """Return the delay that Mund (1996) expects of a single-threaded program: max(1, queue / CPUs).

    The queue includes the program. If its own `tasks` are more than the CPUs, they have tasks / queue of all CPUs with
    equal shares, and all CPUs when nothing else runs: the delay is max(1, queue / tasks).
    """
    return max(1.0, queue / max(cpus, tasks))


class Contender(msgspec.Struct, frozen=True):
    """Tasks that want CPUs all the time. `tasks` is their mean number; each can use one CPU.

    `group` names their scheduling group: a control group, or a terminal session where autogroup is on. Each task
    without a group ("") competes with whole groups as if it were one.
    """

    tasks: float = 1.0
    nice: int = 0
    group: str = ""


def fair_delay(
    own: Contender,
    others: Sequence[Contender],
    cpus: float,
    *,
    weights: Mapping[str, float] | None = None,
    quota_cpus: float | None = None,
) -> float:
    """Return the delay of one task of `own` when CPUs are shared by weight and tasks are placed ideally.

    `weights`: the weights of groups that differ from GROUP_WEIGHT. `quota_cpus`: the CPUs that cpu.max of its own group
    allows. A task cannot use more than one CPU, so the rest of a heavy task's share goes to the others (the
    water-filling of weighted fair queueing; Linux, Documentation/scheduler/sched-design-CFS.rst, "Group scheduler
    extensions"). Exact on one CPU; a lower bound on several, as no kernel places tasks ideally.
    """
    every = [own, *(other for other in others if other.tasks > 0)]
    grouped = {contender.group for contender in every if contender.group}
    entities: list[tuple[float, float]] = [
        ((weights or {}).get(name, GROUP_WEIGHT), min(cpus, sum(c.tasks for c in every if c.group == name)))
        for name in sorted(grouped)
    ]
    entities += [(weight_of_nice(c.nice) * c.tasks, c.tasks) for c in every if not c.group]
    shares = _fill(cpus, entities)
    if own.group:
        room = shares[sorted(grouped).index(own.group)]
        inside = [c for c in every if c.group == own.group]
        mine = _fill(room, [(weight_of_nice(c.nice) * c.tasks, c.tasks) for c in inside])[0]
    else:
        mine = shares[len(grouped)]
    if quota_cpus is not None:
        mine = min(mine, quota_cpus)
    return max(1.0, own.tasks / mine) if mine > 0 else math.inf


def _fill(room: float, entities: Sequence[tuple[float, float]]) -> list[float]:
    """Return the division of `room` by weight among (weight, most it can use); an unused part goes to the others."""
    result = [0.0] * len(entities)
    hungry = {index for index, (weight, most) in enumerate(entities) if weight > 0 and most > 0}
    left = room
    while hungry:
        total = sum(entities[index][0] for index in hungry)
        full = {index for index in hungry if entities[index][1] <= left * entities[index][0] / total}
        if not full:
            for index in hungry:
                result[index] = left * entities[index][0] / total
            break
        for index in full:
            result[index] = entities[index][1]
        left = max(0.0, left - sum(result[index] for index in full))
        hungry -= full
    return result


class Competition(msgspec.Struct, frozen=True):
    """The competition for CPUs, as far as it is known.

    - `queue`: mean number of runnable tasks, the program's own included
    - `cpus`: the number of CPUs that the program may use
    - `grouped`: whether autogroup or control groups put programs into groups; None where unknown
    - `weight`, `quota_cpus`: those of the program's own group
    - `threads`: the program's own runnable tasks
    """

    queue: float | None
    cpus: float | None
    nice: int = 0
    others_nice: int = 0
    grouped: bool | None = None
    weight: float = GROUP_WEIGHT
    quota_cpus: float | None = None
    threads: float = 1.0

    def shared(self) -> tuple[float, float] | None:
        """Return the least and the largest delay by fair shares, over the possible groups of the others.

        None without a queue. Where more `threads` than CPUs already share them, it is relative to the program without
        other load. Without groups all tasks compete singly. With groups the others are at best all in one other group;
        at worst half of them share the program's group, and each of the rest has a group of its own.
        """
        if self.queue is None or not self.cpus:
            return None
        others = max(0.0, self.queue - self.threads)
        alone = max(1.0, self.threads / self.cpus)
        own = Contender(self.threads, self.nice)
        flat = fair_delay(own, [Contender(others, self.others_nice)], self.cpus, quota_cpus=self.quota_cpus)
        if self.grouped is False:
            return flat / alone, flat / alone
        mine = Contender(self.threads, self.nice, "own")
        weights = {"own": self.weight}
        # Tasks outside every group stand for groups of one task each: nice 0 weighs as much as a group.
        ways = (
            [Contender(others, 0, "")],
            [Contender(others, self.others_nice, "others")],
            [Contender(others, self.others_nice, "own")],
            [Contender(others / 2, self.others_nice, "own"), Contender(others / 2, 0, "")],
        )
        delays = [
            flat,
            *(fair_delay(mine, way, self.cpus, weights=weights, quota_cpus=self.quota_cpus) for way in ways),
        ]
        return min(delays) / alone, max(delays) / alone


class Delay(msgspec.Struct, frozen=True):
    """The delay factor, wall / reference, with the expectations next to it; None is unknown.

    - `reference`: "unloaded run", "own CPU time", or "own CPU time in parallel" (Times.alone_ns)
    - `shared`: the least and the largest expectation by fair shares
    - `exact`: 1 + run-queue wait / CPU time; for several tasks, their wait for others over their CPU time in parallel
    - `failed`: the assumptions that did not hold, as sentences
    """

    factor: float
    wall_ns: float
    reference_ns: float
    reference: str
    mund: float | None
    shared: tuple[float, float] | None
    exact: float | None
    failed: tuple[str, ...] = ()


UNLOADED, OWN_CPU, PARALLEL_CPU = "unloaded run", "own CPU time", "own CPU time in parallel"


def own_reference(times: Times) -> str:
    """Return the name of a reference that is the program's own CPU time."""
    return OWN_CPU if times.width == 1.0 else PARALLEL_CPU


def delay(times: Times, circumstances: Competition, reference: Times | None = None) -> Delay | None:
    """Return the delay of a run against an unloaded `reference`, or its own CPU time; None where neither is known."""
    queue, cpus = circumstances.queue, circumstances.cpus
    alone = times.alone_ns(cpus)
    base_ns, name = (alone, own_reference(times)) if reference is None else (reference.wall_ns, UNLOADED)
    if not base_ns:
        return None
    circumstances = replace(circumstances, threads=max(circumstances.threads, times.ready))
    expected = None if queue is None or not cpus else mund(queue, cpus, times.ready)
    exact = None
    if times.wait_ns is not None and alone and times.width > 1.0:
        exact = ((times.on_cpu_ns or 0.0) + times.wait_ns) / times.width / alone
    elif times.wait_ns is not None and times.exec_ns:
        exact = 1 + times.wait_ns / times.exec_ns
    elif times.wait_ns is not None and times.cpu_ns:
        exact = 1 + times.wait_ns / times.cpu_ns
    shared = circumstances.shared()
    factor = times.wall_ns / base_ns
    return Delay(
        factor, times.wall_ns, base_ns, name, expected, shared, exact,
        tuple(_failed(factor, times, circumstances, expected, shared, exact)),
    )  # fmt: skip


def _failed(
    factor: float,
    times: Times,
    around: Competition,
    expected: float | None,
    shared: tuple[float, float] | None,
    exact: float | None,
) -> list[str]:
    result = []
    if expected is not None and exact is not None:
        within = shared is not None and shared[0] * (1 - AGREE) <= exact <= shared[1] * (1 + AGREE)
        if exact < expected * (1 - AGREE):
            why = "The program got more than an equal share of the CPUs"
            if within and around.nice < around.others_nice:
                result.append(f"{why}: its nice value is {around.nice}.")
            elif within and around.grouped is not False:
                result.append(f"{why}: the others share a group (autogroup, control group) and compete as one.")
            else:
                result.append(f"{why}, or the others were on the run queue only while it was not.")
        elif exact > expected * (1 + AGREE):
            why = "The program got less than an equal share of the CPUs"
            if times.quota_ns:
                result.append(f"{why}: a quota of its control group held it back.")
            elif within and around.nice > around.others_nice:
                result.append(f"{why}: its nice value is {around.nice}.")
            elif within and around.grouped is not False:
                result.append(
                    f"{why}: groups (autogroup, control group) share as wholes, and its own has more or fewer tasks."
                )
            else:
                result.append(f"{why}: it may use only some of them, or the queue was sampled too seldom to see it.")
    if exact is not None and not times.several and factor > exact * (1 + AGREE):
        result.append(
            f"Waiting for a CPU is not all: the delay is {factor:.2f}, of which the run queue explains {exact:.2f}."
        )
    return result
