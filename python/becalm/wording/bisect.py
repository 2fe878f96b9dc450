"""Sentences of a bisection."""

from __future__ import annotations

from collections.abc import Iterable

from becalm.results.bisect import BisectResult
from becalm.units import join_names
from becalm.wording.history import short as short
from becalm.wording.history import size
from becalm.wording.numbers import counted, percent

INTERRUPTED = "Interrupted. The same command goes on from here."


def goes_on(pairs: int) -> str:
    """Return the sentence about continuing an interrupted search."""
    return f"Continuing an interrupted search: {counted(pairs, 'pair')} of runs are known. --again starts anew."


def building(commit: str, builds: bool) -> str:
    """Return the sentence about building or checking out a new commit."""
    return f"{'Building' if builds else 'Checking out'} {short(commit)}."


def measuring(commit: str, count: int, commits: int, posterior: Iterable[float]) -> str:
    """Return the sentence about the current measurement, with the number of commits that may still be the one."""
    left = possible(posterior)
    of = counted(commits, "commit")
    return f"Measuring {short(commit)}, {counted(count, 'pair')} of runs; {left:,} of {of} are still possible."


def possible(posterior: Iterable[float], share: float = 0.99) -> int:
    """Return the smallest number of commits that together have this share of the probability."""
    passed = 0.0
    for count, probability in enumerate(sorted(posterior, reverse=True), start=1):
        passed += probability
        if passed >= share:
            return count
    return 0


def lacking(submodules: bool) -> str:
    """Return the sentence on what the working tree of a commit lacks; programs and builds may need it."""
    if submodules:
        return (
            "This repository has submodules. The working tree of a commit lacks them, and files that git ignores. "
            "Fetch them in the build: build sh -c 'git submodule update --init && make'."
        )
    return (
        "Each commit has its own working tree, which lacks files that git ignores or does not know; "
        "`build` may copy them there."
    )


def skipped(commit: str, reason: str) -> str:
    """Return the sentence about a commit that cannot be measured."""
    return f"Skipping {short(commit)}: {reason}."


def result_lines(result: BisectResult) -> str:
    """Return the whole result, in a few lines."""
    turns = f"The programs took turns: {result.turns_because}." if result.turns_because else ""
    at_once = "Both commits of each pair ran at the same time." if result.at_once else ""
    return "\n".join(line for line in (_result_line(result), at_once or turns) if line)


def _result_line(result: BisectResult) -> str:
    """Return the result without its schedule."""
    work = (
        f"{counted(result.runs, 'run')} and {counted(result.builds, 'build')} over {counted(result.commits, 'commit')}"
    )
    if result.size is None or result.low is None or result.high is None:
        return f"Nothing was measured: {work}."
    whole = size(result.size, (result.high - result.low) / 2)
    if not result.first and not result.suspects:
        return _undecided(result, whole, work)
    way = "slower" if result.size > 0 else "faster"
    sure = f"with a probability of {percent(result.probability, 0.01)} %"
    if result.first:
        subject = f" ({result.subject})" if result.subject else ""
        merge = f"It is a merge: none of the commits that it brings in is {way} by itself.\n" if result.merge else ""
        return (
            f"{short(result.first)}{subject} made it {way}, {sure}.\n{merge}"
            f"The change from good to bad is {whole}; {work}. {percent(result.error)} % error over all steps was "
            "allowed."
        )
    return (
        f"It became {way} ({whole}) with {_suspects(result)}, {sure}. These commits cannot be told "
        f"apart, because some cannot be measured or differ by less; {work}."
    )


def _suspects(result: BisectResult) -> str:
    """Return the commits that cannot be told apart; for a merge, with the command that lists them."""
    if result.merge and len(result.suspects) > 1:
        merge, count = short(result.merge), len(result.suspects) - 1
        return (
            f"the merge {merge} or {'the commit' if count == 1 else f'one of the {count} commits'} that it brings in "
            f"(git log {merge}^1..{merge})"
        )
    names = join_names([short(commit) for commit in result.suspects[:6]])
    more = f" and {len(result.suspects) - 6} more" if len(result.suspects) > 6 else ""
    return f"one of {names}{more}"


def _undecided(result: BisectResult, whole: str, work: str) -> str:
    """Return the sentence about a difference between good and bad that is too uncertain to search for."""
    assert result.size is not None
    assert result.low is not None
    assert result.high is not None
    more = f"More runs may tell: --pairs {4 * result.pairs}."
    both = f"{short(result.bad)} and {short(result.good)}"
    if result.low <= 0 <= result.high:
        return f"No difference between {both} was seen: {whole}; {work}. {more}"
    way = "slower" if result.size > 0 else "faster"
    return (
        f"{short(result.bad)} is probably {way} than {short(result.good)} ({whole}), but not surely enough to search "
        f"for the commit; {work}. {more}"
    )
