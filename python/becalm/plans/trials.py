"""The plan of a search: arms, which are settings by position, each measured in loops of several runs.

What is wanted (`Wanted`) is compared with what is there (`Trials`), so that resuming is asking again: one arm in one
loop is a block, or what an interruption left of it; arms of short programs share one (`JOINED_NS`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from becalm.nouns.run import Block, Step, Steps
from becalm.plans.paired_trials import Pairing, paired

JOINED_NS = 2_000_000_000
"""Arms of a loop are measured in one block as long as it takes no more than about this: between two blocks the host
waits for Python, which of short programs would be a noticeable share of the time."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """`runs` of each program under each of the arms in each of the loops, after `warmups` in the first loop.

    `own_boots`: each loop has boots of its own.
    """

    loops: range
    arms: tuple[int, ...]
    programs: tuple[int, ...]
    runs: int
    warmups: int = 0
    own_boots: bool = False

    @property
    def size(self) -> int:
        """Runs in all, warm-ups too."""
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
        """The mean time of a run so far, with the time before it, ns; None while there is none."""
        ...

    def made(self, loop: int, arm: int, program: int) -> tuple[int, int]:
        """Return the number of counted runs, and of warm-ups."""
        ...

    def lost(self, wanted: Wanted, arm: int) -> bool:
        """Return whether an arm has failed, so that it is not measured any more."""
        ...


def next_trial(
    wanted: Wanted, trials: Trials, seed: int, *, joined: bool = True, pairing: Pairing | None = None
) -> Block | None:
    """Return the next block; None when all is measured. Of one arm only where arms are not to be `joined`; of all arms
    of a loop that need the same boot, two at a time, with a `pairing` of some of them.

    The arms of a loop are in random order, which depends on the seed and the loop's number only. Those that need the
    same boot are measured together, and first those of the last run's boot; with boots of their own in random order.
    """
    for loop in wanted.loops:
        if not any(_missing(wanted, trials, loop, arm) for arm in wanted.arms):
            continue
        permuted = np.random.default_rng([seed, loop]).permutation(len(wanted.arms))
        order = [wanted.arms[index] for index in permuted]
        groups = list(dict.fromkeys(_boot(trials, arm) for arm in order))
        now = _boot(trials, trials.last[1]) if trials.last is not None else 0
        if now in groups and not wanted.own_boots:
            groups.insert(0, groups.pop(groups.index(now)))
        order.sort(key=lambda each: groups.index(_boot(trials, each)))
        missing = [(arm, own) for arm in order if (own := _missing(wanted, trials, loop, arm))]
        if missing:
            first, steps = missing[0]
            together = [(arm, own) for arm, own in missing if _boot(trials, arm) == _boot(trials, first)]
            if pairing is not None and pairing.pairs([arm for arm, _ in together]):
                block = paired(together, loop, pairing, np.random.default_rng([seed, loop, 1]))
                return replace(block, fresh_boot=_boots_again(trials, loop, first))
            if joined:
                steps = _joined(steps, (more for _, more in together[1:]), trials.run_ns)
            return Block(steps, fresh_boot=_boots_again(trials, loop, first))
    return None


def _joined(steps: Steps, others: Iterable[Steps], run_ns: float | None) -> Steps:
    """Return the steps of an arm and of as many of the others as take no more than `JOINED_NS` with it."""
    for more in others:
        if run_ns is None or (len(steps) + len(more)) * run_ns > JOINED_NS:
            break
        steps += more
    return steps


def _boot(trials: Trials, arm: int) -> int:
    return trials.boots.get(arm, 0)


def _boots_again(trials: Trials, loop: int, arm: int) -> bool:
    """Return whether the machine must start again although the run before had the same parameters."""
    if trials.last is None:
        return False
    before, other = trials.last
    return _boot(trials, arm) == _boot(trials, other) and loop != before and loop in trials.own_boots


def _missing(wanted: Wanted, trials: Trials, loop: int, arm: int) -> Steps:
    if trials.lost(wanted, arm):
        return ()
    steps: list[Step] = []
    for program in wanted.programs:
        counted, warmed = trials.made(loop, arm, program)
        missing = wanted.runs - counted
        if missing <= 0:
            continue
        warmups = wanted.warmups - warmed if loop == wanted.loops[0] else 0
        steps += [Step(program, arm, 0, -1 - loop)] * warmups + [Step(program, arm, 0, loop)] * missing
    return tuple(steps)
