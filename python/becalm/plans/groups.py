"""Groups of rounds of two or more programs, in turns or at once: the plan of a comparison that may use both schedules.

A group at once is a whole tournament (`becalm.plans.tournament`): each program meets each other one. Each part of the
tournament has two rounds, in which programs run in pairs, one on each CPU. A coin decides the CPUs in the first round;
in the second they are exchanged. With an odd number of programs, one rests in each part and runs by itself. So a
comparison of two programs has groups of two rounds. A group in turns has as many rounds, each with all programs in
random order on one of the two CPUs; these groups use the CPUs alternately.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from becalm.nouns.run import Block, Start, Step
from becalm.nouns.stopping_rule import StoppingRule
from becalm.plans.history import History
from becalm.plans.interleave import LARGEST_PADDING, interleave, next_rounds
from becalm.plans.schedule import Schedule
from becalm.plans.schedule_choice import ScheduleChoice
from becalm.plans.tournament import tournament

PlannedRun = tuple[Step, Start]


class Meeting(NamedTuple):
    """Two programs that run at once in two rounds. `side`: the CPU, 0 or 1, of `second` in the first round."""

    first: int
    second: int
    side: int


Part = tuple[Meeting, ...]
"""The meetings of two rounds; no program is in two of them."""


class Groups:
    """The groups planned so far.

    `at_once`: for each group, whether it is at once. `parts`: for each group, the parts of its tournament; none in
    turns. `size`: rounds in a group.
    """

    def __init__(self, schedule: Schedule, cpus: tuple[int, int], rng: np.random.Generator, programs: int = 2) -> None:
        self.programs = programs
        self.size = 2 * (programs - 1 if programs % 2 == 0 else programs)
        self.choice = ScheduleChoice(schedule, self.size)
        self.cpus = cpus
        self.at_once: list[bool] = []
        self.parts: list[tuple[Part, ...]] = []
        self._turns_side = 0
        self._rng = rng
        self._meetings = tournament(programs, rng)

    def block(self, history: History, goal: StoppingRule) -> Block:
        """Return the next block: warm-up rounds, a first round in turns, then as many groups as are useful."""
        if self.choice.settled or history.complete == 0:
            return interleave(history, goal, self._rng)
        if not self.at_once:
            # The first round belongs to a group, which counts as one in turns.
            self.at_once.append(False)
            self.parts.append(())
        runs = [run for _ in range(max(1, next_rounds(history, goal) // self.size)) for run in self._group()]
        return Block(tuple(step for step, _ in runs), starts=tuple(start for _, start in runs))

    @property
    def planned(self) -> int:
        """The number of planned rounds."""
        return len(self.at_once) * self.size

    def is_at_once(self, number: int) -> bool:
        """Return whether the round of this number was planned at once."""
        return number // self.size < len(self.at_once) and self.at_once[number // self.size]

    def _group(self) -> Iterator[PlannedRun]:
        """Draw a group and yield its runs. A draw depends on earlier groups only, so that a seed gives the same groups
        however they are divided into blocks."""
        group, kind = len(self.at_once), float(self._rng.random())
        # Pairs of the pilot are groups 1 and 2, 3 and 4, and so on.
        before = None if group % 2 else Schedule.AT_ONCE if self.at_once[-1] else Schedule.TURNS
        at_once = self.choice.next(before, kind) is Schedule.AT_ONCE
        self.at_once.append(at_once)
        self.parts.append(self._tournament() if at_once else ())
        if at_once:
            for place in range(self.size):
                yield from self._round_at_once(group * self.size + place, self.parts[group][place // 2], place % 2)
            return
        self._turns_side = 1 - self._turns_side
        for place in range(self.size):
            order, padding = self._rng.permutation(self.programs), self._padding()
            for program in order.tolist():
                step = Step(program, 0, padding, group * self.size + place)
                yield step, Start(self.cpus[self._turns_side])

    def _tournament(self) -> tuple[Part, ...]:
        """Draw the meetings of a whole tournament, part by part, and the CPU of each program in the first round."""
        in_part = self.programs // 2
        return tuple(
            tuple(Meeting(*pair, int(self._rng.random() < 0.5)) for pair in list(islice(self._meetings, in_part)))
            for _ in range(self.size // 2)
        )

    def _round_at_once(self, number: int, part: Part, place: int) -> Iterator[PlannedRun]:
        """Yield the runs of one of the two rounds of a part; the resting program runs first, by itself."""
        padding = self._padding()
        if (resting := resting_of(part, self.programs)) is not None:
            yield Step(resting, 0, padding, number), Start(self.cpus[place])
        for meeting in part:
            side = meeting.side ^ place
            yield Step(meeting.first, 0, padding, number), Start(self.cpus[1 - side], with_next=True)
            yield Step(meeting.second, 0, padding, number), Start(self.cpus[side])

    def _padding(self) -> int:
        return int(self._rng.random() * LARGEST_PADDING)


def resting_of(part: Sequence[Meeting], programs: int) -> int | None:
    """Return the program that meets nobody in a part; None if their number is even."""
    if programs % 2 == 0:
        return None
    busy = {program for meeting in part for program in meeting[:2]}
    return next(program for program in range(programs) if program not in busy)
