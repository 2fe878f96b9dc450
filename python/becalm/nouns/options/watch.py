"""The options of `watch -- COMMAND`: one run, and what it is held against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from becalm.nouns.option import StudyOptions, option, parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions(StudyOptions):
    """`unloaded`: the reference, as times of an unloaded run (`becalm.load.time_accounting`) or `wall_ns` alone."""

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
        return cls(**parsed(cls, keywords))
