"""The options of a designed experiment with a program next to known loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from becalm.nouns.option import StudyOptions, option

FEWEST, MOST, USUAL = 20, 60, 30
"""The smallest and the largest number of runs of a plan: with fewer no effects can be told apart, more do not help."""


class PlannedLoads(msgspec.Struct, frozen=True):
    """The drawn plan: the highest level and the variance inflation of each factor, and the levels of each step."""

    factors: Mapping[str, float]
    inflation: Mapping[str, float]
    steps: tuple[Mapping[str, float], ...]


def _kinds(value: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(value.split(",") if isinstance(value, str) else value)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadExperimentOptions(StudyOptions):
    """The amounts and kinds of loads. `design`: the plan drawn from them; runs of round r have the levels of step r."""

    steps: int = option(
        USUAL, f"Number of loads to plan, {FEWEST} to {MOST}, including the one without load.", int, metavar="N"
    )
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
