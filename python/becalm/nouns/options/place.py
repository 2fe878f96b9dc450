"""The options of `place` and `place simulate`: the chips, the algorithm, its objective, and the time for the search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from becalm.errors import UsageError
from becalm.nouns.option import option, parse_keywords
from becalm.units import duration_ns

BUDGET = "10s"


def _chips(text: str | None) -> tuple[tuple[int, int], ...] | None:
    if text is None:
        return None
    result = []
    for word in text.split("/"):
        cores, _, threads = word.strip().partition("x")
        if not (cores.isdecimal() and (not threads or threads.isdecimal())):
            raise UsageError(
                f"{text!r} does not describe chips. Write the number of cores of each: 4/4, or 2x2/2x2 for cores of "
                "two threads."
            )
        result.append((int(cores), int(threads or 1)))
    return tuple(result)


def _seconds(value: float | str) -> float:
    return duration_ns(value) / 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceOptions:
    """The options of a placement. `chips`: cores and threads of a core, of each chip; None: those of the profile.
    `objective`: a value of `becalm.results.place_costs.PlacementObjective`."""

    method: str = option("optimal", "Placement algorithm.", str, metavar="NAME")
    chips: tuple[tuple[int, int], ...] | None = option(
        None,
        "Cores of each chip: 4/4; 2x2/2x2: cores with two threads.",
        str | None,
        shown="those of the profile",
        parse=_chips,
    )
    objective: str = option("degradation", "Average to minimise.", str, choices=("degradation", "slowdown"))
    seed: int = option(0, "Seed of random methods.", int, metavar="N")
    budget_s: float = option(
        BUDGET,
        "Time budget of each search.",
        float | str,
        name="budget",
        unit="seconds",
        metavar="DURATION",
        parse=_seconds,
    )

    @classmethod
    def of(cls, keywords: Mapping[str, object]) -> Self:
        """Return the value for keyword arguments; None stands for the default. Raises UsageError."""
        return cls(**parse_keywords(cls, keywords))
