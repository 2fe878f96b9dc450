"""Sentences about the history of a project and its sessions."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from becalm.nouns.options.record import RecordOptions
from becalm.results.compare import Verdict
from becalm.results.history import BenchmarkChange, Timeline
from becalm.results.record_commits import RecordedCommits
from becalm.units import join_names
from becalm.wording.numbers import are, counted, percent

Numbers = Mapping[str, Any]

TOO_NOISY = 1.0
"""The smallest visible change, a fraction, above which a benchmark is called too noisy."""

SHORT = 10
"""The number of characters of a commit's name that are shown."""

ORDERS = {
    "git": "in git's order",
    "ordinal": "by the number of commits that lead to each",
    "commit date": "by the dates of the commits",
    "as recorded": "in the order in which they were recorded",
}


def short(commit: str) -> str:
    """Return the name of a commit as it is shown."""
    hexadecimal = len(commit) == 40 and all(character in "0123456789abcdef" for character in commit)
    return commit[:SHORT] if hexadecimal else commit


def left_out(studies: Sequence[int], project: str) -> str:
    """Return the sentence about damaged sessions. `project`: empty if its name cannot be read either."""
    of_project = repr(project) if project else "a project whose name cannot be read"
    return (
        f"The store is damaged: {counted(len(studies), 'session')} of {of_project} (study "
        f"{join_names(map(str, studies))}) cannot be read and {are(len(studies))} left out. "
        "`becalm list` and `becalm show N` report what is damaged."
    )


def changed(commit: str) -> str:
    """Return the sentence about a working tree that differs from its commit."""
    return (
        f"The working tree has changes that are not in {short(commit)}: they may affect what is measured. "
        "The session is marked."
    )


def recorded(options: RecordOptions, verdict: Verdict, failed: Sequence[str]) -> str:
    """Return the result of a session, in one line or a few. `failed`: benchmarks with failed runs."""
    place = f"{options.project}, commit {short(options.commit)}"
    if options.branch:
        place += f" on {options.branch}"
    runs = sum(summary.runs for summary in verdict.summaries)
    session = f", session {verdict.study}" if verdict.study is not None else ""
    lines = [f"Recorded {counted(len(verdict.summaries), 'benchmark')} of {place}: {runs:,} runs{session}."]
    if failed:
        lines.append(f"Runs of {join_names(failed)} failed.")
    if options.baseline:
        again = shlex.join(("becalm", "history", "--baseline", options.baseline))
        lines.append(f"It is the baseline {options.baseline!r}: {again}")
    return "\n".join(lines)


RANGE_INTERRUPTED = "Interrupted. The same command goes on with the commits that have no session yet."


def recording(commit: str, subject: str, number: int, count: int) -> str:
    """Return the sentence about the next commit of a range."""
    return f"Recording {short(commit)} ({subject[:50]}), {number} of {counted(count, 'commit')}."


def not_recorded(commit: str, reason: str) -> str:
    """Return the sentence about a commit of a range that cannot be built or measured."""
    return f"{short(commit)} is left out: {reason}"


def recorded_range(recorded: RecordedCommits) -> str:
    """Return the result of recording a range of commits, in two lines."""
    fresh = [commit for commit in recorded.commits if commit.study is not None and not commit.known]
    known = sum(commit.known for commit in recorded.commits)
    lost = sum(commit.study is None for commit in recorded.commits)
    text = f"Recorded {counted(len(fresh), 'commit')} of {recorded.project} in {recorded.range}"
    text += f"; {known:,} {'was' if known == 1 else 'were'} recorded already" if known else ""
    text += f"; {lost:,} could not be recorded" if lost else ""
    return f"{text}.\nTo see which commit changed what: becalm history {shlex.quote(recorded.project)}"


def history(timeline: Timeline) -> str:
    """Return the summary of a history, in a few lines."""
    if not timeline.sessions:
        return f"No session of {timeline.project!r} is recorded. `becalm record` keeps a session at a commit."
    commits = len({session.commit for session in timeline.sessions})
    lines = [
        f"{timeline.project}: {counted(len(timeline.benchmarks), 'benchmark')} in "
        f"{counted(len(timeline.sessions), 'session')} "
        f"at {counted(commits, 'commit')}, {ORDERS[timeline.order]}."
    ]
    worse, better = (
        sum(benchmark_change.worse is way for benchmark_change in timeline.changes) for way in (True, False)
    )
    lines.append(
        f"{counted(len(timeline.changes), 'change')}: {worse} for the worse, {better} for the better. "
        f"Without changes, one would be named by chance in about {round(1 / timeline.rate, -2):,.0f} commits."
        if timeline.changes
        else f"No change was found; one by chance is expected in about {round(1 / timeline.rate, -2):,.0f} commits."
    )
    learning = [benchmark.lacking for benchmark in timeline.benchmarks if benchmark.lacking and not benchmark.gone]
    if learning:
        lines.append(
            f"Too little is known yet of {counted(len(learning), 'benchmark')}: changes can be seen after at most "
            f"{counted(max(learning), 'more session')}."
        )
    return "\n".join(lines)


def alarmed(timeline: Timeline) -> Timeline:
    """Return the history marked as a failure where the newest session shows a change, with the sentence on it."""
    lines = [
        f"Seen with the newest session: {change(timeline, benchmark_change)}" for benchmark_change in timeline.newest
    ]
    text = "\n".join((timeline.sentence, *(lines or ["The newest session has shown no change for the worse."])))
    return replace(timeline, fail_on_change=True, sentence=text)


def change(timeline: Timeline, benchmark_change: BenchmarkChange) -> str:
    """Return the sentence about a change."""
    name = (
        "All benchmarks" if benchmark_change.benchmark is None else timeline.benchmarks[benchmark_change.benchmark].name
    )
    first = timeline.sessions[benchmark_change.at]
    way = "together became" if benchmark_change.benchmark is None else "became"
    half = (benchmark_change.high - benchmark_change.low) / 2
    between = (
        f", or one of {counted(benchmark_change.unmeasured, 'commit')} before it that were not measured"
        if benchmark_change.unmeasured
        else ""
    )
    return (
        f"{name} {way} {'worse' if benchmark_change.worse else 'better'} by "
        f"{size(benchmark_change.size, half)} with {short(first.commit)}"
        f"{between}."
    )


def size(value: float, half: float) -> str:
    """Return the size of a change with its uncertainty."""
    return f"{percent(value, half, sign=True)} ± {percent(half, half)} %"


def rarely(one_in: float) -> str:
    """Return how rarely chance causes a change, such as "1 in 1,000"."""
    if one_in >= 1e9:
        return "< 1 in 1,000,000,000"
    digits = len(f"{one_in:.0f}")
    return f"1 in {round(one_in, 1 - digits):,.0f}"


def other_machine(program: str, n: Numbers) -> str:
    """Return the sentence about sessions that cannot be compared with earlier ones."""
    which = f"{n['machine']}, Linux {n['kernel']}" if n["kernel"] else n["machine"]
    return (
        f"From commit {short(n['commit'])} on there are sessions of another machine, kernel or settings "
        f"({which}), which are not compared with the others: that needs at least "
        f"{n['needed']} sessions of each at the same commits."
    )


def other_unit(program: str, n: Numbers) -> str:
    """Return the sentence about a benchmark whose unit changed."""
    units = join_names([unit or "no unit" for unit in n["units"]])
    return f"{program} was recorded in {units}: each has its own history."


def gone(program: str, n: Numbers) -> str:
    """Return the sentence about a benchmark that is no longer recorded."""
    result = f"{program} was last recorded at commit {short(n['commit'])}."
    if n["new"]:
        joined = shlex.quote(f"{program}={n['new'][0]}")
        result += f" If it is called {' or '.join(n['new'][:3])} now, --rename {joined} joins them."
    return result


def lost_commits(program: str, n: Numbers) -> str:
    """Return the sentence about commits dropped by a rebase, a squash or another clone."""
    names = [short(name) for name in n["commits"]]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    which = f"{'Commit' if len(names) == 1 else 'Commits'} {join_names(names[:5])}{more} {are(len(names))}"
    return (
        f"{which} not in this repository (rebased, squashed, or of another clone): "
        "their sessions are shown where they were measured, the others in git's order."
    )


def stray_sessions(program: str, n: Numbers) -> str:
    """Return the sentence about single values far from those of the sessions around them."""
    values = [f"{name} at {short(commit)}" for name, commit in n["values"]]
    more = f" and {len(values) - 5} more" if len(values) > 5 else ""
    which = f"{len(values)} of {n['of']} values {are(len(values))} far from those of the sessions around"
    return (
        f"{which}: {join_names(values[:5])}{more}. What does not last is not a change, and does not influence a level."
    )


def visible(value: float) -> str:
    """Return the smallest change that would be seen; empty where it is unknown."""
    if not math.isfinite(value):
        return ""
    return f"{percent(value)} %" if value <= TOO_NOISY else "too noisy"


def clock_stepped(program: str, n: Numbers) -> str:
    """Return the sentence about clocks that went back."""
    times = counted(n["times"], "time")
    rests = "rests on commits' dates" if n["order"] == "commit date" else "does not rest on clocks"
    return f"The clock of a machine went back {times} from one session to the next; their order {rests}."


def uncommitted(program: str, n: Numbers) -> str:
    """Return the sentence about sessions of changed working trees."""
    return f"{counted(n['sessions'], 'session')} had changes in the working tree that are in no commit."
