"""`becalm bisect`: the commit that made a program slower, found with a stated probability of error.

`becalm.plans.bisection` chooses the next commit to measure. `bisect` builds it in its own working tree
(`becalm.study.builds`), and compares it with the good commit as `compare` does, in one study for each commit. It
records the result (`becalm.study.bisect_journal`), so that the same command continues after a killed one.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from msgspec.structs import replace

from becalm.errors import Interrupted, UsageError, WorkloadError
from becalm.hosts import which_machine
from becalm.nouns.metric import Response
from becalm.nouns.option import parse_keywords, refuse_unknown
from becalm.nouns.options.bisect import BisectOptions
from becalm.nouns.options.measuring import CompareOptions
from becalm.nouns.signature import takes
from becalm.nouns.workload import CommandLine, Workload, split
from becalm.plans.bisection import Bisection, Done
from becalm.plans.schedule import Schedule
from becalm.results.bisect import BisectResult, Probe
from becalm.results.compare import Difference
from becalm.stats.ancestry import Ancestry, places_of
from becalm.stats.arrays import Floats
from becalm.stats.noisy_bisection import BisectionStep, step
from becalm.study.bisect_journal import Journal
from becalm.study.builds import Builds, discard
from becalm.study.interleaved import measure_interleaved
from becalm.study.looks import Looks
from becalm.study.repository import CommitRange, Repository
from becalm.study.search_schedule import SearchSchedule
from becalm.study.session_options import SessionOptions, WithProfile
from becalm.study.session_options import split_keywords as sorted_options
from becalm.wording import bisect as words

if TYPE_CHECKING:
    from becalm.verbs.keywords import BisectKeywords

NORMAL = 1.959964


@takes(BisectOptions, Response, CommandLine, Workload, WithProfile, SessionOptions, without=("name", "directory"))
def bisect(
    good: str,
    bad: str,
    *,
    run: str | Sequence[str],
    build: str | Sequence[str] = (),
    **keywords: Unpack[BisectKeywords],
) -> BisectResult:
    """Find the commit between two that changed how long a program takes.

    Arguments:
        good, bad: commits; `good` leads to `bad`.
        run: the program, run in the top directory of each built commit.
        build: the command that builds it there; empty for none. Neither is passed to a shell.

    The same call continues a search that was interrupted. Raises UsageError, MachineError, StoreError, and
    WorkloadError when the good or the bad commit cannot be built or run.
    """
    refuse_unknown(keywords, BisectOptions, Response, CommandLine, Workload, WithProfile, SessionOptions)
    options = BisectOptions(**parse_keywords(BisectOptions, keywords))
    _, session, program = sorted_options(CompareOptions, keywords, BisectOptions, Response, WithProfile)
    if which_machine(session.host_name) is not None:
        raise UsageError("Commits are built on this machine, and measured here: leave --host out.")
    repository = Repository.of(options.repository)
    between = repository.between(good, bad)
    workload = Workload.of(run, **program).measuring(Response.of(keywords))
    command = split(build) if build else ()
    journal = Journal.of(
        str(repository.top),
        between.good,
        between.commits[-1],
        command,
        workload.to_json(),
        session.settings.to_json(),
        options.schedule,
    )
    graph = Ancestry(places_of(between.parents, between.commits))
    earlier = between.forked_earlier
    forked = frozenset(place for place, name in enumerate(between.commits, start=1) if name in earlier)
    plan = Bisection(graph, options.error, options.pairs, forked=forked)
    search = _Search(repository, between, workload, session, options, journal, plan)
    if options.again:
        search.remove_left()
        journal.forget()
    search.skip({repository.name_of(commit) for commit in options.skip})
    search.remember()
    with Builds.private(repository, command, options.build_timeout_ns / 1e9, between.good) as builds:
        journal.write(kind="trees", root=str(builds.root))
        try:
            result = search.through(builds)
        except (Interrupted, KeyboardInterrupt):
            # Also during a build, or before the first pair of runs: the journal has all results.
            raise Interrupted(words.INTERRUPTED) from None
    journal.forget()
    return result


@dataclass(slots=True)
class _Search:
    """A search: its commits from good to bad, and its results so far."""

    repository: Repository
    between: CommitRange
    workload: Workload
    session: SessionOptions
    options: BisectOptions
    journal: Journal
    plan: Bisection
    reasons: dict[str, str] = field(default_factory=dict)
    studies: list[int] = field(default_factory=list)
    built: int = 0
    schedule: SearchSchedule = field(init=False)
    places: dict[str, int] = field(init=False)
    forked_earlier: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.schedule = SearchSchedule(Schedule(self.options.schedule))
        self.places = {commit: place for place, commit in enumerate(self.between.commits, start=1)}
        self.forked_earlier = self.between.forked_earlier

    @property
    def good(self) -> str:
        """The commit that all others are compared with, directly or by their fork from its past."""
        return self.between.good

    @property
    def bad(self) -> str:
        """The last commit."""
        return self.between.commits[-1]

    def skip(self, commits: set[str]) -> None:
        """Leave out the commits that the user wants to skip."""
        for commit in commits & self.places.keys() - {self.bad}:
            self._unusable(commit, "left out by --skip")

    def remember(self) -> None:
        """Read the results of an interrupted search."""
        done = 0
        for line in self.journal.lines():
            match line.get("kind"):
                case "trees":
                    discard(self.repository, Path(str(line["root"])))
                case "schedule" if self.schedule.piloting:
                    self.schedule = SearchSchedule(Schedule(line["schedule"]))
                case "unusable" if line.get("commit") in self.places:
                    self._unusable(line["commit"], str(line["reason"]))
                case "measured" if line.get("commit") in self.places:
                    self.plan.take(
                        self.places[line["commit"]], [float(difference) for difference in line["differences"]]
                    )
                    self.studies += [line["study"]] if line.get("study") else []
                    done += len(line["differences"])
        if done:
            self.session.listener.warned(words.goes_on(done))

    def remove_left(self) -> None:
        """Remove the working trees of a killed search."""
        for line in self.journal.lines():
            if line.get("kind") == "trees":
                discard(self.repository, Path(str(line["root"])))

    def through(self, builds: Builds) -> BisectResult:
        """Run the search to its end."""
        self._build(builds, self.good)
        while not isinstance(step := self.plan.step(), Done):
            commit = self.between.commits[step.place - 1]
            base = self._base(builds, commit)
            if base is None or (tree := self._build(builds, commit)) is None:
                continue
            self.plan.built = {self.places[name] for name in builds.trees if name in self.places}
            self.session.listener.warned(words.measuring(commit, step.count, len(self.places), self.plan.posterior))
            self._measure((base, builds.trees[base]), (commit, tree), step.count)
        return self._result(step)

    def _base(self, builds: Builds, commit: str) -> str | None:
        """Return the built commit to compare with: good, or the commit where this commit's branch left good's past.

        A branch that was forked earlier lacks the later commits of good, so that only its own commits may differ.
        """
        if commit not in self.forked_earlier:
            return self.good
        base = self.repository.base(self.good, commit)
        if not base:
            self._lost(commit, f"it has no commit in common with {words.short(self.good)}")
            return None
        place, reason = self._tree(builds, base)
        if place is None:
            self._lost(commit, f"{words.short(base)}, where its branch began, cannot be measured: {reason}")
            return None
        return base

    def _tree(self, builds: Builds, commit: str) -> tuple[Path | None, str]:
        known = commit in builds.trees
        if not known:
            self.session.listener.warned(words.building(commit, bool(builds.command)))
        place, reason = builds.get(commit)
        self.built += not known
        return (None if reason else place), reason

    def _build(self, builds: Builds, commit: str) -> Path | None:
        place, reason = self._tree(builds, commit)
        if place is not None:
            return place
        if commit in (self.good, self.bad):
            which = "good" if commit == self.good else "bad"
            hint = words.lacking(self.repository.has_submodules)
            raise WorkloadError(f"The {which} commit {words.short(commit)} cannot be measured: {reason}.\n{hint}")
        self._lost(commit, reason)
        return None

    def _measure(self, base: tuple[str, Path], other: tuple[str, Path], count: int) -> None:
        """Run both programs as often as the schedule asks and record the result."""
        commit, _ = other
        differences: list[float] = []
        pilot = self.schedule.piloting

        def take(looks: Looks) -> tuple[Difference, ...]:
            if pilot and looks.history.interrupted:
                # Both schedules are measured again when the search continues.
                return ()
            differences.extend(self.schedule.take(looks))
            return ()

        both = [
            dataclasses.replace(self.workload, name=f"{self.workload.name} at {words.short(name)}", directory=str(tree))
            for name, tree in (base, other)
        ]
        options = self.schedule.options(count)
        session = dataclasses.replace(
            self.session, title=f"bisect: {words.short(commit)} against {words.short(base[0])}"
        )
        study = session.study("compare", both, options)
        try:
            verdict = measure_interleaved(study, options, session, take)
        except WorkloadError as error:
            if commit == self.bad:
                raise WorkloadError(f"{error}\n{words.lacking(self.repository.has_submodules)}") from None
            self._lost(commit, f"it does not run: {str(error).splitlines()[0]}")
            return
        if len(differences) < count and verdict.stopped == "interrupted":
            if differences:
                self._keep(commit, differences, verdict.study)
            raise Interrupted(words.INTERRUPTED)
        if verdict.stopped == "a workload failed" and commit != self.bad:
            self._lost(commit, "runs of it failed")
            return
        if verdict.exit_code == 4:
            raise WorkloadError(
                f"Runs of the bad commit {words.short(commit)} or the good one failed:\n{verdict.sentence}\n"
                f"{words.lacking(self.repository.has_submodules)}"
            )
        self._keep(commit, differences, verdict.study)

    def _keep(self, commit: str, differences: list[float], study: int | None) -> None:
        if self.options.schedule == Schedule.AUTO:
            self.journal.write(kind="schedule", schedule=str(self.schedule.schedule))
        self.journal.write(kind="measured", commit=commit, differences=differences, study=study)
        self.plan.take(self.places[commit], differences)
        self.studies += [study] if study else []

    def _lost(self, commit: str, reason: str) -> None:
        self.session.listener.warned(words.skipped(commit, reason))
        self.journal.write(kind="unusable", commit=commit, reason=reason)
        self._unusable(commit, reason)

    def _unusable(self, commit: str, reason: str) -> None:
        self.reasons[commit] = reason
        self.plan.unusable.add(self.places[commit])

    def _result(self, end: Done) -> BisectResult:
        subjects = self.repository.subjects([self.good, *self.between.commits])
        reference = self.plan.reference
        suspects = tuple(self.between.commits[place - 1] for place in end.suspects)
        alone = len(suspects) == 1 and end.probability >= 1 - self.options.error
        first = suspects[0] if alone else ""
        size, low, high = (None, None, None) if reference is None else _interval(reference)
        before = self.plan.before
        result = BisectResult(
            good=self.good,
            bad=self.bad,
            first=first,
            subject=subjects.get(first, ""),
            merge=self._merge(end.suspects),
            suspects=() if alone else suspects,
            probability=end.probability,
            error=self.options.error,
            size=size,
            low=low,
            high=high,
            commits=len(self.places),
            pairs=self.options.pairs,
            runs=self.schedule.runs * sum(map(len, self.plan.differences.values())),
            builds=self.built,
            probes=tuple(self._probe(place, subjects, before) for place in sorted(self.plan.differences)),
            unusable=dict(self.reasons),
            studies=tuple(self.studies),
            at_once=self.schedule.schedule is Schedule.AT_ONCE,
            turns_because=self.schedule.reason,
        )
        return replace(result, sentence=words.result_lines(result))

    def _merge(self, suspects: tuple[int, ...]) -> str:
        """Return the merge that is the last suspect and brings in all others; empty where there is none."""
        if not suspects or len(self.between.parents[suspects[-1] - 1]) < 2:
            return ""
        inside = self.plan.ancestry.ancestors(suspects[-1])
        first = self.plan.ancestry.parents[suspects[-1] - 1][:1]
        if first and self.between.commits[first[0] - 1] == self.between.parents[suspects[-1] - 1][0]:
            inside &= ~self.plan.ancestry.ancestors(first[0])
        return self.between.commits[suspects[-1] - 1] if all(inside[place - 1] for place in suspects) else ""

    def _probe(self, place: int, subjects: dict[str, str], before: Floats) -> Probe:
        differences = self.plan.differences[place]
        commit = self.between.commits[place - 1]
        size, low, high = (
            _interval(step(differences)) if len(differences) > 1 else (math.expm1(differences[0]), -1.0, math.inf)
        )
        return Probe(commit, subjects.get(commit, ""), size, low, high, len(differences), float(before[place - 1]))


def _interval(result: BisectionStep) -> tuple[float, float, float]:
    """Return a difference of logarithms and the ends of its 95 % interval, as fractions."""
    reach = NORMAL * result.error
    size, low, high = (math.expm1(min(50.0, result.size + way * reach)) for way in (0, -1, 1))
    return size, low, high
