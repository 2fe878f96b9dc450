"""`becalm simulate --calibrate HOST`, `--validate HOST`: fit the model's costs to real runs, and test its predictions.

hackbench runs on the host with several numbers of groups, in random order. It prints the time from the start signal to
the end, and that is simulated, without the creation of tasks.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from becalm import hosts, system_clock
from becalm.analysis.simulate_calibration import SimulatedTime, adjust_r_squared, fit, r_squared
from becalm.errors import UsageError
from becalm.hosts import Host, MeasureRequest, runs_of
from becalm.hosts.simulated.scheduler import states
from becalm.hosts.simulated.scheduler.host import SchedulerHost
from becalm.nouns.metric import Metric
from becalm.nouns.run import Block, Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.results.simulate_calibration import Bootstrapped, Calibration, Costs, Size
from becalm.units import duration_ns
from becalm.verbs.simulate import scheduler

FITTED = (2, 6)
"""Numbers of groups of the runs to which the costs are fitted."""

VALIDATED = tuple(range(2, 21, 2))
"""Numbers of groups of all runs of a validation (Anderson 2013, ch. 3)."""

TIME = Metric("Time: ([0-9.]+)", "time", "s")
"""The time that hackbench prints, in seconds."""

POLICIES = ("other", "batch")
"""The policies of the fitted sizes: waking batch tasks preempt no other, so that the cost of a switch shows."""

GROUP = 40
"""The number of tasks in a group of hackbench."""

QUARTER = 0.6745
"""The upper quartile of a normal distribution, in standard deviations."""

JITTER = 0.05
"""The jitter of each step in the model, where its name gives none: messages do not take exactly equal times."""

SEEDS, MOST_SEEDS, PRECISE = 4, 40, 0.01
"""Simulations of each size with different seeds, in each step of the fit and at most, and the relative error of the
mean that is precise enough."""

FARTHEST = 20
"""A simulation is cut off after this multiple of the measured time."""

Said = Callable[[str], None]
Heard = Callable[[list[list[float]]], None]


class CalibrationCase(NamedTuple):
    """A number of groups of tasks of a policy."""

    groups: int
    policy: str = "other"

    @property
    def fitted(self) -> bool:
        """Whether costs are fitted to this case."""
        return self.groups in FITTED


FITTED_CASES = [CalibrationCase(count, policy) for policy in POLICIES for count in FITTED]
ALONE, PAIR = CalibrationCase(1), CalibrationCase(2)
"""A group alone, and two groups: the times that the bootstrapped model of groups starts from."""

VALIDATED_CASES = [*FITTED_CASES, ALONE, *(CalibrationCase(count) for count in VALIDATED if count not in FITTED)]


def calibrate_simulation(
    host: str,
    *,
    simulator: str = "sim:eevdf",
    validate: bool = False,
    loops: int = 100,
    runs: int = 8,
    budget: float | str | None = None,
    seed: int = 1,
    say: Said | None = None,
) -> Calibration:
    """Fit the costs of a simulated scheduler to runs of hackbench on a host.

    Arguments:
        host: where hackbench runs: local, guest:6.1, ssh://….
        simulator: the model: sim:cfs for kernels before 6.6, else sim:eevdf, with the host's number of CPUs.
        validate: run 1, 2, 4, …, 20 groups, too, and report how well two methods predict those times: the costs of 2
            and 6 groups, and the speed of two groups next to each other, as for programs measured as a whole.
        loops: the number of messages that each sender sends to each receiver of its group.
        runs: the number of runs of each size, after a first one that is not counted.
        budget: the time (seconds, "5min") after which only the first two runs of each fitted size are still made; other
            sizes without two runs by then count as not reached.
        seed: the seed of the order of the runs.
        say: called with a sentence about progress.

    Raises UsageError, MachineError; WorkloadError when hackbench is missing or fails.
    """
    if runs < 2 or loops < 1:
        raise UsageError("A calibration needs 2 runs of each size or more, and 1 loop or more.")
    cases = VALIDATED_CASES if validate else FITTED_CASES
    limit_ns = None if budget is None else duration_ns(budget)
    scheduler(simulator).close()
    times = measured(
        host, *work_of(cases, loops), runs, limit_ns, seed, say or (lambda _: None), needed=len(FITTED_CASES)
    )
    return calibrated(host, simulator, loops, dict(zip(cases, times, strict=True)))


def work_of(cases: Sequence[CalibrationCase], loops: int) -> tuple[list[tuple[str, ...]], list[Settings]]:
    """Return the command lines and settings of cases."""
    programs = [hackbench(case.groups, loops) for case in cases]
    return programs, [Settings() if case.policy == "other" else Settings.of({"policy": case.policy}) for case in cases]


def calibrated(host: str, simulator: str, loops: int, times: Mapping[CalibrationCase, Sequence[float]]) -> Calibration:
    """Return costs fitted to the fitted cases among measured ones (ns each), and their predictions of the others.

    A case that ran less than twice was not reached: it is named, and left out. Raises UsageError.
    """
    means = {case: middle(case_times) for case, case_times in times.items() if len(case_times) > 1}
    with scheduler(simulator) as model:
        jitter = model.machine.get("jitter") or JITTER

        def simulated(costs: Costs, case: CalibrationCase, seeds: range) -> list[dict[str, Any]]:
            work = {"hackbench": {"groups": case.groups, "loops": loops, "class": case.policy}}
            base = model.model()
            machine = {**base["machine"], **costs.options, "jitter": jitter}
            # With a switch as long as a slice no task would get anywhere: such costs are only cut off.
            request = {"workload": work, **base, "machine": machine, "until_ns": round(FARTHEST * means[case][0])}
            return [model.engine.simulate({**request, "seed": model.seed + seed}) for seed in seeds]

        costs = fit(
            {case: mean for case, mean in means.items() if case.fitted},
            lambda costs, case: taken(simulated(costs, case, range(SEEDS)), costs),
        )
        sizes = []
        for case in sorted(means.keys() - {ALONE}, key=lambda case: (POLICIES.index(case.policy), case.groups)):
            simulated_time = _precise(simulated, costs, case)
            sizes.append(
                Size(case.groups, *means[case], simulated_time.ns, case.fitted, case.policy, simulated_time.error_ns)
            )
        options = {**model.machine, "kernel": model.kernel, **costs.options, "jitter": jitter}
        seed = f":{model.seed}" if model.seed else ""
        usual = [size for size in sizes if size.policy == "other"]
        whole = _bootstrapped(model, usual, means, times)
    squared, possible = r_squared(usual) or (None, None)
    name = f"sim:{model.policy}?{'&'.join(f'{key}={value}' for key, value in options.items())}{seed}"
    missed = tuple(sorted(case.groups for case in times if case not in means and case != ALONE))
    fair = None if squared is None else adjust_r_squared(squared, len(usual))
    return Calibration(host, name, loops, costs, tuple(sizes), squared, possible, missed, fair, whole)


def _bootstrapped(
    model: SchedulerHost,
    sizes: Sequence[Size],
    means: Mapping[CalibrationCase, tuple[float, float]],
    times: Mapping[CalibrationCase, Sequence[float]],
) -> Bootstrapped | None:
    """Simulate groups as programs measured as a whole (Anderson 2013, ch. 3); None without runs of one and two groups.

    Deg(group, group) = alone / combined (3.1), where a pair ends when both have.
    """
    if ALONE not in means or PAIR not in means:
        return None
    speed = min(1.0, means[ALONE][0] / means[PAIR][0])
    base = model.model()
    cpus = base["machine"]["cpus"]
    row = {
        "name": "group",
        "solo": [
            f"{round(value)}ns" for value in np.quantile(times[ALONE], np.linspace(0, 1, min(9, len(times[ALONE]))))
        ],
        "busy": float(cpus),
        "threads": GROUP,
        "alongside": {"group": max(speed, 0.01)},
    }
    played = []
    for size in sizes:
        document = {"cpus": cpus, "measured": [{**row, "count": size.groups}]}
        request = {"workload": {"tasks": states.of_document(document, "groups")}, **base}
        ends = [model.engine.simulate({**request, "seed": model.seed + seed})["end_ns"] for seed in range(SEEDS)]
        played.append(replace(size, simulated_ns=statistics.fmean(ends)))
    squared, _ = r_squared(played) or (None, None)
    fair = None if squared is None else adjust_r_squared(squared, len(played))
    return Bootstrapped(speed, tuple((size.groups, size.simulated_ns) for size in played), squared, fair)


def taken(engine_summaries: Sequence[Mapping[str, Any]], costs: Costs) -> SimulatedTime:
    """Return the time in several summaries of the engine, with these costs (crates/becalm-sim/src/summary.rs)."""
    ends = [float(engine_summary["end_ns"]) for engine_summary in engine_summaries]
    paid = costs.options
    spent = [
        (
            engine_summary["run_ns"],
            engine_summary["wakeups"] * paid["wakeup_ns"],
            engine_summary["switches"] * paid["switch_ns"],
        )
        for engine_summary in engine_summaries
    ]
    capacity = sum(engine_summary["cpus"] * engine_summary["end_ns"] for engine_summary in engine_summaries)
    shares = tuple(sum(column) / capacity for column in zip(*spent, strict=True))
    error = statistics.stdev(ends) / math.sqrt(len(ends)) if len(ends) > 1 else 0.0
    return SimulatedTime(statistics.fmean(ends), error, shares)


def _precise(
    simulated: Callable[[Costs, CalibrationCase, range], list[dict[str, Any]]], costs: Costs, case: CalibrationCase
) -> SimulatedTime:
    """Simulate with as many seeds as make the mean precise, within bounds."""
    runs: list[dict[str, Any]] = []
    while True:
        runs += simulated(costs, case, range(len(runs), len(runs) + SEEDS))
        result = taken(runs, costs)
        if result.error_ns <= PRECISE * result.ns or len(runs) >= MOST_SEEDS:
            return result


def middle(times: Sequence[float]) -> tuple[float, float]:
    """Return the median and its standard error, ns.

    Other load makes single runs much longer, so the spread is that of the middle half, and the error of a median of
    normal values is sqrt(pi / 2) times that of a mean.
    """
    quarters = np.quantile(times, (0.25, 0.75)) / QUARTER
    spread = float(quarters[1] - quarters[0]) / 2
    return statistics.median(times), math.sqrt(math.pi / 2) * spread / math.sqrt(len(times))


def hackbench(groups: int, loops: int) -> tuple[str, ...]:
    """Return the command line of hackbench."""
    return ("hackbench", "-g", str(groups), "-l", str(loops))


def measured(
    name: str,
    programs: Sequence[tuple[str, ...]],
    settings: Sequence[Settings],
    runs: int,
    limit_ns: int | None,
    seed: int,
    say: Said,
    *,
    needed: int = 0,
    heard: Heard = lambda times: None,
) -> list[list[float]]:
    """Return times of each command line of hackbench under its settings, ns: all of them in random order, repeatedly.

    The very first run is extra, and is not counted. After `limit_ns` no run is begun, except for two of each of the
    first `needed` command lines, which come first in each round. `heard` is called with the times after each run.
    """
    metrics = () if name.startswith("sim:") else (TIME,)
    rng = np.random.default_rng(seed)
    result: list[list[float]] = [[] for _ in programs]
    begun = system_clock.monotonic_ns()
    with hosts.open(name) as host:
        host.define([Workload(argv=argv, metrics=metrics) for argv in programs], list(settings))
        say(f"{len(programs)} runs of hackbench on {name} a round, {runs} rounds.")
        _run(host, 0, 0, -1)
        number = 0
        for turn in range(runs):
            first, rest = rng.permutation(needed), needed + rng.permutation(len(programs) - needed)
            for which in (*first, *rest):
                over = limit_ns is not None and system_clock.monotonic_ns() - begun > limit_ns
                if over and (which >= needed or turn > 1):
                    continue
                number += 1
                result[which].append(_run(host, number, int(which), turn))
                heard(result)
    return result


def _run(host: Host, number: int, which: int, turn: int) -> float:
    """Return the time of one run, ns. Raises UsageError when it failed."""
    (run,) = runs_of(host.measure(MeasureRequest(number, Block((Step(which, which, 0, turn),)))))
    if run.outcome != "ok":
        raise UsageError(f"hackbench did not end well on {host.name}: {run.outcome}.")
    return float(run.took_ns) if run.metrics is None else 1e9 * run.metrics[0]
