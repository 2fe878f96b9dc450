"""The options of a designed experiment: a program beside known loads, by plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from becalm.nouns.option import StudyOptions, option

FEWEST, MOST, USUAL = 20, 60, 30
"""Runs of a plan: below the first nothing can be told apart, above the last it is no longer a question of runs."""


@dataclass(frozen=True, slots=True)
class PlannedLoads:
    """The plan that was drawn: highest level and variance inflation of each factor, and the levels step by step."""

    factors: Mapping[str, float]
    inflation: Mapping[str, float]
    steps: tuple[Mapping[str, float], ...]


def _kinds(given: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(given.split(",") if isinstance(given, str) else given)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadExperimentOptions(StudyOptions):
    """The amounts and kinds of loads. `design` is drawn from them: runs of round r had the levels of its step r."""

    steps: int = option(USUAL, f"Number of loads to plan, {FEWEST} to {MOST}, including none.", int, metavar="N")
    loads: tuple[str, ...] | None = option(
        None,
        "Kinds of load: cpu,memory,disk,network.",
        str | Sequence[str] | None,
        metavar="LIST",
        shown="all that this machine allows",
        parse=_kinds,
    )
    disk: str = option("/var/tmp", "Directory on the disk to load.", str, metavar="DIR")
    design: PlannedLoads | None = None
