"""The choice whether the next group of runs is in turns or at once. All rules are fixed before the first run:

1. A first round in turns shows how long the programs take. If a pilot would take more than a fifth of the budget, the
   study stays in turns.
2. The pilot has equally many groups of both schedules, in random order: six of each, and more until a tenth of the
   budget is used. It counts, and ends after a fifth of the budget at the latest.
3. After that, nine groups of ten are of the better schedule and one, drawn at random, is of the other. At once is
   better if all of these hold: its standard error per second is lower; the error in turns is small enough that a change
   of the difference by 2 % would have been seen; the differences of both schedules do not seem to disagree; and the
   programs seem to slow each other down by no more than 1 % on average (if one of them loses 2 %, the average is at
   least 1 %).
4. `auto` returns to turns for good, and drops the runs at once, if the programs are shown to slow each other down by
   more than 1 %, if the difference at once is shown to differ from the one in turns, or if a program uses more than one
   CPU or fails next to another one.

No rule may spoil the stated error. The signs of later pairs are fair coins whatever was decided before, so rules 1 to 3
may look at anything. Rule 4 drops pairs after they were seen: the slowdown of both programs together is the same
whichever sign the pairs had, so that test selects nothing; the other test has its own error level
(`becalm.analysis.schedules`).
"""

from __future__ import annotations

from becalm.plans.schedule import DOUBT, MEASURED, BackToTurns, Schedule, ScheduleEvidence

LEAST_GROUPS = 6
"""Groups of each schedule in the pilot: with six, a sign test can show a difference at all."""

LEAST_SHARE = 0.1
"""Share of the budget after which the pilot ends."""

MOST_SHARE = 0.2
"""Largest share of the budget that a pilot may need: a longer one would cost more than it can save."""

AT_ONCE_TAKES = 0.5
"""Time of a round at once, as a share of a round in turns."""

OTHER = 0.1
"""Share of groups of the worse schedule after the pilot."""

SLOWED = 0.01
"""Mean slowdown of both programs above which they are not measured at once."""

SHARP = 0.02 / 3
"""Standard error with which a change of the difference by 2 % would certainly be seen."""


class ScheduleChoice:
    """The choice between turns and at once, for groups of `size` rounds.

    `back`: the reason why the study stays in turns; None while both are possible."""

    def __init__(self, schedule: Schedule, size: int = 2) -> None:
        self.schedule = schedule
        # The length of the shortest pilot, in rounds in turns.
        self._pilot_rounds = (1 + AT_ONCE_TAKES) * size * LEAST_GROUPS
        self.back: BackToTurns | None = None
        self.better = Schedule.AT_ONCE if schedule is Schedule.AT_ONCE else Schedule.TURNS
        self.pilot = schedule in MEASURED

    @property
    def settled(self) -> bool:
        """Whether all that follows is in turns."""
        return self.back is not None or self.schedule is Schedule.TURNS

    def take(self, evidence: ScheduleEvidence) -> None:
        """Apply the rules to the evidence of a look."""
        if self.schedule not in MEASURED or self.back is not None:
            return
        too_long = evidence.turns == 1 and evidence.fraction * self._pilot_rounds > MOST_SHARE
        if self.schedule is Schedule.AUTO and too_long:
            self.back = BackToTurns.FEW
        elif evidence.apart:
            self.back = BackToTurns.CHANGED
        elif evidence.slowdown - DOUBT * evidence.slowdown_error > SLOWED and evidence.at_once >= LEAST_GROUPS:
            self.back = BackToTurns.SLOWED
        if self.back is not None:
            self.return_to_turns(self.back)
            return
        few = evidence.at_once < LEAST_GROUPS or evidence.turns < 2 * LEAST_GROUPS
        in_time = evidence.fraction < (MOST_SHARE if few else LEAST_SHARE)
        self.pilot = self.pilot and (in_time or self.schedule is Schedule.BOTH)
        safe = evidence.change_error < SHARP and not evidence.disagree and evidence.slowdown <= SLOWED
        helps = evidence.at_once_error < evidence.turns_error
        self.better = Schedule.AT_ONCE if safe and helps and not few else Schedule.TURNS

    def return_to_turns(self, reason: BackToTurns) -> None:
        """Return to turns for good."""
        self.back, self.pilot, self.better = reason, False, Schedule.TURNS

    def next(self, before: Schedule | None, uniform: float) -> Schedule:
        """Return the schedule of the next group.

        `before`: the schedule of the preceding group if the two are a pair of the pilot, else None. `uniform`: a random
        number from 0 to 1.
        """
        if self.settled:
            return Schedule.TURNS
        if not self.pilot:
            return self.better if uniform >= OTHER else _other(self.better)
        if before is not None:
            return _other(before)
        return Schedule.TURNS if uniform < 0.5 else Schedule.AT_ONCE


def _other(schedule: Schedule) -> Schedule:
    return Schedule.AT_ONCE if schedule is Schedule.TURNS else Schedule.TURNS
