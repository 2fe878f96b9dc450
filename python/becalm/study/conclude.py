"""The verdict of a study of programs: a function of the study, its history with the looks at it, and its loads.

`conclude` makes the verdict when a study is measured, when it is shown again, and for each of several hosts;
`conclude_stored` first repeats the looks of a stored study (`becalm.study.looks.replay`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from becalm.analysis.diagnostics import contaminated, failure_numbers, outliers, series_findings, unknown
from becalm.analysis.limit import decides_ns, gate
from becalm.analysis.summaries import averages, left_behind, summarise
from becalm.errors import Interrupted, WorkloadError
from becalm.load.record import Series
from becalm.nouns.codec import plain_dict
from becalm.nouns.finding import Finding
from becalm.nouns.metric import MEMORY
from becalm.nouns.option import StudyOptions
from becalm.nouns.options.measuring import CompareOptions, ImportOptions, RunOptions
from becalm.nouns.run import Averages, Outcome, Run
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.plans.history import History
from becalm.plans.schedule import BackToTurns
from becalm.report.document import Document
from becalm.results.compare import Difference, Gate, MetricDifference, Summary, Verdict
from becalm.stats.arrays import Floats, Positions, among
from becalm.study.looks import Looks, replay
from becalm.study.study_data import AVERAGED, DocumentData, StudyData
from becalm.wording import compare, run_problems
from becalm.wording.findings import finding

UNTIMED: Final[Any] = dict.fromkeys(
    ("mean_ns", "median_ns", "cv", "sd_ns", "min_ns", "max_ns", "user_ns", "system_ns", "wait_ns", "max_rss_bytes")
)
"""Fields of a summary that are not properties of the program while callgrind executes it."""


def conclude(
    looks: Looks,
    data: StudyData,
    number: int | None,
    baseline: Sequence[Difference] = (),
    noticed: Sequence[Finding] = (),
) -> Verdict:
    """Return the verdict of a study that has ended, was stopped or was interrupted.

    `number`: the study's number for the person; None when it is not stored. `baseline`: comparisons with stored runs.
    `noticed`: findings on settings and on programs that ran alongside others, made while the study was measured.
    """
    looks.end()
    history = looks.history
    findings: tuple[Finding, ...] = ()
    if history.failure is not None:
        findings += (failure(looks, history.failure, data),)
    if looks.history.metric is not None:
        # Findings on the series of times, and on outliers, would not be about the compared metric.
        findings += _counter_findings(looks, data)
    elif looks.study.kind == "run":
        findings += series_findings(looks.names[0], history, data.columns, loads=data.own_loads())
    else:
        loads = data.own_loads()
        for index, program in enumerate(looks.names):
            findings += outliers(program, history, data.columns, index, loads, several=True)
    name = looks.names[0] if len(looks.names) == 1 else ""
    findings += tuple(finding(kind, plain_dict(waits), name) for kind, waits in data.waits())
    verdict = _verdict(
        looks, number, _summaries(looks, data), (*findings, *general_findings(looks, data), *noticed), baseline
    )
    return replace(verdict, further=_further_differences(looks, data))


def interim(looks: Looks, number: int | None) -> Verdict:
    """Return the verdict of the last look, for the progress display."""
    return _verdict(looks, number, [] if looks.summary is None else [looks.summary])


def conclude_stored(document: Document) -> Verdict:
    """Return the verdict of a stored `run` or `compare` without one: repeat its looks, then conclude as ever."""
    options = (CompareOptions if document.study.kind == "compare" else RunOptions).from_json(document.study.options)
    looks = replay(document.study, options, document.runs, document.loads)
    return _with_circumstances(
        conclude(looks, DocumentData(document), document.number, noticed=document.noticed), document
    )


def _with_circumstances(verdict: Verdict, document: Document) -> Verdict:
    """Return the verdict with the time, the machine and the commands of the measurement."""
    from becalm.study.circumstances import circumstances  # A measurement starts without it.

    return replace(verdict, circumstances=circumstances(document.study, document.facts, document.created_ns))


def summarise_stored(document: Document) -> Verdict:
    """Return a verdict with each program by itself, for a study measured by another plan or by another tool."""
    study, data = replace(document.study, kind="run"), DocumentData(document)
    looks = Looks(study, RunOptions.from_json(study.options))
    looks.history.extend(document.runs)
    looks.see(document.runs, document.loads)
    looks.look_at_load()
    summaries, recorded = [], _memory_series(study, data)
    imported = None if document.environment == "known" else ImportOptions.from_json(study.options)
    for index, name in enumerate(looks.names):
        # Such a study may lack rounds in which every program ran once.
        workload = study.workloads[index]
        alone = History(1, workload.metrics[0] if workload.metrics else None)
        alone.extend(run._replace(workload=0, round=place) for place, run in enumerate(data.runs(index)))
        summaries.append(
            summarise(
                name, alone, 0, _with_means(data.averages(index), imported, index), looks.options.confidence,
                workload=workload, printed=data.metrics(index)[1] if workload.metrics else None,
                memory=_memory(recorded, alone.seqs(0)),
            )
        )  # fmt: skip
    verdict = _verdict(
        looks,
        document.number,
        [summary for summary in summaries if summary is not None],
        (*general_findings(looks, data), *document.noticed),
    )
    verdict = _with_circumstances(verdict, document)
    if document.environment == "known":
        return verdict
    findings = (*verdict.findings, finding("imported", {"source": "" if imported is None else imported.source}))
    # The times of these runs' starts are unknown: the sum of their wall times is the only elapsed time there is.
    taken = [run.wall_ns for run in document.runs if run.wall_ns is not None]
    elapsed_ns = sum(taken) if len(taken) == len(document.runs) else None
    return _with_sentences(replace(verdict, elapsed_ns=elapsed_ns, findings=findings))


def _with_means(averages: Averages, imported: ImportOptions | None, program: int) -> Averages:
    """Return averages of runs, with the mean CPU times that the other tool reported for all runs together."""
    if imported is None or averages.user_ns is not None:
        return averages
    user, system = (dict(enumerate(times_ns)).get(program) for times_ns in (imported.user_ns, imported.system_ns))
    return replace(averages, user_ns=user, system_ns=system)


def _counter_findings(looks: Looks, data: StudyData) -> tuple[Finding, ...]:
    """Return findings on whether a compared program executes more instructions, or slower ones."""
    options = looks.options
    if not isinstance(options, CompareOptions) or len(looks.study.workloads[0].metrics) < 2:
        return ()
    from becalm.analysis.instructions import instruction_findings  # A comparison of times starts without it.

    return instruction_findings(
        looks.names, looks.study.workloads, looks.history, data.metrics, looks.comparison.reference, options.confidence
    )


def _further_differences(looks: Looks, runs: StudyData) -> tuple[MetricDifference, ...]:
    """Return the differences in the metrics that are recorded next to the compared one."""
    options = looks.options
    if not isinstance(options, CompareOptions) or len(looks.study.workloads[0].metrics) < 2:
        return ()
    from becalm.analysis.further_metrics import further_differences  # A comparison of times starts without it.

    return further_differences(
        looks.names, looks.study.workloads, looks.history, runs.metrics, looks.comparison.reference, options.confidence
    )


def _memory_series(study: Study, data: StudyData) -> Sequence[Series]:
    """Return the series of the runs where a metric of memory is recorded; otherwise none."""
    specs = [metric.spec for workload in study.workloads for metric in workload.metrics]
    return data.series() if any(spec.startswith(MEMORY) for spec in specs) else ()


def _memory(recorded: Sequence[Series], seqs: Positions) -> tuple[tuple[float, float], ...]:
    """Return the memory over time of one of these runs, as pairs; empty where it was not recorded."""
    if not recorded:
        return ()
    from becalm.analysis.run_memory import memory_course  # A comparison of times starts without it.

    return memory_course(recorded, seqs)


def _summaries(looks: Looks, data: StudyData) -> list[Summary]:
    recorded = _memory_series(looks.study, data)
    maybe_summaries = (
        summarise(
            name,
            looks.history,
            index,
            _averages(looks, data, index),
            looks.options.confidence,
            workload=looks.study.workloads[index],
            printed=_printed(looks, data, index),
            memory=_memory(recorded, looks.history.seqs(index)),
        )
        for index, name in enumerate(looks.names)
    )
    summaries = [summary for summary in maybe_summaries if summary is not None]
    return [replace(summary, **UNTIMED) for summary in summaries] if looks.exact else summaries


def _printed(looks: Looks, data: StudyData, program: int) -> Floats | None:
    """Return the metrics of a program in the rounds that count, shape (runs, metrics); None without metrics."""
    if looks.history.metric is None:
        return None
    seqs, values = data.metrics(program)
    return values[among(seqs, looks.history.seqs(program))]


def _averages(looks: Looks, data: StudyData, program: int) -> Averages:
    if not looks.history.dropped:
        return data.averages(program)
    columns = data.columns(program, ("seq", *AVERAGED))
    mine = among(columns["seq"], looks.history.seqs(program))
    return averages({name: columns[name][mine] for name in AVERAGED})


def general_findings(looks: Looks, runs: StudyData) -> tuple[Finding, ...]:
    """Return the findings that do not depend on the plan of the study."""
    history, strict = looks.history, looks.options.unknown_contamination == "drop"
    # A round that was begun and not finished does not count.
    contaminated_rounds, unknown_rounds = (
        looks.contaminated.among(history.finished),
        looks.unknown.among(history.finished),
    )
    return (
        *emulated(looks.options),
        *_settings_findings(looks),
        *_neighbour_findings(looks),
        *_schedule_findings(looks, runs),
        *left_behind(looks.names, looks.history),
        *(() if looks.exact else contaminated(*contaminated_rounds, looks.rule, history.complete, looks.drops)),
        *(() if looks.exact else unknown(*unknown_rounds, looks.rule, history.complete, strict)),
    )


def emulated(options: StudyOptions) -> tuple[Finding, ...]:
    """Return the finding that the times are not those of a real processor; nothing where they are."""
    return (finding("emulated", {"reason": options.emulated}),) if options.emulated else ()


def _settings_findings(looks: Looks) -> tuple[Finding, ...]:
    """Return the finding on the settings that were applied during the runs; nothing where there were none."""
    settings, standing = (values.to_json() for values in (looks.study.settings[0], looks.options.standing))
    return (finding("settings", {"settings": settings, "standing": standing}),) if settings or standing else ()


def _neighbour_findings(looks: Looks) -> tuple[Finding, ...]:
    """Return the findings on neighbours, one for each set of neighbours and CPUs."""
    names_by_neighbours = {
        (tuple(near.workload.name for near in workload.alongside), workload.alongside_cpus): name
        for name, workload in zip(looks.names, looks.study.workloads, strict=True)
        if workload.alongside
    }
    alike = len(names_by_neighbours) == 1 and all(workload.alongside for workload in looks.study.workloads)
    return tuple(
        finding("neighbours", {"neighbours": list(names), "cpus": cpus}, "" if alike else name)
        for (names, cpus), name in names_by_neighbours.items()
    )


def _schedule_findings(looks: Looks, runs: StudyData) -> tuple[Finding, ...]:
    """Return the findings on whether programs ran at the same time, where that was requested."""
    options = looks.options
    if not isinstance(options, CompareOptions):
        return ()
    if options.turns_because:
        return (finding("turns", {"reason": options.turns_because}),)
    if looks.schedules is None:
        return ()
    back = looks.schedules.groups.choice.back
    if options.schedule is None and back not in (None, BackToTurns.FAILED):
        return ()  # Without a request everybody expects turns.
    from becalm.analysis.alongside import alongside_findings  # Programs that take turns start without it.

    columns = [runs.columns(program, ("apart_ns",))["apart_ns"] for program in range(len(looks.names))]
    return alongside_findings(looks.schedules, looks.history, np.concatenate(columns))


def nothing_measured(
    rows: Sequence[Run], workloads: Sequence[Workload], texts: Mapping[int, tuple[str, str]]
) -> WorkloadError | Interrupted:
    """Return the error for a study without a run that counts, if the study continues after a program fails."""
    failed = next((run for run in rows if run.outcome not in (Outcome.OK, Outcome.ABORTED)), None)
    if failed is None:
        return Interrupted("Interrupted before the first round was finished: there is no result yet.")
    stderr = texts.get(failed.seq, ("", ""))[0]
    program = workloads[failed.workload]
    return WorkloadError(run_problems.failure(program.name, failure_numbers(failed, stderr, 0, program)))


def failure(looks: Looks, failed: Run, data: StudyData) -> Finding:
    """Return the finding on a failed run, with its program's output."""
    stderr = data.texts().get(failed.seq, ("", ""))[0]
    numbers = failure_numbers(failed, stderr, looks.history.rounds, looks.study.workloads[failed.workload])
    return finding("failure", numbers, looks.names[failed.workload])


def _verdict(
    looks: Looks,
    number: int | None,
    summaries: Sequence[Summary],
    findings: Sequence[Finding] = (),
    baseline: Sequence[Difference] = (),
) -> Verdict:
    """Return the verdict of the last look, with its sentences."""
    study, options = looks.study, looks.options
    compared = options if isinstance(options, CompareOptions) else CompareOptions()
    limit, elapsed_ns = compared.fail_above, looks.history.elapsed_ns
    differences = (*looks.comparison.differences, *baseline)
    decision = gate(differences, limit)
    return _with_sentences(
        Verdict(
            kind=study.kind,
            study=number,
            host=study.host,
            elapsed_ns=elapsed_ns,
            stopped=looks.reason,
            confidence=options.confidence,
            summaries=tuple(summaries),
            differences=differences,
            findings=tuple(findings),
            fail_above=limit,
            gate=decision,
            undecided=compared.undecided,
            decides_ns=None
            if limit is None or decision is not Gate.UNDECIDED
            else decides_ns(differences, limit, elapsed_ns),
            ranking=looks.ranking.result(looks.history),
            seed=study.seed,
            metric=looks.history.metric,
        )
    )


def _with_sentences(verdict: Verdict) -> Verdict:
    """Return the verdict with its sentences."""
    differences = tuple(
        replace(difference, sentence=compare.difference(difference, verdict.elapsed_ns))
        for difference in verdict.differences
    )
    return replace(
        verdict, differences=differences, sentence=compare.verdict(replace(verdict, differences=differences))
    )
