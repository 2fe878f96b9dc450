"""The verdict of a study of programs: one function of the study, its history with the looks at it, and its loads.

`conclude` makes the verdict while a study is measured, when it is shown again, and of each of several hosts;
`conclude_stored` finds the looks of a stored study first (`becalm.study.looks.replay`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from becalm.analysis.compare import averages, decides_ns, gate, left_behind, summarise
from becalm.analysis.diagnostics import contaminated, failure_numbers, outliers, series_findings, unknown
from becalm.errors import Interrupted, WorkloadError
from becalm.load.record import Series
from becalm.nouns.finding import Finding
from becalm.nouns.metric import MEMORY
from becalm.nouns.option import StudyOptions
from becalm.nouns.options.measuring import CompareOptions, ImportOptions, RunOptions
from becalm.nouns.run import Averages, Outcome, Run
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.plans.history import History
from becalm.report.document import Document
from becalm.results.compare import Difference, Gate, MetricDifference, Summary, Verdict
from becalm.stats.arrays import Floats, Positions, among
from becalm.study.kept import AVERAGED, InDocument, Kept
from becalm.study.looks import Looks, replay
from becalm.wording import compare
from becalm.wording.findings import finding

UNTIMED: Final[Any] = dict.fromkeys(
    ("mean_ns", "median_ns", "cv", "sd_ns", "min_ns", "max_ns", "user_ns", "system_ns", "wait_ns", "max_rss_bytes")
)
"""Members of a summary that are not the program's own while callgrind executes it."""


def conclude(
    looks: Looks,
    kept: Kept,
    number: int | None,
    baseline: Sequence[Difference] = (),
    noticed: Sequence[Finding] = (),
) -> Verdict:
    """Return the verdict of a study, as far as it came.

    `number`: of the study, for the person; None when it is not kept. `baseline`: comparisons with another time.
    `noticed`: what settings and programs kept running beside others showed meanwhile.
    """
    looks.end()
    history = looks.history
    findings: tuple[Finding, ...] = ()
    if history.failure is not None:
        findings += (failure(looks, history.failure, kept),)
    if looks.history.metric is not None:
        # What the series of times shows, and why some were long, is not what is asked here.
        findings += _of_counters(looks, kept)
    elif looks.study.kind == "run":
        findings += series_findings(looks.names[0], history, kept.columns, loads=kept.own_loads())
    else:
        loads = kept.own_loads()
        for index, name in enumerate(looks.names):
            findings += outliers(name, history, kept.columns, index, loads, several=True)
    if (waits := kept.waiting()) is not None:
        name = looks.names[0] if len(looks.names) == 1 else ""
        findings += (finding("waits", waits.to_json(), name),)
    verdict = _verdict(looks, number, _summaries(looks, kept), (*findings, *_of_all(looks, kept), *noticed), baseline)
    return replace(verdict, further=_further(looks, kept))


def interim(looks: Looks, number: int | None) -> Verdict:
    """Return what the last look has shown, for the progress display."""
    return _verdict(looks, number, [] if looks.summary is None else [looks.summary])


def conclude_stored(document: Document) -> Verdict:
    """Return the verdict of a stored `run` or `compare` without one: the same looks again, then the same conclusion."""
    options = (CompareOptions if document.study.kind == "compare" else RunOptions).from_json(document.study.options)
    looks = replay(document.study, options, document.runs, document.loads)
    return _placed(conclude(looks, InDocument(document), document.number, noticed=document.noticed), document)


def _placed(verdict: Verdict, document: Document) -> Verdict:
    """Return the verdict with when, where and what was measured."""
    from becalm.study.circumstances import circumstances  # A measurement starts without it.

    return replace(verdict, circumstances=circumstances(document.study, document.facts, document.created_ns))


def summarise_stored(document: Document) -> Verdict:
    """Return each program by itself, for a study that was measured by another plan or by another tool."""
    study, kept = replace(document.study, kind="run"), InDocument(document)
    looks = Looks(study, RunOptions.from_json(study.options))
    looks.history.extend(document.runs)
    looks.see(document.runs, document.loads)
    looks.look_at_load()
    summaries, recorded = [], _recorded(study, kept)
    imported = None if document.environment == "known" else ImportOptions.from_json(study.options)
    for index, name in enumerate(looks.names):
        # Such a study need not have rounds in which every program ran once.
        workload = study.workloads[index]
        alone = History(1, workload.metrics[0] if workload.metrics else None)
        alone.extend(run._replace(workload=0, round=place) for place, run in enumerate(kept.runs(index)))
        summaries.append(
            summarise(
                name, alone, 0, _with_means(kept.averages(index), imported, index), looks.options.confidence,
                workload=workload, printed=kept.metrics(index)[1] if workload.metrics else None,
                memory=_memory(recorded, alone.seqs(0)),
            )
        )  # fmt: skip
    verdict = _verdict(
        looks,
        document.number,
        [summary for summary in summaries if summary is not None],
        (*_of_all(looks, kept), *document.noticed),
    )
    verdict = _placed(verdict, document)
    if document.environment == "known":
        return verdict
    findings = (*verdict.findings, finding("imported", {"source": "" if imported is None else imported.source}))
    # Nobody knows when these runs were made: what they took together is all the time there is.
    taken = [run.wall_ns for run in document.runs if run.wall_ns is not None]
    elapsed_ns = sum(taken) if len(taken) == len(document.runs) else None
    return _worded(replace(verdict, elapsed_ns=elapsed_ns, findings=findings))


def _with_means(averages: Averages, imported: ImportOptions | None, program: int) -> Averages:
    """Return averages of runs, with the mean CPU times that the tool told of them as a whole."""
    if imported is None or averages.user_ns is not None:
        return averages
    user, system = (dict(enumerate(each)).get(program) for each in (imported.user_ns, imported.system_ns))
    return replace(averages, user_ns=user, system_ns=system)


def _of_counters(looks: Looks, kept: Kept) -> tuple[Finding, ...]:
    """Return findings on whether one of the compared programs executes more instructions, or slower ones."""
    options = looks.options
    if not isinstance(options, CompareOptions) or len(looks.study.workloads[0].metrics) < 2:
        return ()
    from becalm.analysis.instructions import of_counters  # A comparison of times starts without it.

    return of_counters(
        looks.names, looks.study.workloads, looks.history, kept.metrics, looks.comparison.reference, options.confidence
    )


def _further(looks: Looks, runs: Kept) -> tuple[MetricDifference, ...]:
    """Return the differences in the metrics that are recorded beside the compared one."""
    options = looks.options
    if not isinstance(options, CompareOptions) or len(looks.study.workloads[0].metrics) < 2:
        return ()
    from becalm.analysis.further_metrics import further_differences  # A comparison of times starts without it.

    return further_differences(
        looks.names, looks.study.workloads, looks.history, runs.metrics, looks.comparison.reference, options.confidence
    )


def _recorded(study: Study, kept: Kept) -> Sequence[Series]:
    """Return the series of the runs, where they may hold their memory."""
    specs = [metric.spec for workload in study.workloads for metric in workload.metrics]
    return kept.series() if any(spec.startswith(MEMORY) for spec in specs) else ()


def _memory(recorded: Sequence[Series], seqs: Positions) -> tuple[tuple[float, float], ...]:
    """Return memory over the time of one of these runs, where it was recorded."""
    if not recorded:
        return ()
    from becalm.analysis.run_memory import course  # A comparison of times starts without it.

    return course(recorded, seqs)


def _summaries(looks: Looks, kept: Kept) -> list[Summary]:
    recorded = _recorded(looks.study, kept)
    found = (
        summarise(
            name,
            looks.history,
            index,
            _averages(looks, kept, index),
            looks.options.confidence,
            workload=looks.study.workloads[index],
            printed=_printed(looks, kept, index),
            memory=_memory(recorded, looks.history.seqs(index)),
        )
        for index, name in enumerate(looks.names)
    )
    summaries = [summary for summary in found if summary is not None]
    return [replace(summary, **UNTIMED) for summary in summaries] if looks.exact else summaries


def _printed(looks: Looks, kept: Kept, program: int) -> Floats | None:
    """Return the metrics of a program in the rounds that count, shape (runs, metrics); None without metrics."""
    if looks.history.metric is None:
        return None
    seqs, values = kept.metrics(program)
    return values[among(seqs, looks.history.seqs(program))]


def _averages(looks: Looks, kept: Kept, program: int) -> Averages:
    if not looks.history.dropped:
        return kept.averages(program)
    found = kept.columns(program, ("seq", *AVERAGED))
    mine = among(found["seq"], looks.history.seqs(program))
    return averages({name: found[name][mine] for name in AVERAGED})


def _of_all(looks: Looks, runs: Kept) -> tuple[Finding, ...]:
    """Return the findings that any plan may give."""
    history, strict = looks.history, looks.options.unknown_contamination == "drop"
    # A round that was begun and not finished is none that a person could count.
    found, unsure = looks.contaminated.among(history.finished), looks.unknown.among(history.finished)
    return (
        *emulated(looks.options),
        *_settings(looks),
        *_beside(looks),
        *_schedule(looks, runs),
        *left_behind(looks.names, looks.history),
        *(() if looks.exact else contaminated(*found, looks.rule, history.complete, looks.drops)),
        *(() if looks.exact else unknown(*unsure, looks.rule, history.complete, strict)),
    )


def emulated(options: StudyOptions) -> tuple[Finding, ...]:
    """Return the finding that the times are not those of a real processor, where they are not."""
    return (finding("emulated", {"reason": options.emulated}),) if options.emulated else ()


def _settings(looks: Looks) -> tuple[Finding, ...]:
    """Return the finding on the settings under which the runs were made, where there were any."""
    given, kept = (each.to_json() for each in (looks.study.settings[0], looks.options.kept))
    return (finding("settings", {"settings": given, "kept": kept}),) if given or kept else ()


def _beside(looks: Looks) -> tuple[Finding, ...]:
    """Return the findings on programs that ran alongside, each kind of neighbourhood once."""
    found = {
        (tuple(near.workload.name for near in each.beside), each.beside_cpus): name
        for name, each in zip(looks.names, looks.study.workloads, strict=True)
        if each.beside
    }
    alike = len(found) == 1 and all(workload.beside for workload in looks.study.workloads)
    return tuple(
        finding("neighbours", {"neighbours": list(names), "cpus": cpus}, "" if alike else name)
        for (names, cpus), name in found.items()
    )


def _schedule(looks: Looks, runs: Kept) -> tuple[Finding, ...]:
    """Return the finding on whether programs ran at the same time, where that was asked for."""
    options = looks.options
    if not isinstance(options, CompareOptions):
        return ()
    if options.turns_because:
        return (finding("turns", {"reason": options.turns_because}),)
    if looks.schedules is None:
        return ()
    from becalm.analysis.alongside import alongside_findings  # Programs that take turns start without it.

    columns = [runs.columns(program, ("apart_ns",))["apart_ns"] for program in range(len(looks.names))]
    return alongside_findings(looks.schedules, looks.history, np.concatenate(columns))


def nothing_measured(
    rows: Sequence[Run], workloads: Sequence[Workload], texts: Mapping[int, tuple[str, str]]
) -> WorkloadError | Interrupted:
    """Return the error when no run counts of a study that goes on after a program fails."""
    failed = next((run for run in rows if run.outcome not in (Outcome.OK, Outcome.ABORTED)), None)
    if failed is None:
        return Interrupted("Interrupted before the first round was finished: nothing can be said yet.")
    stderr = texts.get(failed.seq, ("", ""))[0]
    program = workloads[failed.workload]
    return WorkloadError(compare.failure(program.name, failure_numbers(failed, stderr, 0, program)))


def failure(looks: Looks, failed: Run, kept: Kept) -> Finding:
    """Return the finding on a failed run, with its program's output."""
    stderr = kept.texts().get(failed.seq, ("", ""))[0]
    numbers = failure_numbers(failed, stderr, looks.history.rounds, looks.study.workloads[failed.workload])
    return finding("failure", numbers, looks.names[failed.workload])


def _verdict(
    looks: Looks,
    number: int | None,
    summaries: Sequence[Summary],
    findings: Sequence[Finding] = (),
    baseline: Sequence[Difference] = (),
) -> Verdict:
    """Return the numbers of the last look with their sentences."""
    study, options = looks.study, looks.options
    compared = options if isinstance(options, CompareOptions) else CompareOptions()
    limit, elapsed_ns = compared.fail_above, looks.history.elapsed_ns
    differences = (*looks.comparison.differences, *baseline)
    found = gate(differences, limit)
    return _worded(
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
            gate=found,
            undecided=compared.undecided,
            decides_ns=None
            if limit is None or found is not Gate.UNDECIDED
            else decides_ns(differences, limit, elapsed_ns),
            ranking=looks.ranking.result(looks.history),
            seed=study.seed,
            metric=looks.history.metric,
        )
    )


def _worded(verdict: Verdict) -> Verdict:
    """Return the verdict with its sentences."""
    differences = tuple(
        replace(difference, sentence=compare.difference(difference, verdict.elapsed_ns))
        for difference in verdict.differences
    )
    return replace(
        verdict, differences=differences, sentence=compare.verdict(replace(verdict, differences=differences))
    )
