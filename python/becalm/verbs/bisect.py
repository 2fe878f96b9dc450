"""`becalm bisect`: the commit that made a program slower, found with a stated probability of error.

`bisect` lets `becalm.plans.bisection` say which commit is to be measured next, builds it in a working tree of its own
(`becalm.study.builds`), measures it in turns with the good commit as `compare` does, one study each, and writes down
what came out (`becalm.study.bisect_journal`), so that the same command goes on where a killed one was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np

from becalm.errors import Interrupted, UsageError, WorkloadError
from becalm.hosts import which_machine
from becalm.nouns.bisection import BisectResult, Probe
from becalm.nouns.history import History
from becalm.nouns.metric import Response, Work
from becalm.nouns.option import parsed
from becalm.nouns.options.bisect import BisectOptions
from becalm.nouns.options.measuring import CompareOptions
from becalm.nouns.signature import takes
from becalm.nouns.verdict import Difference
from becalm.nouns.workload import CommandLine, ProgramKeywords, Workload, split
from becalm.plans.bisection import Bisection, Done
from becalm.study.bisect_journal import Journal
from becalm.study.builds import Builds, discard
from becalm.study.interleaved import measure_interleaved
from becalm.study.repository import Repository
from becalm.study.session_options import ProfileKeywords, ResponseKeywords, SessionKeywords, SessionOptions, WithProfile
from becalm.study.session_options import asked as sorted_options
from becalm.wording import bisect as words

NORMAL = 1.959964


class _Own(TypedDict, total=False):
    error: float | str
    pairs: int
    build_timeout: float | str
    skip: Sequence[str]
    again: bool
    repository: str | None


class BisectKeywords(_Own, ProfileKeywords, ResponseKeywords, SessionKeywords, ProgramKeywords, total=False):
    """The options of `bisect` as type checkers see them."""


@takes(BisectOptions, Response, CommandLine, Workload, WithProfile, SessionOptions, without=("name", "directory"))
def bisect(
    good: str, bad: str, *, run: str | Sequence[str], build: str | Sequence[str] = (), **given: Unpack[BisectKeywords]
) -> BisectResult:
    """Find the commit between two that changed how long a program takes.

    Arguments:
        good, bad: commits; `good` leads to `bad`.
        run: the program, run in the top directory of each built commit.
        build: what builds it there; nothing when empty. Neither is given to a shell.

    The same call goes on with a search that was interrupted. Raises UsageError, MachineError, StoreError, and
    WorkloadError when the good or the bad commit cannot be built or run.
    """
    options = BisectOptions(**parsed(BisectOptions, given))
    _, session, program = sorted_options(CompareOptions, given, BisectOptions, Response, Work, WithProfile)
    if which_machine(session.host_name) is not None:
        raise UsageError("Commits are built on this machine, and measured here: leave --host out.")
    repository = Repository.of(options.repository)
    path = repository.path(good, bad)
    workload = Workload.of(run, **program).measuring(Response.of(given))
    command = split(build) if build else ()
    journal = Journal.of(
        str(repository.top), path[0], path[-1], command, workload.to_json(), session.settings.to_json()
    )
    search = _Search(
        repository, path, workload, session, options, journal, Bisection(len(path) - 1, options.error, options.pairs)
    )
    if options.again:
        search.remove_left()
        journal.forget()
    search.skip({repository.name_of(each) for each in options.skip})
    search.remember()
    with Builds.private(repository, command, options.build_timeout_ns / 1e9, path[0]) as builds:
        journal.write(kind="trees", root=str(builds.root))
        try:
            found = search.through(builds)
        except (Interrupted, KeyboardInterrupt):
            # Also while a commit is built, or before the first pair of runs: what is known is on the disk.
            raise Interrupted(words.INTERRUPTED) from None
    journal.forget()
    return found


@dataclass(slots=True)
class _Search:
    """One search: its commits from good to bad, and what is known."""

    repository: Repository
    path: list[str]
    workload: Workload
    session: SessionOptions
    options: BisectOptions
    journal: Journal
    plan: Bisection
    reasons: dict[str, str] = field(default_factory=dict)
    studies: list[int] = field(default_factory=list)
    built: int = 0

    def skip(self, commits: set[str]) -> None:
        """Leave out what the person says."""
        for each in commits & set(self.path[1:-1]):
            self._unusable(each, "left out by --skip")

    def remember(self) -> None:
        """What an interrupted search has found out."""
        done = 0
        for line in self.journal.lines():
            match line.get("kind"):
                case "trees":
                    discard(self.repository, Path(str(line["root"])))
                case "unusable" if line.get("commit") in self.path:
                    self._unusable(line["commit"], str(line["reason"]))
                case "measured" if line.get("commit") in self.path:
                    self.plan.take(self.path.index(line["commit"]), [float(each) for each in line["differences"]])
                    self.studies += [line["study"]] if line.get("study") else []
                    done += len(line["differences"])
        if done:
            self.session.listener.warned(words.goes_on(done))

    def remove_left(self) -> None:
        """Working trees of a search that was killed."""
        for line in self.journal.lines():
            if line.get("kind") == "trees":
                discard(self.repository, Path(str(line["root"])))

    def through(self, builds: Builds) -> BisectResult:
        """To its end."""
        good = self._build(builds, self.path[0])
        while not isinstance(step := self.plan.step(), Done):
            commit = self.path[step.place]
            place = self._build(builds, commit)
            if place is None:
                continue
            self.plan.built = {self.path.index(each) for each in builds.made}
            self.session.listener.warned(words.measuring(commit, step.count, len(self.path) - 1, self.plan.posterior))
            self._measure(commit, good or builds.root, place, step.count)
        return self._result(step)

    def _build(self, builds: Builds, commit: str) -> Path | None:
        known = commit in builds.made
        if not known:
            self.session.listener.warned(words.building(commit, bool(builds.command)))
        place, reason = builds.get(commit)
        self.built += not known
        if not reason:
            return place
        if commit in (self.path[0], self.path[-1]):
            which = "good" if commit == self.path[0] else "bad"
            raise WorkloadError(f"The {which} commit {words.short(commit)} cannot be measured: {reason}.")
        self._lost(commit, reason)
        return None

    def _measure(self, commit: str, good: Path, place: Path, count: int) -> None:
        """Runs of both in turns; what came out is on the disk when this returns."""
        found: list[float] = []

        def take(history: History) -> tuple[Difference, ...]:
            times = history.pairs().log_wall
            both = min(map(len, times))
            found.extend((np.asarray(times[1][:both]) - np.asarray(times[0][:both])).tolist())
            return ()

        both = [
            replace(self.workload, name=f"{self.workload.name} at {words.short(each)}", directory=str(tree))
            for each, tree in ((self.path[0], good), (commit, place))
        ]
        options = replace(CompareOptions.of({"runs": count}), warmup=1)
        session = replace(self.session, title=f"bisect: {words.short(commit)} against {words.short(self.path[0])}")
        study = session.study("compare", both, options)
        try:
            verdict = measure_interleaved(study, options, session, take)
        except WorkloadError as error:
            if commit == self.path[-1]:
                raise
            self._lost(commit, f"it does not run: {str(error).splitlines()[0]}")
            return
        if len(found) < count and verdict.stopped == "interrupted":
            self._keep(commit, found, verdict.study)
            raise Interrupted(words.INTERRUPTED)
        if verdict.stopped == "a workload failed" and commit != self.path[-1]:
            self._lost(commit, "runs of it failed")
            return
        if verdict.exit_code == 4:
            raise WorkloadError(
                f"Runs of the bad commit {words.short(commit)} or the good one failed:\n{verdict.sentence}"
            )
        self._keep(commit, found, verdict.study)

    def _keep(self, commit: str, found: list[float], study: int | None) -> None:
        self.journal.write(kind="measured", commit=commit, differences=found, study=study)
        self.plan.take(self.path.index(commit), found)
        self.studies += [study] if study else []

    def _lost(self, commit: str, reason: str) -> None:
        self.session.listener.warned(words.skipped(commit, reason))
        self.journal.write(kind="unusable", commit=commit, reason=reason)
        self._unusable(commit, reason)

    def _unusable(self, commit: str, reason: str) -> None:
        self.reasons[commit] = reason
        self.plan.unusable.add(self.path.index(commit))

    def _result(self, end: Done) -> BisectResult:
        subjects = self.repository.subjects(self.path)
        reference = self.plan.reference
        suspects = tuple(self.path[end.first : end.last + 1]) if end.first else ()
        alone = len(suspects) == 1 and end.probability >= 1 - self.options.error
        first = suspects[0] if alone else ""
        reach = 0.0 if reference is None else NORMAL * reference.error
        ends = [None] * 3 if reference is None else [
            math.expm1(each) for each in (reference.size, reference.size - reach, reference.size + reach)
        ]  # fmt: skip
        found = BisectResult(
            good=self.path[0],
            bad=self.path[-1],
            first=first,
            subject=subjects.get(first, ""),
            suspects=() if alone else suspects,
            probability=end.probability,
            error=self.options.error,
            size=ends[0],
            low=ends[1],
            high=ends[2],
            commits=len(self.path) - 1,
            runs=2 * sum(map(len, self.plan.differences.values())),
            builds=self.built,
            probes=tuple(self._probe(place, subjects) for place in sorted(self.plan.differences)),
            unusable=dict(self.reasons),
            studies=tuple(self.studies),
        )
        return replace(found, sentence=words.found(found))

    def _probe(self, place: int, subjects: dict[str, str]) -> Probe:
        each = np.asarray(self.plan.differences[place])
        error = float(each.std(ddof=1)) / math.sqrt(len(each)) if len(each) > 1 else math.inf
        middle = float(each.mean())
        ends = [math.expm1(min(50.0, middle + way * NORMAL * error)) for way in (0, -1, 1)] if len(each) > 1 else [
            math.expm1(middle), -1.0, math.inf
        ]  # fmt: skip
        behind = float(np.cumsum(self.plan.posterior)[place - 1]) if place else 0.0
        commit = self.path[place]
        return Probe(commit, subjects.get(commit, ""), ends[0], ends[1], ends[2], len(each), behind)
