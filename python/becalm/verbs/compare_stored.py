"""`becalm compare --stored`: runs of different times against each other, and how far to believe the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from becalm.analysis.compare_stored import compare_sessions
from becalm.errors import UsageError
from becalm.nouns.option import refuse_unknown
from becalm.nouns.options.compare_stored import CompareStoredOptions
from becalm.nouns.signature import takes
from becalm.results.compare_stored import StoredComparison, StoredSession
from becalm.study.stored import Warned
from becalm.study.stored_sessions import stored_session
from becalm.wording import compare_stored as words

if TYPE_CHECKING:
    from becalm.verbs.keywords import CompareStoredKeywords


@takes(CompareStoredOptions)
def compare_stored(
    old: str | int, new: str | int, *, warned: Warned | None = None, **keywords: Unpack[CompareStoredKeywords]
) -> StoredComparison:
    """Compare runs of two times, benchmark by benchmark, by name.

    Arguments:
        old, new: a study's number, "last" or title, or a file of becalm, pyperf, hyperfine, Google Benchmark,
            pytest-benchmark, or of `go test -bench`; for Criterion the directory
            `target/criterion`, with `@BASELINE` for one of that name.
        warned: called with a sentence about runs recovered from killed becalms.

    All intervals hold together at `confidence`. With further sessions of the same programs they take into account how
    far sessions shift by themselves; without, they do not, and a limit stays undecided unless `shift` bounds it.

    Raises UsageError for a source that does not exist, cannot be read, or is named twice; StoreError.
    """
    refuse_unknown(dict(keywords), CompareStoredOptions)
    options = CompareStoredOptions.of(keywords)
    sources: list[list[str | int]] = [[old, *options.more_old], [new, *options.more_new]]
    named = [str(source) for side in sources for source in side]
    if twice := [name for name in named if named.count(name) > 1]:
        raise UsageError(f"{twice[0]} is named twice: a session compared with itself says nothing. Name another one.")
    sides = [[stored_session(source, options.store, warned=warned) for source in side] for side in sources]
    _refuse_copies(sides)
    comparison = compare_sessions(
        sides[0],
        sides[1],
        confidence=options.confidence,
        shift=options.shift,
        fail_above=options.fail_above,
        undecided=options.undecided,
    )
    return words.worded(comparison)


def _refuse_copies(sides: Sequence[Sequence[StoredSession]]) -> None:
    """Raise UsageError for a session that is compared with itself, or that counts twice on one side."""
    origins: dict[str, str] = {}
    for session in (session for side in sides for session in side):
        if session.origin in origins:
            first = origins[session.origin]
            raise UsageError(f"{first} and {session.title} are the same session: compared with itself it says nothing.")
        origins[session.origin] = session.title
    for side in sides:
        content: dict[str, str] = {}
        for session in side:
            if session.series and (first := content.setdefault(session.content, session.title)) != session.title:
                raise UsageError(
                    f"{first} and {session.title} hold the same runs: one session must not count as two. Leave one out."
                )
