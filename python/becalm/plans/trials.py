"""The plan of a search: arms, which are settings by position, each measured in loops of several runs.

The goal (`TrialGoal`) is compared with the measurements (`Trials`), so that resuming means asking again. A block is one
arm in one loop, or the rest that an interruption left of it; arms of short programs share a block (`JOINED_NS`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

import msgspec
import numpy as np
from msgspec.structs import replace

from becalm.nouns.run import Block, Step, Steps
from becalm.plans.paired_trials import Pairing, paired

JOINED_NS = 2_000_000_000
"""Largest time of a block in which several arms of a loop are joined: between two blocks the host waits for Python,
which would be a noticeable share of the time of short programs."""


class TrialGoal(msgspec.Struct, frozen=True):
    """The runs to make: `runs` of each program under each arm in each loop, after `warmups` in the first loop.

    `own_boots`: whether each loop has boots of its own.
    """

    loops: range
    arms: tuple[int, ...]
    programs: tuple[int, ...]
    runs: int
    warmups: int = 0
    own_boots: bool = False

    @property
    def size(self) -> int:
        """The number of runs in all, including warm-ups."""
        return (len(self.loops) * self.runs + self.warmups) * len(self.arms) * len(self.programs)


class Trials(Protocol):
    """The measurements so far."""

    @property
    def boots(self) -> Mapping[int, int]:
        """The boot that an arm needs: a number for each set of kernel parameters, 0 for the usual one."""
        ...

    @property
    def own_boots(self) -> Collection[int]:
        """Loops that have boots of their own."""
        ...

    @property
    def last(self) -> tuple[int, int] | None:
        """Loop and arm of the last run."""
        ...

    @property
    def run_ns(self) -> float | None:
        """The mean time of a run so far, including the time before it, ns; None before the first."""
        ...

    def counts(self, loop: int, arm: int, program: int) -> tuple[int, int]:
        """Return the number of counted runs and the number of warm-ups so far."""
        ...

    def lost(self, goal: TrialGoal, arm: int) -> bool:
        """Return whether an arm has failed, so that it is not measured any more."""
        ...


def next_trial(
    goal: TrialGoal, trials: Trials, seed: int, *, joined: bool = True, pairing: Pairing | None = None
) -> Block | None:
    """Return the next block; None when everything is measured. A block has one arm unless arms may be `joined`; with a
    `pairing` that fits, it has all arms of a loop that need the same boot, two at a time.

    The arms of a loop are in random order, which depends only on the seed and the number of the loop. Arms that need
    the same boot are measured together, beginning with the boot of the last run, or in random order if each loop has
    boots of its own.
    """
    for loop in goal.loops:
        if not any(_missing(goal, trials, loop, arm) for arm in goal.arms):
            continue
        permuted = np.random.default_rng([seed, loop]).permutation(len(goal.arms))
        order = [goal.arms[index] for index in permuted]
        groups = list(dict.fromkeys(_boot(trials, arm) for arm in order))
        now = _boot(trials, trials.last[1]) if trials.last is not None else 0
        if now in groups and not goal.own_boots:
            groups.insert(0, groups.pop(groups.index(now)))
        order.sort(key=lambda arm: groups.index(_boot(trials, arm)))
        missing = [(arm, steps) for arm in order if (steps := _missing(goal, trials, loop, arm))]
        if missing:
            first, steps = missing[0]
            together = [(arm, steps) for arm, steps in missing if _boot(trials, arm) == _boot(trials, first)]
            if pairing is not None and pairing.pairs([arm for arm, _ in together]):
                block = paired(together, loop, pairing, np.random.default_rng([seed, loop, 1]))
                return replace(block, fresh_boot=_boots_again(trials, loop, first))
            if joined:
                steps = _joined(steps, (others for _, others in together[1:]), trials.run_ns)
            return Block(steps, fresh_boot=_boots_again(trials, loop, first))
    return None


def _joined(steps: Steps, others: Iterable[Steps], run_ns: float | None) -> Steps:
    """Return the steps of an arm and of as many other arms as fit with it into `JOINED_NS`."""
    for more in others:
        if run_ns is None or (len(steps) + len(more)) * run_ns > JOINED_NS:
            break
        steps += more
    return steps


def _boot(trials: Trials, arm: int) -> int:
    return trials.boots.get(arm, 0)


def _boots_again(trials: Trials, loop: int, arm: int) -> bool:
    """Return whether the machine must boot again although the run before had the same kernel parameters."""
    if trials.last is None:
        return False
    before, other = trials.last
    return _boot(trials, arm) == _boot(trials, other) and loop != before and loop in trials.own_boots


def _missing(goal: TrialGoal, trials: Trials, loop: int, arm: int) -> Steps:
    if trials.lost(goal, arm):
        return ()
    steps: list[Step] = []
    for program in goal.programs:
        counted, warmed = trials.counts(loop, arm, program)
        missing = goal.runs - counted
        if missing <= 0:
            continue
        warmups = goal.warmups - warmed if loop == goal.loops[0] else 0
        steps += [Step(program, arm, 0, -1 - loop)] * warmups + [Step(program, arm, 0, loop)] * missing
    return tuple(steps)
