"""Groups of two rounds of two programs, in turns or at once: the plan of a comparison that may use both schedules.

Rounds 2 g and 2 g + 1 are group g. In turns, each round runs one program after the other, in random order, both rounds
on one of the two CPUs; groups in turns use the CPUs alternately. At once, both programs of a round start together, one
on each CPU: which on which is a coin in the first round, and exchanged in the second.
"""

from __future__ import annotations

import numpy as np

from becalm.nouns.run import Block, Start, Step
from becalm.nouns.stopping_rule import StoppingRule
from becalm.plans.history import History
from becalm.plans.interleave import LARGEST_PADDING, interleave, next_rounds
from becalm.plans.schedule import Schedule
from becalm.plans.schedule_choice import ScheduleChoice


class Groups:
    """The groups planned so far. `at_once`, `side`: of each; `side` is the CPU, 0 or 1, of the second program in the
    first round, or of both in turns."""

    def __init__(self, schedule: Schedule, cpus: tuple[int, int], rng: np.random.Generator) -> None:
        self.choice = ScheduleChoice(schedule)
        self.cpus = cpus
        self.at_once: list[bool] = []
        self.side: list[int] = []
        self._turns_side = 0
        self._rng = rng

    def block(self, history: History, goal: StoppingRule) -> Block:
        """Return the next block: warm-up rounds, a first round in turns, then as many groups as are useful."""
        if self.choice.settled or history.complete == 0:
            return interleave(history, goal, self._rng)
        if not self.at_once:
            # The first round is half a group, which counts as one in turns.
            self.at_once.append(False)
            self.side.append(0)
        runs = [run for _ in range(max(1, next_rounds(history, goal) // 2)) for run in self._group()]
        return Block(tuple(step for step, _ in runs), starts=tuple(start for _, start in runs))

    def is_at_once(self, number: int) -> bool:
        """Return whether the round of this number was planned at once."""
        return number // 2 < len(self.at_once) and self.at_once[number // 2]

    def _group(self) -> list[tuple[Step, Start]]:
        """Draw a group and return its four runs; each takes six random numbers, so that a seed gives the same groups
        however they are divided into blocks."""
        kind, coin, *uniform = self._rng.random(6)
        group = len(self.at_once)
        # Pairs of the pilot are groups 1 and 2, 3 and 4, and so on.
        before = None if group % 2 else Schedule.AT_ONCE if self.at_once[-1] else Schedule.TURNS
        at_once = self.choice.next(before, kind) is Schedule.AT_ONCE
        if not at_once:
            self._turns_side = 1 - self._turns_side
        side = int(coin < 0.5) if at_once else self._turns_side
        self.at_once.append(at_once)
        self.side.append(side)
        runs = []
        for place in (0, 1):
            first = 0 if at_once or uniform[place] < 0.5 else 1
            padding = int(uniform[2 + place] * LARGEST_PADDING)
            for program in (first, 1 - first):
                cpu = self.cpus[side ^ place ^ program ^ 1] if at_once else self.cpus[side]
                runs.append((Step(program, 0, padding, 2 * group + place), Start(cpu, at_once and program == 0)))
        return runs
