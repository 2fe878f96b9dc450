"""`becalm simulate --calibrate HOST`, `--validate HOST`: fit the model's costs to real runs, and try what they predict.

hackbench runs on the host with several numbers of groups, in random order. It says itself how long it took from the
start signal to the end, which is what is simulated: making the tasks is not.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from becalm import hosts
from becalm.analysis.simulator_fit import fit, r_squared
from becalm.errors import UsageError
from becalm.hosts import MeasureRequest, runs_of
from becalm.nouns.calibration import Calibration, Costs, Size
from becalm.nouns.metric import Metric
from becalm.nouns.run import Block, Run, Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.units import duration_ns
from becalm.verbs.simulate import scheduler

FITTED = (2, 6)
"""Groups of the runs that the costs are fitted to."""

VALIDATED = tuple(range(2, 21, 2))
"""Groups of all runs of a validation (Anderson 2013, ch. 3)."""

TIME = Metric("Time: ([0-9.]+)", "time", "s")
"""What hackbench prints of itself, in seconds."""

POLICIES = ("other", "batch")
"""Under both the fitted sizes are run: batch tasks that wake preempt nobody, so that the cost of a switch shows."""

Said = Callable[[str], None]


class Case(NamedTuple):
    """So many groups of tasks of a policy."""

    groups: int
    policy: str


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
        validate: run 2, 4, …, 20 groups, too, and say how well the costs of 2 and 6 predict those.
        loops: messages that each sender sends to each receiver of its group.
        runs: of each number of groups, after one that is not counted.
        budget: no more runs after so long (seconds, "5min") than two of each.
        seed: of the order of the runs.
        say: told what is going on.

    Raises UsageError, MachineError; WorkloadError when hackbench is not there or fails.
    """
    if runs < 2 or loops < 1:
        raise UsageError("A calibration needs 2 runs of each size or more, and 1 loop or more.")
    groups = VALIDATED if validate else FITTED
    with scheduler(simulator) as model:

        @cache
        def simulated(costs: Costs, case: Case) -> float:
            work = {"hackbench": {"groups": case.groups, "loops": loops, "class": case.policy}}
            base = model.model()
            asked = {"workload": work, **base, "machine": {**base["machine"], **costs.options}}
            return float(model.engine.simulate(asked)["end_ns"])

        cases = [Case(count, policy) for policy in POLICIES for count in groups if policy == "other" or count in FITTED]
        limit_ns = None if budget is None else duration_ns(budget)
        programs = [hackbench(case.groups, loops) for case in cases]
        settings = [Settings() if case.policy == "other" else Settings.of({"policy": case.policy}) for case in cases]
        times = measured(host, programs, settings, runs, limit_ns, seed, say or (lambda _: None))
        means = {case: _mean(each) for case, each in zip(cases, times, strict=True)}
        costs = fit({case: means[case] for case in cases if case.groups in FITTED}, simulated)
        sizes = tuple(
            Size(case.groups, *means[case], simulated(costs, case), case.groups in FITTED, case.policy)
            for case in cases
        )
        options = {**model.machine, **costs.options}
    fits = r_squared([each for each in sizes if each.policy == "other"])
    name = f"sim:{model.policy}?{'&'.join(f'{key}={value}' for key, value in options.items())}"
    return Calibration(host, name, loops, costs, sizes, *(fits or (None, None)))


def _mean(times: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error, ns."""
    return statistics.fmean(times), statistics.stdev(times) / math.sqrt(len(times))


def hackbench(groups: int, loops: int) -> tuple[str, ...]:
    """Its command line."""
    return ("hackbench", "-g", str(groups), "-l", str(loops))


def measured(
    name: str,
    programs: Sequence[tuple[str, ...]],
    settings: Sequence[Settings],
    runs: int,
    limit_ns: int | None,
    seed: int,
    say: Said,
) -> list[list[float]]:
    """Times of each command line of hackbench under its settings, ns: all of them in random order, again and again.

    The first round is not counted. After `limit_ns` no round is begun but for the second one that counts.
    """
    metrics = () if name.startswith("sim:") else (TIME,)
    rng = np.random.default_rng(seed)
    found: list[list[float]] = [[] for _ in programs]
    begun = time.monotonic_ns()
    with hosts.open(name) as host:
        host.define([Workload(argv=argv, metrics=metrics) for argv in programs], list(settings))
        say(f"{len(programs)} runs of hackbench on {name} a round, {runs + 1} rounds.")
        for turn in range(runs + 1):
            if turn > 2 and limit_ns is not None and time.monotonic_ns() - begun > limit_ns:
                break
            steps = tuple(Step(int(which), int(which), 0, turn - 1) for which in rng.permutation(len(programs)))
            for run in runs_of(host.measure(MeasureRequest(turn * len(programs), Block(steps)))):
                if run.outcome != "ok":
                    raise UsageError(f"hackbench did not end well on {name}: {run.outcome}.")
                if not run.warmup:
                    found[run.workload].append(_time(run))
    return found


def _time(run: Run) -> float:
    return float(run.wall_ns) if run.metrics is None else 1e9 * run.metrics[0]
