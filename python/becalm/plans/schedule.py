"""The schedule of compared programs: one after the other, or at the same time."""

from __future__ import annotations

from enum import StrEnum

import msgspec

DOUBT = 2.0
"""Distance between the differences of both schedules from which they seem to disagree, standard errors."""


class Schedule(StrEnum):
    """A schedule that a user can request. AUTO: the schedule that is more precise per second, by measurement. BOTH:
    equally many groups of runs in both, from which later studies choose."""

    TURNS = "turns"
    AT_ONCE = "at-once"
    AUTO = "auto"
    BOTH = "both"


MEASURED = (Schedule.AUTO, Schedule.BOTH)
"""Schedules that measure both ways, so that the runs show which tells more."""


CPU_SETTINGS = ("cpus", "isolation", "isolcpus", "nohz_full", "smt", "online_cpus", "process_cpus", "policy")
"""Settings that take CPUs away or give them to one program."""


class BackToTurns(StrEnum):
    """The reason why programs no longer run at once."""

    FEW = "few"
    """Too few runs fit in the budget to find out whether running at once helps."""

    SLOWED = "slowed"
    """Programs are slower next to each other."""

    CHANGED = "changed"
    """The difference between the programs changes when they run next to each other."""

    WIDE = "wide"
    """A program uses more than one CPU."""

    FAILED = "failed"
    """A program failed next to another one: they may use the same file, port or lock."""


class ScheduleEvidence(msgspec.Struct, frozen=True):
    """The evidence of both schedules at a look. Errors and slowdowns are in log units; NaN while unknown.

    - `fraction`: the share of the budget used
    - `turns`, `at_once`: rounds in turns, and groups of rounds at once
    - `turns_error`, `at_once_error`: the standard error times the square root of the seconds spent
    - `slowdown`: the mean of all programs, at once relative to in turns, with its standard error
    - `change`: how much running at once changes the difference of two programs, with its standard error
    - `apart`: whether the intervals of both differences are disjoint
    """

    fraction: float
    turns: int
    at_once: int
    turns_error: float
    at_once_error: float
    slowdown: float
    slowdown_error: float
    change: float
    change_error: float
    apart: bool

    @property
    def disagree(self) -> bool:
        """Whether the schedules seem to disagree: their differences are two standard errors apart, or more."""
        return abs(self.change) > DOUBT * self.change_error
