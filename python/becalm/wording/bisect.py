"""What a bisection says."""

from __future__ import annotations

from collections.abc import Iterable

from becalm.nouns.bisection import BisectResult
from becalm.units import listed
from becalm.wording.history import short as short
from becalm.wording.history import size
from becalm.wording.measurement import counted
from becalm.wording.numbers import percent

INTERRUPTED = "Interrupted. The same command goes on from here."


def goes_on(pairs: int) -> str:
    """An interrupted search goes on."""
    return f"Going on with an interrupted search: {counted(pairs, 'pair')} of runs are known. --again begins anew."


def building(commit: str, builds: bool) -> str:
    """What is done with a commit that is new."""
    return f"{'Building' if builds else 'Checking out'} {short(commit)}."


def measuring(commit: str, count: int, commits: int, posterior: Iterable[float]) -> str:
    """What is measured now, and how much is known."""
    left = possible(posterior)
    of = counted(commits, "commit")
    return f"Measuring {short(commit)}, {counted(count, 'pair')} of runs; {left:,} of {of} may be the one."


def possible(posterior: Iterable[float], share: float = 0.99) -> int:
    """Fewest commits that hold so much of the probability."""
    passed = 0.0
    for count, each in enumerate(sorted(posterior, reverse=True), start=1):
        passed += each
        if passed >= share:
            return count
    return 0


def skipped(commit: str, reason: str) -> str:
    """A commit that cannot be measured."""
    return f"Skipping {short(commit)}: {reason}."


def found(result: BisectResult) -> str:
    """The whole in some lines."""
    made = (
        f"{counted(result.runs, 'run')} and {counted(result.builds, 'build')} over {counted(result.commits, 'commit')}"
    )
    if result.size is None or result.low is None or result.high is None:
        return f"Nothing was measured: {made}."
    whole = size(result.size, (result.high - result.low) / 2)
    if not result.first and not result.suspects:
        return (
            f"{short(result.bad)} does not differ from {short(result.good)} as far as was seen: {whole}; {made}. "
            "More runs may tell: --pairs."
        )
    way = "slower" if result.size > 0 else "faster"
    if result.first:
        subject = f" ({result.subject})" if result.subject else ""
        return (
            f"{short(result.first)}{subject} made it {way}, with a probability of "
            f"{percent(result.probability, 0.01)} %.\n"
            f"From good to bad it is {whole}; {made}. {percent(result.error)} % error over all steps was allowed for."
        )
    names = listed([short(each) for each in result.suspects[:6]])
    more = f" and {len(result.suspects) - 6} more" if len(result.suspects) > 6 else ""
    return (
        f"It became {way} ({whole}) with one of {names}{more}, with a probability of "
        f"{percent(result.probability, 0.01)} %: what lies between cannot be measured, or differs by less; {made}."
    )
