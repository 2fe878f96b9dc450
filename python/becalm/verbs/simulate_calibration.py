"""`becalm simulate --calibrate HOST`, `--validate HOST`: fit the model's costs to real runs, and try what they predict.

hackbench runs on the host with several numbers of groups, in random order. It says itself how long it took from the
start signal to the end, which is what is simulated: making the tasks is not.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import cache

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
from becalm.verbs.simulate import scheduler

FITTED = (2, 6)
"""Groups of the runs that the costs are fitted to."""

VALIDATED = tuple(range(2, 21, 2))
"""Groups of all runs of a validation (Anderson 2013, ch. 3)."""

TIME = Metric("Time: ([0-9.]+)", "time", "s")
"""What hackbench prints of itself, in seconds."""

Said = Callable[[str], None]


def calibrate_simulation(
    host: str,
    *,
    simulator: str = "sim:eevdf",
    validate: bool = False,
    loops: int = 100,
    runs: int = 8,
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
        seed: of the order of the runs.
        say: told what is going on.

    Raises UsageError, MachineError; WorkloadError when hackbench is not there or fails.
    """
    if runs < 2 or loops < 1:
        raise UsageError("A calibration needs 2 runs of each size or more, and 1 loop or more.")
    groups = VALIDATED if validate else FITTED
    with scheduler(simulator) as model:

        @cache
        def simulated(costs: Costs, count: int) -> float:
            work = {"hackbench": {"groups": count, "loops": loops}}
            base = model.model()
            asked = {"workload": work, **base, "machine": {**base["machine"], **costs.options}}
            return float(model.engine.simulate(asked)["end_ns"])

        times = _measured(host, groups, loops, runs, seed, say or (lambda _: None))
        means = {count: _mean(each) for count, each in times.items()}
        costs = fit({count: means[count] for count in FITTED}, simulated)
        sizes = tuple(Size(count, *means[count], simulated(costs, count), count in FITTED) for count in groups)
        options = {**model.machine, **costs.options}
    fits = r_squared(sizes)
    name = f"sim:{model.policy}?{'&'.join(f'{key}={value}' for key, value in options.items())}"
    return Calibration(host, name, loops, costs, sizes, *(fits or (None, None)))


def _mean(times: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error, ns."""
    return statistics.fmean(times), statistics.stdev(times) / math.sqrt(len(times))


def _measured(
    name: str, groups: Sequence[int], loops: int, runs: int, seed: int, say: Said
) -> Mapping[int, Sequence[float]]:
    """Times by number of groups, ns: every size once in random order, again and again, the first round not counted."""
    simulated = name.startswith("sim:")
    metrics = () if simulated else (TIME,)
    programs = [Workload(argv=("hackbench", "-g", str(each), "-l", str(loops)), metrics=metrics) for each in groups]
    rng = np.random.default_rng(seed)
    order = [Step(int(which), 0, 0, turn - 1) for turn in range(runs + 1) for which in rng.permutation(len(groups))]
    found: dict[int, list[float]] = {each: [] for each in groups}
    with hosts.open(name) as host:
        host.define(programs, [Settings()])
        say(f"{len(order)} runs of hackbench on {name}, {', '.join(map(str, groups))} groups.")
        for run in runs_of(host.measure(MeasureRequest(0, Block(tuple(order))))):
            if run.outcome != "ok":
                raise UsageError(f"hackbench did not end well on {name}: {run.outcome}.")
            if not run.warmup:
                found[groups[run.workload]].append(_time(run))
    return found


def _time(run: Run) -> float:
    return float(run.wall_ns) if run.metrics is None else 1e9 * run.metrics[0]
