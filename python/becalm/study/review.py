"""Conclude again from stored runs: the same judge, fed with the runs of a study as if they came in now.

A verdict is a function of a study's options and its runs, so a study whose becalm was killed before it could conclude
gets its verdict here, and an imported one gets what its data allow.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from becalm.analysis.comparison import SequentialComparison, averages, left_behind, summarise
from becalm.analysis.contamination import USUAL, contaminated, rule
from becalm.analysis.diagnostics import contaminated as findings_of_load
from becalm.analysis.diagnostics import of_series
from becalm.analysis.rated_runs import ratings
from becalm.errors import UsageError
from becalm.load.run_report import Watched
from becalm.nouns import tune_verdict
from becalm.nouns.history import History
from becalm.nouns.rating import Ratings
from becalm.nouns.run import Averages, Run
from becalm.nouns.stopping_rule import StoppingRule
from becalm.nouns.tune_verdict import TuneVerdict
from becalm.nouns.verdict import Stopped, Verdict, from_json
from becalm.report.document import Document
from becalm.report.suite import sentence as of_suite
from becalm.report.watch.stored import conclude
from becalm.wording import measurement


def review(document: Document) -> Verdict | TuneVerdict | Watched | Ratings:
    """The verdict that a study came to; else one from its runs, whose intervals hold for this one look. Of a suite its
    ratings.

    Raises UsageError for a search for settings that was not finished: its runs by themselves conclude nothing.
    """
    if document.study.kind == "tune":
        return _steadiness(document)
    if document.study.kind == "watch":
        return conclude(document, document.number)
    if document.study.kind == "suite" and "programs" in document.study.options:
        return _ratings(document)
    if document.verdict is not None:
        with contextlib.suppress(KeyError, TypeError, ValueError):
            return replace(from_json(document.verdict), study=document.number)
    study, options = document.study, document.study.options
    names = measurement.short([each.name for each in study.workloads])
    confidence = float(options.get("confidence") or 0.95)
    history = History(len(names))
    history.extend(document.runs)
    text = options.get("drop_contaminated")
    by = USUAL if text is None else rule(str(text))
    rounds = contaminated(document.runs, document.loads, by)
    if text is not None:
        history.drop(rounds)
    judge = SequentialComparison(
        names, int(options.get("reference") or 0), StoppingRule(runs=max(1, history.rounds)), confidence, None
    )
    paired = study.kind == "compare" and len(names) > 1
    differences = judge.look(history) if paired else ()
    by_program = [[run for run in document.runs if run.workload == index] for index in range(len(names))]
    summaries = [
        summarise(name, history, index, _averages(by_program[index], history.dropped), confidence)
        for index, name in enumerate(names)
    ]
    found = left_behind(names, history)
    if study.kind == "run":
        found += of_series(
            names[0], history, lambda program, wanted: _columns(by_program[program], wanted), loads=document.loads
        )
    found += findings_of_load(rounds, by, history.complete, text is not None)
    elapsed_ns = history.elapsed_ns if document.environment == "known" else sum(run.wall_ns for run in document.runs)
    differences = tuple(replace(d, sentence=measurement.difference(d, elapsed_ns)) for d in differences)
    lines = [d.sentence for d in differences] or [
        measurement.run(each, elapsed_ns, confidence) for each in summaries if each is not None
    ]
    return Verdict(
        kind=study.kind if paired or study.kind == "run" else "run",
        study=document.number,
        host=study.host,
        elapsed_ns=elapsed_ns,
        stopped=Stopped.STORED,
        confidence=confidence,
        summaries=tuple(each for each in summaries if each is not None),
        differences=differences,
        findings=found,
        seed=study.seed,
        sentence="\n".join(lines) or "This study has no finished run.",
    )


def _ratings(document: Document) -> Ratings:
    study, rows = document.study, document.runs
    rounds = max((run.round for run in rows), default=-1) + 1
    if not rounds:
        raise UsageError("The study has no finished round: becalm was ended before anything was counted.")
    found = ratings(study.options, study.settings, rows, study=document.number, host=study.host, runs=rounds)
    return replace(found, sentence=of_suite(found))


def _steadiness(document: Document) -> TuneVerdict:
    with contextlib.suppress(KeyError, TypeError, ValueError):
        if document.verdict is not None:
            return replace(tune_verdict.from_json(document.verdict), study=document.number)
    raise UsageError(
        f"Study {document.number} is a search for settings that was not finished; its {len(document.runs)} runs are "
        f"kept. Go on with it: becalm tune --resume {document.number}"
    )


def _columns(runs: list[Run], names: Sequence[str]) -> dict[str, Any]:
    good = [run for run in runs if run.outcome == "ok" and not run.warmup]
    return {name: np.array([getattr(run, name) for run in good], dtype=np.float64) for name in names}


def _averages(runs: list[Run], dropped: set[int]) -> Averages:
    kept = [run for run in runs if run.round not in dropped]
    return averages(_columns(kept, ("user_ns", "system_ns", "wait_ns", "max_rss_bytes")))
