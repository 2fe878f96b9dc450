"""When two programs run that are compared: one after the other, or both at the same time."""

from __future__ import annotations

from enum import StrEnum

from becalm.values import dataclass

DOUBT = 2.0
"""Standard errors between both differences from which on they seem to disagree."""


class Schedule(StrEnum):
    """The schedule that was asked for. AUTO: the one that tells more in a second, by measurement. BOTH: as many groups
    of runs of both, for a choice that later studies follow."""

    TURNS = "turns"
    AT_ONCE = "at-once"
    AUTO = "auto"
    BOTH = "both"


MEASURED = (Schedule.AUTO, Schedule.BOTH)
"""Schedules in which the runs show which one tells more."""


CPU_SETTINGS = ("cpus", "isolation", "isolcpus", "nohz_full", "smt", "online_cpus", "process_cpus", "policy")
"""Settings that take CPUs away or give them to one program."""


class BackToTurns(StrEnum):
    """The reason why programs no longer run at once."""

    FEW = "few"
    """Too few runs fit in the budget to find out whether it helps."""

    SLOWED = "slowed"
    """Programs are slower alongside each other."""

    CHANGED = "changed"
    """The difference between the programs is another one alongside each other."""

    WIDE = "wide"
    """A program uses more than one CPU."""


@dataclass(frozen=True, slots=True)
class ScheduleEvidence:
    """The evidence of both schedules at a look. Errors and slow-downs in log units; NaN while nothing is known.

    `fraction`: share of the budget used. `turns`, `at_once`: rounds in turns, and groups of rounds at once.
    `turns_error`, `at_once_error`: standard error times the root of the seconds that it took. `slowdown`: mean of all
    programs, alongside each other against one at a time, with its standard error. `change`: of the difference of two
    programs by running at once, with its standard error. `apart`: whether the intervals of both differences have
    nothing in common.
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
