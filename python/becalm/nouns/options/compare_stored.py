"""The options of `compare --stored`: further sessions, and the limit of a difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from becalm.nouns.option import StudyOptions, option
from becalm.nouns.options.measuring import accepted, confidence, limit
from becalm.units import fraction


def _sources(sources: Sequence[str | int]) -> tuple[str, ...]:
    return tuple(map(str, sources))


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherSessions(StudyOptions):
    """The options for further sessions of both sides, and for the accepted difference."""

    more_old: tuple[str, ...] = option(
        (),
        "With --stored: another session of the old programs, to estimate shifts between sessions.",
        Sequence[str | int],
        metavar="FILE|ID",
        repeats=True,
        parse=_sources,
    )
    more_new: tuple[str, ...] = option(
        (),
        "With --stored: another session of the new programs.",
        Sequence[str | int],
        metavar="FILE|ID",
        repeats=True,
        parse=_sources,
    )
    shift: float | None = option(
        None,
        "With --stored: largest shift between sessions of one program, if known: 3%.",
        float | str | None,
        unit="fraction",
        metavar="SHARE",
        parse=fraction,
    )
    confidence: float = confidence()
    fail_above: float | None = limit()
    undecided: str = accepted()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareStoredOptions(FurtherSessions):
    """The options of comparing stored runs of two sessions."""

    store: str | None = option(
        None, "Store of all studies.", str | None, metavar="FILE|URL", shown="BECALM_STORE, else your own"
    )
