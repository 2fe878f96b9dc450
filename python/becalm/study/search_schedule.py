"""The schedule of all comparisons of a bisection: in turns, at once, or the more precise one by a pilot.

A search pools the scatter of all commits, so all its differences must be of one kind: each is measured in a round in
turns, or each in a group of two rounds at once, in which both programs run on both CPUs. A group takes about as long as
a round in turns.
With `auto` the good and the bad commit are measured in both ways first (`Schedule.BOTH`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from becalm.analysis.schedules import log_differences
from becalm.nouns.options.measuring import CompareOptions
from becalm.plans.schedule import Schedule
from becalm.plans.schedule_choice import LEAST_GROUPS, OTHER
from becalm.study.looks import Looks

PILOT_ROUNDS = 1 + 4 * LEAST_GROUPS
"""The rounds of the pilot: a first round in turns, and as many groups of two rounds as the choice needs."""


@dataclass(slots=True)
class SearchSchedule:
    """The schedule of a search. `schedule`: AUTO until the pilot; `reason`: why programs cannot run at once."""

    schedule: Schedule
    reason: str = ""

    @property
    def piloting(self) -> bool:
        """Whether the next measurement is the pilot."""
        return self.schedule is Schedule.AUTO

    @property
    def runs(self) -> int:
        """The number of runs for each difference."""
        return 4 if self.schedule is Schedule.AT_ONCE else 2

    def options(self, count: int) -> CompareOptions:
        """Return the options of a comparison with about `count` differences."""
        rounds, schedule = count, self.schedule
        if self.piloting:
            rounds, schedule = PILOT_ROUNDS, Schedule.BOTH
        elif schedule is Schedule.AT_ONCE:
            # The first round and a tenth of the groups are in turns.
            rounds = 1 + 2 * math.ceil(count / (1 - OTHER))
        return replace(CompareOptions.of({"runs": rounds}), warmup=1, schedule=str(schedule))

    def take(self, looks: Looks) -> list[float]:
        """Choose the schedule at the end of the pilot, and return the differences of a comparison that count."""
        if looks.schedules is None:
            self.schedule = Schedule.TURNS
            if isinstance(looks.options, CompareOptions):
                self.reason = looks.options.turns_because
        elif self.piloting:
            self.schedule = looks.schedules.groups.choice.better
        return log_differences(looks.history, looks.schedules, at_once=self.schedule is Schedule.AT_ONCE)
