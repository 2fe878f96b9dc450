"""`becalm survey`: the same work on many machines, and which of them are slower or noisier than their peers.

Every machine is a study of its own in the store, as in `becalm.study.multi_host`, whose threads and faults these are.
The work is the same on all of them: built-in kernels of a fixed number of iterations, and a command where one is given.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from becalm.analysis.diagnostics import failure_numbers
from becalm.analysis.survey import UNKNOWN, conclude
from becalm.errors import Interrupted, UsageError, WorkloadError
from becalm.nouns.history import History
from becalm.nouns.progress import ProgressListener
from becalm.nouns.run import Block, Step
from becalm.nouns.stopping_rule import StoppingRule
from becalm.nouns.study import Study
from becalm.nouns.survey import Machine, SurveyResult
from becalm.nouns.workload import Workload
from becalm.report.program_output import PassOn
from becalm.store import Store
from becalm.study.measure import measure
from becalm.study.multi_host import machines, on_hosts
from becalm.study.options import MeasureOptions
from becalm.study.options import options as sort_options
from becalm.study.session import open_session
from becalm.units import fraction
from becalm.wording import measurement

KERNELS = {
    "add": Workload(kernel="add", iterations=24_000_000, name="additions"),
    "read": Workload(kernel="read", iterations=1, name="memory reads"),
}
"""Built into the agent; one more is one row. The same iterations everywhere: 7 ms at 3.4 GHz, and 64 MiB."""

LEAST_LOOPS, LEAST_RUNS = 5, 2

WARMUPS = 2


def survey(
    hosts: Sequence[str],
    command: str | Iterable[str] | Workload | None = None,
    *,
    cluster: str | None = None,
    kernels: Sequence[str] = tuple(KERNELS),
    loops: int = 10,
    runs: int = 10,
    rate: float | str = 0.05,
    at_least: float | str = 0.01,
    **options: Any,
) -> SurveyResult:
    """Measure the same work on many machines and name those that are slower or noisier than their peers.

    Arguments:
        hosts: names of hosts; `cluster`: those of a cluster, too.
        command: more work than the built-in kernels.
        kernels: which of those.
        loops: how often the work is gone through, each time `runs` runs of each in a row.
        rate: share of the named that may be named wrongly, on average.
        at_least: a slowness below this is not named.
        options: as for `becalm.run`: store, sudo, user, timeout, directory, …

    Returns a SurveyResult; machines that give nothing are named in it. Raises UsageError; MachineError or WorkloadError
    when no machine gives anything.
    """
    if loops < LEAST_LOOPS or runs < LEAST_RUNS:
        raise UsageError(f"A survey takes --loops {LEAST_LOOPS} and --runs {LEAST_RUNS} at least.")
    measuring, workload = sort_options(options)
    if unknown := [name for name in kernels if name not in KERNELS]:
        raise UsageError(f"There is no kernel {unknown[0]!r}. There are: {', '.join(KERNELS)}.")
    works = [KERNELS[name] for name in kernels]
    works += [] if command is None else [Workload.of(command, **workload)]
    if not works:
        raise UsageError("There is nothing to measure: no kernel, and no command.")
    chosen = fraction(rate)
    if not 0 < chosen < 1:
        raise UsageError(f"--rate is a share between 0 and 1, for example 5%, not {rate}.")
    listener: ProgressListener = measuring.listener or PassOn()
    group = secrets.token_hex(8)
    named = {"rate": chosen, "at_least": fraction(at_least)}
    with machines(hosts, cluster, listener) as names:

        def one(host: str, heard: ProgressListener) -> Machine:
            return _measured(replace(measuring, host=host, listener=heard, group=group), works, named, loops, runs)

        measured = on_hosts(names, one, listener)
    found = [each.verdict for each in measured if isinstance(each.verdict, Machine)]
    lost = {each.host: each.lost for each in measured if each.lost}
    return conclude(found, lost, group=group, **named)


def _measured(
    measuring: MeasureOptions, works: Sequence[Workload], named: Mapping[str, float], loops: int, runs: int
) -> Machine:
    """One machine. Raises BecalmError when it did not get through LEAST_LOOPS loops."""
    goal = StoppingRule(runs=loops * runs, warmup=WARMUPS)
    study: Study = measuring.study("survey", works, goal, 0, None)
    study = replace(study, options={**study.options, **named, "loops": loops, "runs_of_loop": runs})
    rng = np.random.default_rng(study.seed)
    history = History(len(works))
    given = iter(range(-1, loops))

    def plan(history: History) -> Block | None:
        loop = next(given, None)
        return None if loop is None else _block(loop, len(works), runs, rng)

    with open_session(measuring, "becalm survey") as opened:
        opened.host.define(study.workloads, study.settings)
        number = opened.begin(study)
        measuring.listener.started(opened.shown, [each.name for each in works], goal)
        measure(opened.host, plan, history, opened.take, detail=opened.detail)
        opened.settle()
        found = machine_of_runs(opened.store, number, study, history, opened.host.facts())
        return found if opened.shown is not None else replace(found, study=None)


def _block(loop: int, works: int, runs: int, rng: np.random.Generator) -> Block:
    """One loop: each work `runs` times in a row, in random order of works; loop -1 warms up."""
    rounds = range(-WARMUPS, 0) if loop < 0 else range(loop * runs, (loop + 1) * runs)
    return Block(tuple(Step(int(work), 0, 0, number) for work in rng.permutation(works) for number in rounds))


def machine_of_runs(store: Store, number: int, study: Study, history: History, facts: Mapping[str, Any]) -> Machine:
    """What the runs of a study say of its machine. Raises WorkloadError when one failed, Interrupted when there are
    too few."""
    runs = int(study.options["runs_of_loop"])
    whole = history.rounds // runs
    if history.failure is not None:
        failed = history.failure
        stderr = store.texts(number).get(failed.seq, ("", ""))[0]
        raise WorkloadError(
            measurement.failure(study.workloads[failed.workload].name, failure_numbers(failed, stderr, history.rounds))
        )
    if whole < LEAST_LOOPS:
        raise Interrupted(f"It ended after {whole} loops; {LEAST_LOOPS} are needed.")
    times = {
        each.name: history.wall_ns(index)[: whole * runs].astype(np.float64).reshape(whole, runs)
        for index, each in enumerate(study.workloads)
    }
    waited, spent = 0.0, 0.0
    for index, each in enumerate(study.workloads):
        if each.kernel == "read":
            # Filling its table is not timed, waiting for a CPU meanwhile is.
            continue
        columns = store.columns(number, ("wait_ns", "wall_ns"), index)
        waited += float(columns["wait_ns"].sum())
        spent += float(columns["wall_ns"].sum())
    model = (facts.get("cpu") or {}).get("model")
    share = None if np.isnan(waited) or spent == 0 else waited / spent
    return Machine(study.host, str(model) if model else UNKNOWN, number, times, share)
