"""`becalm survey`: the same work on many machines, and which of them are slower or noisier than their peers.

Every machine is a study of its own in the store, as in `becalm.study.multi_host`, which runs the threads and handles
failures. The work is the same on all machines: built-in kernels of a fixed number of iterations, and optionally a
command.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from becalm.analysis.diagnostics import failure_numbers
from becalm.analysis.survey import UNKNOWN, conclude
from becalm.errors import Interrupted, MachineError, UsageError, WorkloadError
from becalm.hosts import Host
from becalm.nouns.options.survey import KERNELS, LEAST_LOOPS, SurveyOptions
from becalm.nouns.run import Block
from becalm.nouns.signature import takes
from becalm.nouns.stopping_rule import StoppingRule
from becalm.nouns.study import Study
from becalm.nouns.workload import CommandLine, Workload
from becalm.plans.history import History
from becalm.plans.loops import loops
from becalm.report.document import Document
from becalm.results.progress import ProgressListener
from becalm.results.survey import Machine, SurveyResult
from becalm.study.measure import measure
from becalm.study.multi_host import machines, on_hosts
from becalm.study.session import open_session
from becalm.study.session_options import SessionOptions, split_keywords
from becalm.study.study_data import DocumentData, StoredData, StudyData
from becalm.wording import run_problems

if TYPE_CHECKING:
    from becalm.verbs.keywords import SurveyKeywords

WARMUPS = 2


@takes(SurveyOptions, CommandLine, Workload, SessionOptions, without=("host",))
def survey(
    hosts: Sequence[str | Host],
    command: str | Iterable[str] | Workload | None = None,
    *,
    cluster: str | None = None,
    **keywords: Unpack[SurveyKeywords],
) -> SurveyResult:
    """Measure the same work on many machines and name those that are slower or noisier than their peers.

    Arguments:
        hosts: names of hosts, or open ones.
        command: work in addition to the built-in kernels.
        cluster: all workers of a Dask cluster, too (docs/how-to/cluster.md).

    Returns a SurveyResult, which names the machines without results. Raises UsageError; MachineError or WorkloadError
    when no machine has a result.
    """
    options, session, program = split_keywords(SurveyOptions, keywords)
    works = [KERNELS[name] for name in options.kernels]
    works += [] if command is None else [Workload.of(command, **program)]
    if not works:
        raise UsageError("There is nothing to measure: no kernel, and no command.")
    group = secrets.token_hex(8)
    grouped = replace(options, group=group)
    with machines(hosts, cluster, session.listener) as named:

        def one(host: str | Host, heard: ProgressListener) -> Machine:
            return _measured(works, grouped, session.on(host, heard))

        measured = on_hosts(named, one, session)
    machines_ = [measurement.verdict for measurement in measured if isinstance(measurement.verdict, Machine)]
    lost = {measurement.host: measurement.lost for measurement in measured if measurement.lost}
    interrupted = any(measurement.exit_code == Interrupted.exit_code for measurement in measured)
    return _together(machines_, lost, grouped, interrupted)


def _measured(works: Sequence[Workload], options: SurveyOptions, session: SessionOptions) -> Machine:
    """Return one machine. Raises BecalmError when it did not finish LEAST_LOOPS loops."""
    study = session.study("survey", works, options)
    rng = np.random.default_rng(study.seed)
    history = History(len(works))

    def plan(history: History) -> Block | None:
        return loops(history, options.loops, options.runs_of_loop, WARMUPS, rng)

    with open_session(session, "becalm survey") as opened:
        study = opened.fitted(study)
        opened.host.define(study.workloads, study.settings)
        number = opened.begin(study)
        goal = StoppingRule(runs=options.loops * options.runs_of_loop, warmup=WARMUPS)
        session.listener.started(opened.shown, [work.name for work in works], goal)
        measure(opened.host, plan, history, opened.take, detail=opened.detail)
        opened.settle()
        return machine_of(study, history, StoredData(opened.store, number), opened.host.facts(), opened.shown)


def conclude_stored(documents: Sequence[Document], single: Callable[[Document], object]) -> SurveyResult:
    """Return the joint result of the stored machines of one survey, without each machine's own result (`single`).

    Raises MachineError when no machine was measured long enough.
    """
    result: list[Machine] = []
    lost: dict[str, str] = {}
    interrupted = False
    for document in documents:
        history = History(len(document.study.workloads))
        history.extend(document.runs)
        try:
            in_document = DocumentData(document)
            result.append(machine_of(document.study, history, in_document, document.facts, document.number))
        except (MachineError, WorkloadError) as error:
            lost[document.study.host] = str(error)
            interrupted |= isinstance(error, Interrupted)
    if not result:
        raise MachineError("None of these machines was measured long enough to say something.")
    options = SurveyOptions.from_json(documents[-1].study.options)
    return _together(result, lost, options, interrupted)


def _together(
    survey_machines: list[Machine], lost: dict[str, str], options: SurveyOptions, interrupted: bool
) -> SurveyResult:
    """Return the joint result of machines. `interrupted`: one of the lost machines was interrupted."""
    return conclude(
        survey_machines,
        lost,
        group=options.group,
        rate=options.fdr,
        at_least=options.at_least,
        loops=options.loops,
        interrupted=interrupted,
    )


def machine_of(
    study: Study, history: History, study_data: StudyData, facts: Mapping[str, Any], number: int | None
) -> Machine:
    """Return the machine of a study's runs.

    Raises WorkloadError when a run failed, Interrupted when there are too few.
    """
    runs = SurveyOptions.from_json(study.options).runs_of_loop
    whole = history.rounds // runs
    if history.failure is not None:
        failed = history.failure
        stderr = study_data.texts().get(failed.seq, ("", ""))[0]
        numbers = failure_numbers(failed, stderr, history.rounds)
        raise WorkloadError(run_problems.failure(study.workloads[failed.workload].name, numbers))
    if whole < LEAST_LOOPS:
        raise Interrupted(f"It ended after {whole} loops; {LEAST_LOOPS} are needed.")
    times = {
        workload.name: history.wall_ns(index)[: whole * runs].astype(np.float64).reshape(whole, runs)
        for index, workload in enumerate(study.workloads)
    }
    waited, spent = 0.0, 0.0
    for index, workload in enumerate(study.workloads):
        if workload.kernel == "read":
            # The time to fill its table is not measured, but waiting for a CPU meanwhile is.
            continue
        columns = study_data.columns(index, ("wait_ns", "wall_ns"))
        waited += float(columns["wait_ns"].sum())
        spent += float(columns["wall_ns"].sum())
    model = (facts.get("cpu") or {}).get("model")
    share = None if np.isnan(waited) or spent == 0 else waited / spent
    kind = str(model) if model else UNKNOWN
    return Machine(study.host, kind, number, times, share, str(study.options.get("emulated", "")))
