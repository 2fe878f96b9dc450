"""The load of others during each run: the machine's counters less the program's own, as measures of comparable size.

The program's own CPU time and time on the run queue are counted, so they are subtracted exactly. Amounts without a
count per program (disk, network, NFS, paging) are reduced by the smallest amount per run of any observation, which the
program's own amount cannot exceed; otherwise a program's own I/O would explain its slowness. A measure that cannot be
computed is None, never zero.

Public: Observed, observed, pooled, Predictor, MEASURES, CAUSES, others, busy, unloaded, planned_reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from becalm.load.cpu_competition import confined, others_share, stolen_share
from becalm.load.delay import Competition, Delay, delay, mund
from becalm.load.record import Load
from becalm.load.record import pooled as pooled_load
from becalm.load.time_accounting import NAMES, Times, middle, of, shared
from becalm.load.waterfall import IO, MEMORY, QUEUE, SLOWER, STEAL, UNEXPLAINED
from becalm.nouns.run import Outcome, Run

MIB = 1048576.0


class Observed(msgspec.Struct, frozen=True):
    """Runs of one program with the Load around them. `around`: the competition for CPUs, as `delay` takes it."""

    study: int
    program: str
    machine: str
    times: Times
    load: Load
    around: Competition
    seqs: tuple[int, ...] = ()
    """Sequence numbers of the runs."""
    own_cpu_ns: float | None = None
    """CPU time in the interval that is not used by others (`own_cpu_ns`)."""
    mixed: bool = False
    """Whether other runs lie in the same interval, so that the load's sums do not belong to this program alone."""

    def delay(self, reference: Times | None) -> Delay | None:
        """Return the delay against an unloaded run, or against the program's own CPU time without a reference."""
        return delay(self.times, self.around, reference)


def observed(
    study: int,
    machine: str,
    names: Sequence[str],
    runs: Iterable[Run],
    loads: Iterable[Load],
    around: Callable[[Run, Load], Competition] | None = None,
) -> list[Observed]:
    """Join counted good runs with their loads: one Observed for each load and program in it.

    Runs and loads are in the order of the runs. `names`: by workload. `around`: returns the competition for CPUs;
    without it, queue and CPUs of the load. Warm-ups, runs that did not end well, and loads without a good run are left
    out.
    """
    from becalm.load.covered import RunWindow  # A measurement starts without it.

    window = RunWindow(runs)
    observations = []
    for load in loads:
        inside = window.between(load.first, load.last)
        good = [run for run in inside if run.outcome == Outcome.OK and not run.warmup]
        own = own_cpu_ns(inside, load)
        for program in sorted({run.workload for run in good}):
            mine = [run for run in good if run.workload == program]
            whole = len(mine) == len(inside)
            times = of(mine, load, whole=whole)
            observations.append(
                Observed(
                    study=study,
                    program=names[program],
                    machine=machine,
                    times=times,
                    load=load,
                    around=confined((around or _plain)(mine[0], load), load, times, own),
                    seqs=tuple(run.seq for run in mine),
                    own_cpu_ns=own,
                    mixed=not whole,
                )
            )
    window.end()
    return observations


def own_cpu_ns(inside: Sequence[Run], load: Load) -> float | None:
    """Return the CPU time of all runs in an interval, of whatever program and outcome, and of starting them: between
    two runs one CPU may have been the agent's. None where the CPU time of any run is unknown."""
    spent = 0.0
    for run in inside:
        if run.user_ns is None or run.system_ns is None:
            return None
        spent += run.user_ns + run.system_ns
    return spent + max(0, load.interval_ns - sum(run.took_ns for run in inside))


def pooled(observations: Sequence[Observed]) -> Observed:
    """Return several observations of one program under the same load as one. Raises ValueError for none.

    Each column of the loads is pooled in its own way; times are averaged over runs.
    """
    if len(observations) == 1:
        return observations[0]
    if not observations:
        raise ValueError("Nothing to pool.")
    load = pooled_load([observation.load for observation in observations])

    def mean(values: Sequence[float | None], weights: Sequence[float]) -> float | None:
        known = [v * w for v, w in zip(values, weights, strict=True) if v is not None]
        return sum(known) / sum(weights) if len(known) == len(values) else None

    runs = [observation.times.runs for observation in observations]
    times: dict[str, Any] = {
        name: mean([getattr(observation.times, name) for observation in observations], runs)
        for name in Times.__struct_fields__
        if name not in NAMES
    }
    cpu = [observation.own_cpu_ns for observation in observations]
    own_ns = None if any(cpu_ns is None for cpu_ns in cpu) else sum(cpu_ns or 0.0 for cpu_ns in cpu)
    together = Times(runs=sum(runs), **times, **shared([observation.times for observation in observations]))
    return replace(
        observations[0],
        times=together,
        load=load,
        around=confined(replace(observations[0].around, queue=load.queue), load, together, own_ns),
        seqs=tuple(seq for observation in observations for seq in observation.seqs),
        own_cpu_ns=own_ns,
        mixed=any(observation.mixed for observation in observations),
    )


def _plain(run: Run, load: Load) -> Competition:
    return Competition(load.queue, load.cpus)


class Predictor(msgspec.Struct, frozen=True):
    """A measure of others' load. `cause`: its subsystem; `floor`: the range below which it counts as no load."""

    name: str
    title: str
    unit: str
    cause: str
    floor: float
    amount: Callable[[Load], float | None]


def _bytes(*values: int | None) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / MIB if known else None


def _disk(load: Load) -> float | None:
    """Return the disk's load without swapping, which counts as paging."""
    moved = _bytes(load.disk_read_bytes, load.disk_write_bytes)
    swapped = _bytes(load.swap_in_bytes, load.swap_out_bytes) or 0.0
    return None if moved is None else max(0.0, moved - swapped)


def _calls(load: Load) -> float | None:
    return None if load.nfs_calls is None else float(load.nfs_calls)


def _reclaims(load: Load) -> float | None:
    known = [count for count in (load.refaults, load.direct_reclaims) if count is not None]
    return float(sum(known)) if known else None


AMOUNTS = (
    Predictor("page_outs", "page-outs", "MiB/s", "memory", 0.2, lambda load: _bytes(load.swap_out_bytes)),
    Predictor("reclaims", "refaults and reclaims", "1/s", "memory", 20.0, _reclaims),
    Predictor("disk", "disk", "MiB/s", "disk", 1.0, _disk),
    Predictor(
        "network",
        "network",
        "MiB/s",
        "network",
        1.0,
        lambda load: _bytes(load.net_in_bytes, load.net_out_bytes, load.loopback_bytes),
    ),
    Predictor("nfs", "NFS calls", "1/s", "NFS", 5.0, _calls),
)
"""Measures without a count of the program's own part. The floors are the values of an idle machine's services."""

QUEUE_MEASURE = Predictor("queue", "run queue over CPUs", "", "CPU", 0.1, lambda load: None)
CPU_MEASURE = Predictor("cpu", "use of the other CPUs", "", "CPU", 0.05, lambda load: None)
STEAL_MEASURE = Predictor("steal", "steal", "", "hypervisor", 0.01, lambda load: None)

USED = "cpu_use"
"""The whole CPU use of others: shown, but not a predictor."""

MEASURES = (QUEUE_MEASURE, CPU_MEASURE, *AMOUNTS, STEAL_MEASURE)
"""All measures. To add one, add a row, and its arithmetic in `others` if the program's own part is counted."""

CAUSES = {
    "CPU": (QUEUE, SLOWER),
    "memory": (MEMORY, IO, SLOWER),
    "disk": (IO, UNEXPLAINED),
    "network": (UNEXPLAINED, SLOWER),
    "NFS": (UNEXPLAINED, IO),
    "hypervisor": (STEAL, SLOWER, UNEXPLAINED),
}
"""The bars of a waterfall in which each cause shows. A program that waits for network or NFS sleeps, which no bar
counts; writing to a full disk queue is partly sleep (balance_dirty_pages); paging to memory (zram) is CPU work."""


def others(observations: Sequence[Observed]) -> dict[str, list[float | None]]:
    """Return each measure of each observation, in the given order. CPUs are those that the program may use.

    - `queue`: others' mean runnable tasks as Mund's expectation counts them, max(1, r / n) - 1; r is the whole queue,
      and n is the number of CPUs, or of the program's own tasks where these are more
    - `cpu_use`: the share of the CPUs that others used; where the CPUs are saturated, others use what a slow program
      leaves, so that this share is a result of the delay
    - `cpu`: the same, but at most the share of all CPUs except one; None on a single CPU
    - `steal`: the stolen share of the interval's CPU time
    - further measures: in their own unit, per second
    """
    table: dict[str, list[float | None]] = {name: [] for name in (*(measure.name for measure in MEASURES), USED)}
    for observation in observations:
        load, seconds = observation.load, observation.load.interval_ns / 1e9
        cpus = observation.around.cpus or load.cpus
        queue = observation.around.queue
        table["queue"].append(None if queue is None or not cpus else mund(queue, cpus, observation.times.ready) - 1)
        used = others_share(load, observation.own_cpu_ns)
        used = None if used is None else max(0.0, used)
        table[USED].append(used)
        least = min(cpus or 0, load.cpus or 0)
        table["cpu"].append(None if used is None or least < 2 else min(used, 1 - 1 / least))
        table["steal"].append(stolen_share(load))
        for measure in AMOUNTS:
            amount = measure.amount(load)
            table[measure.name].append(None if amount is None or not seconds else amount / seconds)
    for measure in AMOUNTS:
        table[measure.name] = _less_own(observations, table[measure.name])
    return table


def _less_own(observations: Sequence[Observed], rates: Sequence[float | None]) -> list[float | None]:
    """Subtract the smallest observed amount per run, program by program."""
    seconds = [observation.load.interval_ns / 1e9 for observation in observations]
    least: dict[tuple[str, str], float] = {}
    for observation, rate, time in zip(observations, rates, seconds, strict=True):
        if rate is not None:
            key, amount = (observation.machine, observation.program), rate * time / observation.times.runs
            least[key] = min(least.get(key, amount), amount)
    return [
        None
        if rate is None
        else max(0.0, rate - least[observation.machine, observation.program] * observation.times.runs / time)
        for observation, rate, time in zip(observations, rates, seconds, strict=True)
    ]


FEWEST_UNLOADED = 3

IDLE = {"queue": 0.02, "cpu": 0.05, "steal": 0.01}
"""The values above which an observation is not of an unloaded run; for other measures it is their floor."""

BUSY_WAIT, BUSY_STEAL = 0.1, 0.05
"""The values above which a machine is busy, whatever its plan.

The first is for the wait for a CPU over the program's own CPU time, and for the share of time in which any task waited
for a CPU; starting short programs without other load stays far below it. The second is for the stolen share.
"""


def busy(observation: Observed, steal: float | None) -> bool:
    """Return whether the counts show that others wanted the CPUs of this observation.

    The kernel counts the program's own wait, pressure and steal separately; one of them is enough. Pressure is no
    evidence where the program has more tasks than CPUs, which wait for each other. `steal`: a share of the CPU time.
    """
    own = observation.delay(None)
    if own is not None and own.exact is not None and own.exact > 1 + BUSY_WAIT:
        return True
    load, cpus = observation.load, observation.around.cpus or observation.load.cpus
    alone = not cpus or observation.times.ready <= cpus
    if alone and load.pressure_cpu_ns is not None and load.pressure_cpu_ns > BUSY_WAIT * load.interval_ns:
        return True
    return steal is not None and steal > BUSY_STEAL


def unloaded(observations: Sequence[Observed], table: dict[str, list[float | None]] | None = None) -> Times | None:
    """Return the times of an unloaded run of one program on one machine: the median of observations without load.

    None with fewer than FEWEST_UNLOADED such observations. One whose queue and CPU use are both unknown is not counted.
    """
    rows = others(observations) if table is None else table
    calm = []
    for index, observation in enumerate(observations):
        values = {m.name: rows[m.name][index] for m in MEASURES}
        # All CPU use of others counts here, even the part that may be a result of the program's own delay.
        values["cpu"] = rows[USED][index]
        known = values["queue"] is not None or values["cpu"] is not None
        idle = all((values[m.name] or 0.0) <= IDLE.get(m.name, m.floor) for m in MEASURES)
        if known and idle and not busy(observation, values["steal"]):
            calm.append(observation.times)
    return middle(calm) if len(calm) >= FEWEST_UNLOADED else None


def planned_reference(calm: Sequence[Observed]) -> tuple[Times | None, int]:
    """Return the median times of a plan's steps without load, and how many of these steps were not unloaded.

    The times are None with fewer than FEWEST_UNLOADED unloaded steps, unless the plan has no more of them.
    """
    steal = others(calm)["steal"]
    quiet = [
        observation.times for observation, stolen in zip(calm, steal, strict=True) if not busy(observation, stolen)
    ]
    enough = len(quiet) >= min(FEWEST_UNLOADED, len(calm))
    return middle(quiet) if enough else None, len(calm) - len(quiet)
