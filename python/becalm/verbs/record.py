"""`becalm record`: a session of benchmarks at a commit, stored as one place in the history of a project.

`record` determines the place (from git or its arguments), measures all benchmarks and references in randomly ordered
rounds, as one study of kind "record", and returns the result. A benchmark that fails does not prevent the others from
being recorded. `becalm.verbs.history` reads the sessions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

import numpy as np
from msgspec.structs import replace

from becalm.errors import MachineError, UsageError
from becalm.nouns.metric import Response
from becalm.nouns.option import parse_keywords
from becalm.nouns.options.record import HistoryPlaceOptions, RecordOptions
from becalm.nouns.run import Block, Outcome
from becalm.nouns.signature import takes
from becalm.nouns.stopping_rule import StoppingRule
from becalm.nouns.workload import CommandLine, Workload
from becalm.plans.rounds import rounds
from becalm.plans.run_log import RunLog
from becalm.report.document import Document
from becalm.results.compare import Stopped, Verdict
from becalm.study.available_metrics import without_unmeasurable
from becalm.study.conclude import nothing_measured, summarise_stored
from becalm.study.measure import measure
from becalm.study.missing_programs import define, note_missing
from becalm.study.repository import Repository
from becalm.study.session import open_session
from becalm.study.session_options import SessionOptions, WithProfile, split_keywords
from becalm.study.stored import document_of
from becalm.wording import history as wording
from becalm.wording.numbers import counted
from becalm.wording.program_names import names_of
from becalm.workloads import Text, gather
from becalm.workloads.program_options import ProgramOptions

if TYPE_CHECKING:
    from becalm.verbs.keywords import RecordKeywords


@takes(
    RecordOptions,
    HistoryPlaceOptions,
    Response,
    CommandLine,
    Workload,
    WithProfile,
    SessionOptions,
    without=("name",),
)
def record(programs: Sequence[Text] | str, **keywords: Unpack[RecordKeywords]) -> Verdict:
    """Measure benchmarks at a commit and keep them as a session of the project's history.

    Arguments:
        programs: command lines, argument lists, Workloads, or sources as `tune` takes them: "suite:benchmarks.toml".

    Returns a Verdict with a summary of each. Raises UsageError, MachineError, StoreError, and WorkloadError when not
    one run of any benchmark ended well.
    """
    place = HistoryPlaceOptions(**parse_keywords(HistoryPlaceOptions, keywords))
    options, session, program = split_keywords(RecordOptions, keywords, HistoryPlaceOptions, WithProfile, Response)
    texts = [programs] if isinstance(programs, str) else list(programs)
    workloads, references = benchmarks(texts, place, ProgramOptions.of(session.user, program), Response.of(keywords))
    options = located(options, place, references)
    if options.changed:
        session.listener.warned(wording.changed(options.commit))
    return record_session(workloads, options, session)


def benchmarks(
    texts: Sequence[Text], place: HistoryPlaceOptions, asked_for: ProgramOptions, response: Response
) -> tuple[list[Workload], tuple[str, ...]]:
    """Return the benchmarks of a session, references last, and the names of these. Raises UsageError."""
    references = gather(place.references, asked_for) if place.references else ()
    own = list(gather(texts, asked_for.measuring(response)))
    if place.names:
        if len(place.names) != len(own):
            raise UsageError(
                f"{counted(len(own), 'benchmark')} but {counted(len(place.names), 'name')} given. "
                "Give each benchmark one --name."
            )
        own = [dataclasses.replace(workload, name=name) for workload, name in zip(own, place.names, strict=True)]
    workloads = [*own, *references]
    _told_apart(workloads)
    return workloads, tuple(workload.name for workload in references)


def record_session(workloads: Sequence[Workload], options: RecordOptions, session: SessionOptions) -> Verdict:
    """Measure benchmarks as one session. Raises WorkloadError when not one run ended well, MachineError, StoreError."""
    with open_session(session, "becalm record") as opened:
        study = opened.fitted(session.study("record", workloads, options))
        study, _ = without_unmeasurable(opened.host, study, session.listener, dangerous=session.dangerous)
        missing = define(opened.host, study.workloads, study.settings, session.listener, dangerous=session.dangerous)
        number = opened.begin(study)
        log, rng = RunLog(goes_on=True), np.random.default_rng(study.seed)
        cells = [(index, 0) for index in range(len(workloads)) if index not in missing]
        names = names_of(workloads)
        session.listener.started(opened.shown, names, StoppingRule(runs=options.runs))

        def plan(log: RunLog) -> Block | None:
            return rounds(log, cells, range(len(cells)), options.runs, rng)

        measure(opened.host, plan, log, opened.take, detail=opened.detail, stop_on_failure=False)
        opened.settle()
        note_missing(opened.store, number, log, missing)
        if not any(run.outcome == Outcome.OK and run.round >= 0 for run in log.rows):
            raise nothing_measured(log.rows, workloads, opened.store.texts(number))
        verdict = conclude(document_of(opened.store, number))
        opened.store.conclude(number, verdict.to_json())
        return replace(verdict, study=opened.shown)


def conclude(document: Document) -> Verdict:
    """Return each benchmark of a session by itself, with the session's place in history."""
    options = RecordOptions.from_json(document.study.options)
    summaries = replace(summarise_stored(document), kind="record")
    bad = {run.workload for run in document.runs if run.outcome not in (Outcome.OK, Outcome.ABORTED)}
    names = names_of(document.study.workloads)
    sentence = wording.recorded(options, summaries, [names[index] for index in sorted(bad)])
    return replace(summaries, sentence=sentence, stopped=Stopped.FAILED if bad else summaries.stopped)


def located(options: RecordOptions, place: HistoryPlaceOptions, references: tuple[str, ...]) -> RecordOptions:
    """Return the options with the place in history: arguments, and the rest from git. Raises UsageError,
    MachineError."""
    record_options = dataclasses.replace(
        options,
        project=place.project or "",
        commit=place.commit or "",
        branch=place.branch or "",
        tags=place.tags,
        baseline=place.name_baseline or "",
        machine=place.machine or "",
        references=references,
    )
    try:
        repository = Repository.of(place.repository)
    except (UsageError, MachineError) as error:
        if place.repository is not None or not (place.project and place.commit):
            raise UsageError(
                f"{error} Name the history and the place of this session in it: --repository DIR, or --project NAME "
                "and "
                "--commit NAME."
            ) from None
        return record_options
    if place.commit is not None and place.project is not None and place.repository is None:
        # Given by hand inside some repository: the commit may be of another one.
        try:
            commit = repository.commit(place.commit)
        except UsageError:
            return record_options
    else:
        commit = repository.commit(place.commit or "HEAD")
    here = repository.name_of("HEAD") == commit.name
    return dataclasses.replace(
        record_options,
        project=record_options.project or repository.top.name,
        commit=commit.name,
        commit_ns=commit.when_ns,
        ordinal=commit.ordinal,
        subject=commit.subject,
        branch=record_options.branch or (repository.branch() if here else ""),
        changed=here and repository.changed(),
    )


def _told_apart(workloads: Sequence[Workload]) -> None:
    names = [workload.name for workload in workloads]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"Two benchmarks are called {doubled[0]!r}. Name them in a file: suite:benchmarks.toml")
