"""`becalm record --commits`: a session of the same benchmarks at each commit of a range.

Each commit is built in a working tree of its own (`becalm.study.builds`). They are measured in random order, so that a
drift of the machine does not appear as a trend over the commits. A commit that cannot be built or run is left out and
named. Commits that have a session on this machine already are not measured again, so that the same call continues a
range that was interrupted or has grown.
"""

from __future__ import annotations

import dataclasses
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import msgspec
import numpy as np
from msgspec.structs import replace

from becalm.errors import Interrupted, UsageError, WorkloadError
from becalm.hosts import which_machine
from becalm.nouns.metric import Response
from becalm.nouns.option import parse_keywords
from becalm.nouns.options.record import HistoryPlaceOptions, RangeOptions, RecordOptions
from becalm.nouns.signature import takes
from becalm.nouns.workload import CommandLine, Workload
from becalm.results.compare import Stopped, Verdict
from becalm.results.record_commits import RecordedCommit, RecordedCommits
from becalm.store import Store
from becalm.study.builds import Builds
from becalm.study.repository import Repository
from becalm.study.session_options import SessionOptions, WithProfile, split_keywords
from becalm.units import join_names
from becalm.verbs.record import benchmarks, located, record_session
from becalm.wording import history as wording
from becalm.workloads import Text
from becalm.workloads.program_options import ProgramOptions

if TYPE_CHECKING:
    from becalm.nouns.keywords import ProgramKeywords
    from becalm.verbs.keywords import RecordCommitsKeywords


@takes(
    RecordOptions, HistoryPlaceOptions, RangeOptions, Response, CommandLine, Workload, WithProfile, SessionOptions,
    without=("name", "directory", "commit", "commits", "name_baseline", "host"),
)  # fmt: skip
def record_commits(
    programs: Sequence[Text] | str, commits: str, **keywords: Unpack[RecordCommitsKeywords]
) -> RecordedCommits:
    """Measure benchmarks at each commit of a range and keep them as sessions of the project's history.

    Arguments:
        programs: as `record` takes them; they run in the top directory of each built commit, where files are found too.
        commits: a range as git knows it, "v1.2..HEAD".

    Returns the outcome of each commit. Raises UsageError, MachineError, StoreError, and Interrupted, after which the
    same call continues.
    """
    chosen = RangeOptions(**parse_keywords(RangeOptions, {**keywords, "commits": commits}))
    place = HistoryPlaceOptions(**parse_keywords(HistoryPlaceOptions, keywords))
    options, session, program = split_keywords(
        RecordOptions, keywords, HistoryPlaceOptions, RangeOptions, WithProfile, Response
    )
    if which_machine(session.host_name) is not None:
        raise UsageError("Commits are built on this machine, and measured here: leave --host out.")
    if place.commit is not None or place.name_baseline is not None or program.get("directory") is not None:
        raise UsageError("--commit, --name-baseline and --directory are for one session. Leave them out of a range.")
    repository = Repository.of(place.repository)
    place = dataclasses.replace(place, project=place.project or repository.top.name, repository=str(repository.top))
    names = repository.listed(chosen.commits, first_parents=not chosen.all_parents)
    texts = [programs] if isinstance(programs, str) else list(programs)
    sessions = _CommitSessions(
        texts, place, options, session, program, Response.of(keywords), repository.subjects(names)
    )
    known = {} if chosen.again else _known(session, options, place)
    rest = [name for name in names if name not in known]
    results = {name: sessions.result(name, known[name], known=True) for name in names if name in known}
    with Builds.private(repository, chosen.build, chosen.build_timeout_ns / 1e9, "") as builds:
        for done, place_of in enumerate(np.random.default_rng(session.seed).permutation(len(rest)), start=1):
            name = rest[place_of]
            session.listener.warned(wording.recording(name, sessions.subjects.get(name, ""), done, len(rest)))
            results[name] = sessions.at(name, builds)
    recorded = RecordedCommits(str(place.project), commits, tuple(results[name] for name in names))
    return replace(recorded, sentence=wording.recorded_range(recorded))


class _CommitSessions(msgspec.Struct, frozen=True):
    """The options common to all commits of a range."""

    texts: Sequence[Text]
    place: HistoryPlaceOptions
    options: RecordOptions
    session: SessionOptions
    program: ProgramKeywords
    response: Response
    subjects: Mapping[str, str]

    def at(self, commit: str, builds: Builds) -> RecordedCommit:
        """Build and measure a commit, or return why that is not possible. Raises Interrupted."""
        try:
            tree, reason = builds.get(commit)
            verdict = None if reason else self._measured(commit, tree)
        except (Interrupted, KeyboardInterrupt):
            raise Interrupted(wording.RANGE_INTERRUPTED) from None
        except (UsageError, WorkloadError) as error:
            verdict, reason = None, str(error)
        if verdict is None:
            self.session.listener.warned(wording.not_recorded(commit, reason))
            return self.result(commit, None, reason=reason.splitlines()[0])
        if verdict.stopped is Stopped.INTERRUPTED:
            raise Interrupted(wording.RANGE_INTERRUPTED)
        failed = [summary.name for summary in verdict.summaries if summary.failed]
        return self.result(commit, verdict.study, reason=f"runs failed of {join_names(failed)}" if failed else "")

    def _measured(self, commit: str, tree: Path) -> Verdict:
        program: ProgramKeywords = {**self.program, "directory": str(tree)}
        around = replace(ProgramOptions.of(self.session.user, program), base=tree)
        workloads, references = benchmarks(self.texts, self.place, around, self.response)
        # The path of the working tree differs each time, and is no part of a benchmark.
        workloads = [
            dataclasses.replace(workload, name=workload.name.replace(f"{tree}/", "")) for workload in workloads
        ]
        here = located(self.options, dataclasses.replace(self.place, commit=commit), references)
        return record_session(workloads, dataclasses.replace(here, changed=False), self.session)

    def result(self, commit: str, study: int | None, *, known: bool = False, reason: str = "") -> RecordedCommit:
        """Return the outcome of a commit."""
        return RecordedCommit(commit, self.subjects.get(commit, ""), study, known, reason)


def _known(session: SessionOptions, options: RecordOptions, place: HistoryPlaceOptions) -> dict[str, int]:
    """Return the commits of the project that have a finished session on this machine, with its number."""
    if session.store is False:
        return {}
    machine = place.machine or socket.gethostname()
    numbers = {}
    with Store.open(session.place) as opened:
        for study in opened.studies(None, "record"):
            recorded = study.study.options
            name = recorded.get("machine") or ((study.facts.get("host") or {}).get("hostname"))
            same = recorded.get("project") == place.project and name == machine
            if same and not study.wrong and opened.verdict(study.number) is not None:
                numbers[str(recorded.get("commit"))] = study.number
    return numbers
