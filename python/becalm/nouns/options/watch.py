"""The options of `watch -- COMMAND`: one run, and the reference with which it is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from becalm.nouns.option import StudyOptions, option, parse_keywords


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions(StudyOptions):
    """The options of one watched run.

    `unloaded`: the reference, as the times of an unloaded run (`becalm.load.time_accounting`) or only its `wall_ns`.
    """

    unloaded: Mapping[str, int | float | str | None] | None = None


@dataclass(frozen=True, slots=True)
class WatchReference:
    """The time that the program takes on an idle machine."""

    reference: str | float | None = option(
        None,
        "Time on an idle machine: 1.2s, or a study's number or file.",
        str | float | None,
        unit="seconds",
        metavar="TIME|STUDY",
        shown="its own CPU time",
    )

    @classmethod
    def of(cls, keywords: Mapping[str, object]) -> Self:
        """Return the value for keyword arguments. Raises UsageError."""
        return cls(**parse_keywords(cls, keywords))
