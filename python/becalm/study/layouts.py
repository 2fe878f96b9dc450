"""Measure two programs in several layouts of each: rounds in which every build runs once, in random order.

Public: refuse_counts, measure_layouts, conclude_stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from becalm.analysis.compare import LOOK_GROWTH
from becalm.analysis.layouts import LEAST, compare_builds, noise_is_small
from becalm.errors import MachineError, UnfinishedError, UsageError
from becalm.hosts import Event
from becalm.nouns.codec import plain_dict
from becalm.nouns.finding import Finding
from becalm.nouns.metric import CALLGRIND, INSTRUCTIONS, Metric
from becalm.nouns.options.layouts import LayoutOptions
from becalm.nouns.run import Block
from becalm.nouns.study import Study
from becalm.plans.history import History
from becalm.plans.interleave import interleave
from becalm.report.document import Document
from becalm.results.compare import Stopped, Verdict
from becalm.results.layouts import LayoutComparison
from becalm.results.progress import Progress
from becalm.study.available_metrics import without_unmeasurable
from becalm.study.circumstances import circumstances
from becalm.study.conclude import failure, general_findings, summarise_stored
from becalm.study.interleaved import no_rounds_error
from becalm.study.looks import Looks
from becalm.study.measure import measure
from becalm.study.session import open_session
from becalm.study.session_options import SessionOptions
from becalm.study.study_data import DocumentData, StoredData, StudyData
from becalm.wording import compare
from becalm.wording import layouts as words
from becalm.wording.findings import finding


def measure_layouts(study: Study, options: LayoutOptions, session: SessionOptions) -> LayoutComparison:
    """Measure the layouts of both programs and compare them.

    `study`: its workloads are the layouts of the old program, then those of the new one. Raises BecalmError; everything
    finished is stored by then.
    """
    listener = session.listener
    if options.drop_contaminated is not None and not session.load:
        raise UsageError("--drop-contaminated needs the record of load. Leave --no-load out.")
    with open_session(session, "becalm compare --layouts") as opened:
        study = opened.fitted(study)
        study, left_out = without_unmeasurable(opened.host, study, listener, dangerous=session.dangerous)
        opened.host.define(study.workloads, study.settings, dangerous=session.dangerous)
        plan = LayoutPlan(Looks(study, LayoutOptions.from_json(study.options)))
        looks = plan.looks
        number = opened.begin(study)

        def take(event: Event) -> None:
            opened.take(event)
            if session.load:
                looks.take(event)

        def next_block(history: History) -> Block | None:
            fraction = options.goal.fraction(history)
            listener.progressed(Progress(history.elapsed_ns, history.rounds, history.next_seq, fraction, None))
            return plan.next(history)

        listener.started(opened.shown, options.names, options.goal)
        try:
            measure(opened.host, next_block, looks.history, take, detail=opened.detail)
        except MachineError as error:
            error.append(compare.kept(opened.shown, looks.history.rounds))
            raise
        opened.settle()
        store = StoredData(opened.store, number)
        if not looks.history.rounds:
            raise no_rounds_error(looks, store)
        comparison = conclude(plan.end(), store, opened.shown, (*left_out, *opened.noticed))
        about = circumstances(study, opened.facts, opened.store.began_ns(number))
        comparison = replace(comparison, circumstances=about)
        opened.store.conclude(number, comparison.to_json())
    return comparison


class LayoutPlan:
    """The rounds of a study of layouts: they end with the budget, or when noise is small against layout."""

    def __init__(self, looks: Looks) -> None:
        self.looks = looks
        self._rng = np.random.default_rng(looks.study.seed)
        self._looked_at = 0

    def next(self, history: History) -> Block | None:
        """Return the next block; None when there are enough rounds."""
        looks, options = self.looks, self.looks.options
        assert isinstance(options, LayoutOptions)
        looks.look_at_load()
        goal = options.goal
        if goal.exhausted(history) and (goal.runs is not None or history.complete >= LEAST):
            looks.reason = Stopped.RUNS if goal.runs is not None and history.rounds >= goal.runs else Stopped.BUDGET
            return None
        if goal.runs is None and history.rounds >= math.ceil(self._looked_at * LOOK_GROWTH):
            self._looked_at = history.rounds
            if noise_is_small(history, options):
                looks.reason = Stopped.PRECISION
                return None
        return interleave(history, goal, self._rng)

    def end(self) -> Looks:
        """Return the looks with the reason why measuring ended."""
        looks, history = self.looks, self.looks.history
        looks.look_at_load()
        if history.failure is not None:
            looks.reason = Stopped.FAILED
        elif history.interrupted:
            looks.reason = Stopped.INTERRUPTED
        return looks


def conclude(looks: Looks, record: StudyData, number: int | None, noticed: Sequence[Finding] = ()) -> LayoutComparison:
    """Return the comparison of a study, as far as it came."""
    options, history = looks.options, looks.history
    assert isinstance(options, LayoutOptions)
    comparison = compare_builds(
        history, options, study=number, host=looks.study.host, stopped=looks.reason, seed=looks.study.seed
    )
    findings: tuple[Finding, ...] = () if history.failure is None else (failure(looks, history.failure, record),)
    for name, equal in zip(options.names, options.equal, strict=True):
        if equal:
            findings += (finding("equal_layouts", {"seeds": list(equal), "layouts": options.layouts}, name),)
    findings += tuple(finding(kind, plain_dict(waits)) for kind, waits in record.waits())
    comparison = replace(comparison, findings=(*findings, *general_findings(looks, record), *noticed))
    return replace(comparison, sentence=words.sentence(comparison))


def conclude_stored(document: Document) -> LayoutComparison | Verdict:
    """Return the comparison of a stored study without one, or the verdict on its programs if their layouts are unknown.

    Raises UnfinishedError when the study has no finished round.
    """
    options = LayoutOptions.from_json(document.study.options)
    if not options.whole(len(document.study.workloads)):
        return summarise_stored(document)
    looks = Looks(document.study, options)
    looks.history.extend(document.runs)
    looks.see(document.runs, document.loads)
    looks.look_at_load()
    if not looks.history.rounds:
        raise UnfinishedError("The study has no finished round: becalm was ended before anything was counted.")
    comparison = conclude(looks, DocumentData(document), document.number, document.noticed)
    return replace(comparison, circumstances=circumstances(document.study, document.facts, document.created_ns))


def refuse_counts(metrics: Sequence[Metric]) -> None:
    """Raise UsageError where exact counts are compared."""
    if metrics and metrics[0].spec in (INSTRUCTIONS, CALLGRIND):
        raise UsageError(words.EXACT)
