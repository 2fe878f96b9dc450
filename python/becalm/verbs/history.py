"""`becalm history`: the sessions of a project in the order of its commits, and the changes with their commits.

`history` reads the studies of kind "record" from the store, asks git for the order of their commits where there is a
repository, and leaves the rest to `becalm.analysis.history`. It measures nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from becalm.analysis.history import timeline
from becalm.analysis.history_table import RecordedSession, SessionBenchmark
from becalm.errors import BecalmError, UsageError
from becalm.nouns.options.record import RecordOptions
from becalm.nouns.study import StoredStudy
from becalm.results.compare import Verdict, from_json
from becalm.results.history import HistorySession, Timeline
from becalm.stats.change_points import RATE
from becalm.store import Store, recover
from becalm.study.history_cache import HistoryCache, SessionPlace
from becalm.study.repository import Repository
from becalm.study.stored import Warned, document_of
from becalm.units import join_names
from becalm.verbs.record import conclude
from becalm.wording import history as words
from becalm.wording.metric import measured


def history(
    project: str | None = None,
    *,
    branch: str | None = None,
    tag: str | None = None,
    baseline: str | None = None,
    renamed: Mapping[str, str] | None = None,
    links: str = "",
    rate: float = RATE,
    fail_on_change: bool = False,
    repository: str | None = None,
    store: str | None = None,
    warned: Warned | None = None,
) -> Timeline:
    """Return the history of a project's benchmarks, with their changes.

    Arguments:
        project: the project's name [default: the name of the repository's directory, or the only recorded project].
        branch: only sessions of this branch; for sessions of an unknown branch the repository decides, where it has
            the commit.
        tag: only sessions with this tag.
        baseline: name of a session to compare the present with.
        renamed: new names of benchmarks by their old names.
        links: URL of a commit, with {commit} in it.
        rate: accepted false alarms per commit, over all benchmarks.
        fail_on_change: whether `exit_code` is 1 when the newest session shows a change for the worse.
        repository: the git repository with the order of commits [default: the working directory's repository].
        store: the store of the studies [default: the usual store].
        warned: called with a sentence about damaged parts of the store, which are left out.

    Raises UsageError for an unknown project or baseline, or an invalid rate; StoreError.
    """
    if not 0 < rate <= 0.5:
        raise UsageError(f"--rate is the accepted rate of false alarms per commit, between 0 and 0.5, not {rate:g}.")
    if links and "{commit}" not in links:
        raise UsageError("--links is the URL of a commit with {commit} in it: https://example.org/commit/{commit}")
    if links and not links.startswith(("https://", "http://")):
        raise UsageError(f"--links must begin with https:// or http://, not {links[:20]!r}.")
    here = _repository(repository)
    with Store.open(store) as opened:
        recover(opened)
        kept_history = HistoryCache.of(opened.location.identity, memory=opened.location.memory)
        sessions, stamps = _sessions(opened, kept_history)
        tell = warned or (lambda _: None)
        if unknown := [session.number for session in sessions if session.wrong and not session.place.project]:
            tell(words.left_out(sorted(unknown), ""))
        project = _project(project, here, sorted({session.place.project for session in sessions} - {""}))
        lost: list[int] = []
        sessions = _of_branch(sessions, here, branch)
        chosen: list[RecordedSession | None] = []
        for session in sessions:
            if session.place.project == project and _matches(session.place, branch, tag):
                row = session.recorded or _recorded(opened, session, lost)
                chosen.append(row)
                if row is not None and session.recorded is None and session.stored is not None:
                    kept_history.keep(session.number, stamps[session.number], session.place, row)
        if lost:
            tell(words.left_out(lost, project))
        if not chosen:
            _refuse([session.place for session in sessions if session.place.project == project], project, branch, tag)
    recorded = [row for row in chosen if row is not None]
    if baseline is not None and not any(row.session.baseline == baseline for row in recorded):
        names = sorted({row.session.baseline for row in recorded} - {""})
        known = f"Known: {', '.join(names)}." if names else "Name one: becalm record --name-baseline NAME …"
        raise UsageError(f"No session of {project!r} is a baseline called {baseline!r}. {known}")
    order = {} if here is None else here.order(row.session.commit for row in recorded)
    result = timeline(
        project,
        recorded,
        order=order,
        renamed=renamed,
        rate=rate,
        baseline=baseline or "",
        links=links,
        searches=kept_history.searches,
    )
    kept_history.save(list(stamps))
    return words.alarmed(result) if fail_on_change else result


class _Session(msgspec.Struct, frozen=True):
    """A session of the store: as cached (`recorded`), or as stored (`stored`, `options`)."""

    number: int
    place: SessionPlace
    wrong: bool = False
    recorded: RecordedSession | None = None
    stored: StoredStudy | None = None
    options: RecordOptions | None = None


def _sessions(opened: Store, kept_history: HistoryCache) -> tuple[list[_Session], dict[int, str]]:
    """Return the sessions of a store, oldest first, and the stamps of all; only sessions not in the cache are read."""
    stamps = opened.stamps("record")
    sessions, rest = [], []
    for number, stamp in stamps.items():
        if (known := kept_history.session(number, stamp)) is not None:
            sessions.append(_Session(number, known[0], recorded=known[1]))
        else:
            rest.append(number)
    stored = opened.studies(None, "record") if len(rest) == len(stamps) else opened.some(rest)
    for study in stored:
        options = _options(study)
        place = SessionPlace(options.project, options.branch, options.commit, options.tags)
        sessions.append(_Session(study.number, place, bool(study.wrong), stored=study, options=options))
    return sorted(sessions, key=lambda session: session.number), stamps


def _options(stored: StoredStudy) -> RecordOptions:
    """Return the options that a session was recorded with, as far as a damaged one can be read."""
    try:
        return RecordOptions.from_json(stored.study.options)
    except UsageError:
        if not stored.wrong:
            raise
        return RecordOptions.from_json({})


def _repository(path: str | None) -> Repository | None:
    if path is not None:
        return Repository.of(path)
    with contextlib.suppress(BecalmError):
        return Repository.of(Path.cwd())
    return None


def _project(name: str | None, here: Repository | None, known: list[str]) -> str:
    if not known:
        raise UsageError(
            "Nothing is recorded in this store. Measure at a commit first: becalm record 'gzip -9 -c FILE'"
        )
    if name is None and here is not None and here.top.name in known:
        return here.top.name
    if name is None and len(known) == 1:
        return known[0]
    if name is None or name not in known:
        problem = "Which project?" if name is None else f"Nothing is recorded of a project {name!r}."
        raise UsageError(f"{problem} Recorded: {', '.join(known)}. Name one: becalm history {known[0]}")
    return name


def _of_branch(sessions: list[_Session], here: Repository | None, branch: str | None) -> list[_Session]:
    """Leave out sessions of an unknown branch whose commits the repository has, but not on this branch.

    Results of asv, for instance, have no branch.
    """
    if branch is None or here is None:
        return sessions
    unknown = [session.place.commit for session in sessions if not session.place.branch]
    apart = here.apart_from(branch, unknown)
    return [session for session in sessions if session.place.branch or session.place.commit not in apart]


def _matches(place: SessionPlace, branch: str | None, tag: str | None) -> bool:
    return (branch is None or place.branch in ("", branch)) and (tag is None or tag in place.tags)


def _refuse(known: Sequence[SessionPlace], project: str, branch: str | None, tag: str | None) -> None:
    """Raise UsageError that lists the tags and branches of the existing sessions."""
    filters = [f"the tag {tag!r}"] * (tag is not None) + [f"the branch {branch!r}"] * (branch is not None)
    words = {
        "Tags": {tag for place in known for tag in place.tags} if tag is not None else set(),
        "Branches": {place.branch for place in known} - {""} if branch is not None else set(),
    }
    existing = " ".join(f"{noun}: {', '.join(sorted(names))}." for noun, names in words.items() if names)
    raise UsageError(f"No session of {project!r} has {join_names(filters)}. {existing}".strip())


def _recorded(opened: Store, session: _Session, lost: list[int]) -> RecordedSession | None:
    """Return a session in the form of the analysis; None for one without a finished run, or a damaged one, which is
    added to `lost`."""
    stored, options = session.stored, session.options
    if stored is None or options is None:
        return None
    if stored.wrong:
        lost.append(stored.number)
    if stored.wrong or not stored.runs:
        return None
    stored_verdict: dict[str, Any] | None = {}
    try:
        stored_verdict = opened.verdict(stored.number)
        verdict = conclude(document_of(opened, stored.number)) if stored_verdict is None else from_json(stored_verdict)
    except (BecalmError, KeyError, TypeError, ValueError):
        # Without a verdict, it ended before it had measured enough for one.
        if stored_verdict is not None:
            lost.append(stored.number)
        return None
    entry = HistorySession(
        study=stored.number,
        commit=options.commit,
        subject=options.subject,
        branch=options.branch,
        tags=options.tags,
        baseline=options.baseline,
        when_ns=stored.created_ns,
        commit_ns=options.commit_ns,
        ordinal=options.ordinal,
        machine=0,
        changed=options.changed,
        source=options.source,
    )
    return RecordedSession(entry, machine_of(stored, options), _measured(stored, verdict), options.references)


def machine_of(stored: StoredStudy, options: RecordOptions) -> tuple[str, str, str, str]:
    """Return the facts that are equal in comparable sessions: name, processor with memory, kernel, settings."""
    facts = stored.facts
    host, cpu, kernel, memory = ((facts.get(name) or {}) for name in ("host", "cpu", "kernel", "memory"))
    name = options.machine or str(host.get("hostname") or stored.study.host)
    processor = [str(cpu[key]) for key in ("model",) if cpu.get(key)]
    processor += [f"{cpu['count']} CPUs"] if cpu.get("count") else []
    if memory.get("total_bytes"):
        processor.append(f"{round(memory['total_bytes'] / 2**30)} GiB")
    values = {**options.standing.to_json(), **(stored.study.settings[0].to_json() if stored.study.settings else {})}
    # Tools measure in different ways, so sessions of different sources are not comparable.
    source = [f"results of {options.source}"] if options.source else []
    settings = ", ".join([*source, *(f"{key}={value}" for key, value in sorted(values.items()))])
    return name, ", ".join(processor), str(kernel.get("release") or ""), settings


def _measured(stored: StoredStudy, verdict: Verdict) -> tuple[SessionBenchmark, ...]:
    """Return the value of each benchmark: its metric where it has one, otherwise its wall time in ns."""
    benchmarks = []
    for summary in verdict.summaries:
        number = summary.metrics[0] if summary.metrics else None
        median = measured(summary).median
        unit = "ns" if number is None else number.unit
        higher = number is not None and number.better == "higher"
        runs = number.runs if number else summary.runs
        benchmarks.append(
            SessionBenchmark(summary.name, unit, higher, median.value, median.low, median.high, runs, summary.failed)
        )
    return tuple(benchmarks)
