"""Looks at two programs that run in turns and at once: one difference from both, and the evidence for the choice.

With the schedule `auto` the difference is the combination of both by inverse variance. While the two seem to disagree,
the interval is the shortest that holds both that of the combination and that of turns alone. Once they are shown to
disagree, turns alone count; their interval is followed from the first look for that. This is a test of its own: the
intervals of the two have nothing in common, each at a twentieth of the error, and the difference has the other nine
tenths. So programs that do not disturb each other are called different at the stated rate at most (Bonferroni).

With `at-once` the difference is that of pairs at once, and turns only show what running alongside does.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from becalm.plans.groups import Groups
from becalm.plans.history import History
from becalm.plans.schedule import DOUBT, MEASURED, BackToTurns, Schedule, ScheduleEvidence
from becalm.stats.arrays import Floats, among
from becalm.stats.at_once import at_once_pairs
from becalm.stats.paired import NO_PAIRS, PairedEstimate, Pairs, RepeatedPairs, Sample
from becalm.stats.slowdown import slowdown
from becalm.stats.strata import Strata
from becalm.values import dataclass

CHECKED = 0.1
"""Share of the error that the test for a disagreement of the two schedules has."""

UNKNOWN = PairedEstimate(math.nan, -math.inf, math.inf, math.inf, 0, math.inf, math.inf, 1.0, 0.0)
"""The estimate from no pair at all."""


@dataclass(frozen=True, slots=True)
class SchedulePairs:
    """The pairs of both schedules, level and kind of each complete group, and the seconds spent in each schedule."""

    turns: Pairs
    at_once: Pairs
    levels: Floats
    kinds: npt.NDArray[np.bool_]
    turns_s: float
    at_once_s: float

    @property
    def both(self) -> tuple[Pairs, Pairs]:
        """The pairs in turns and those at once."""
        return self.turns, self.at_once


class RepeatedSchedules:
    """Looks at a growing study of two programs, the first of them the reference; all looks together miss the truth with
    rate `alpha`. `evidence`: of the last look."""

    def __init__(self, alpha: float, groups: Groups) -> None:
        self.groups = groups
        self.evidence: ScheduleEvidence | None = None
        self._plain = RepeatedPairs(alpha)
        own = (1 - CHECKED) * alpha if groups.choice.schedule in MEASURED else alpha
        self._turns, self._at_once, self._combined = (RepeatedPairs(own) for _ in range(3))
        self._checks = tuple(RepeatedPairs(CHECKED / 2 * alpha) for _ in range(2))

    def look(self, history: History, fraction: float) -> PairedEstimate:
        """Estimate log(second / first) from all runs so far, and let the choice see the evidence."""
        pairs, choice = schedule_pairs(history, self.groups), self.groups.choice
        if choice.schedule is Schedule.TURNS or choice.back is BackToTurns.FEW:
            return _look(self._plain, pairs.turns, fraction)
        turns = _look(self._turns, pairs.turns, fraction)
        at_once = _look(self._at_once, pairs.at_once, fraction)
        combined = _look(self._combined, Strata((pairs.turns, pairs.at_once)), fraction)
        checks = [_look(check, sample, fraction) for check, sample in zip(self._checks, pairs.both, strict=True)]
        self.evidence = evidence_of(pairs, turns, at_once, fraction, apart=_apart(*checks))
        choice.take(self.evidence)
        if choice.schedule is Schedule.AT_ONCE:
            return at_once
        if choice.settled:
            return turns
        if self.evidence.disagree:
            return replace(combined, low=min(combined.low, turns.low), high=max(combined.high, turns.high))
        return combined

    def checked(self, estimate: float) -> bool:
        """Return whether measuring may end early with this estimate: a disturbance that turns its sign would show."""
        if self.evidence is None or self.groups.choice.schedule is not Schedule.AUTO or self.groups.choice.settled:
            return True
        return DOUBT * self.evidence.change_error < abs(estimate)


def differences(history: History, schedules: RepeatedSchedules | None, *, at_once: bool) -> list[float]:
    """Return log(second / first) of each group at once, or of each round in turns; None: all rounds were in turns."""
    if schedules is None:
        reference, candidate = history.pairs().log_wall
        both = min(len(reference), len(candidate))
        return [float(difference) for difference in candidate[:both] - reference[:both]]
    pairs = schedule_pairs(history, schedules.groups)
    return [float(difference) for difference in (pairs.at_once if at_once else pairs.turns).difference]


def _look(repeated: RepeatedPairs, sample: Sample, fraction: float) -> PairedEstimate:
    """Return the look at a sample, which may be empty."""
    return repeated.look_at(sample, fraction) if sample.count else UNKNOWN


def _apart(turns: PairedEstimate, at_once: PairedEstimate) -> bool:
    """Return whether two intervals have nothing in common."""
    return turns.low > at_once.high or turns.high < at_once.low


def evidence_of(
    pairs: SchedulePairs, turns: PairedEstimate, at_once: PairedEstimate, fraction: float, *, apart: bool
) -> ScheduleEvidence:
    """Return what a look tells of both schedules."""
    slowed, slowed_error = slowdown(pairs.levels, pairs.kinds)
    return ScheduleEvidence(
        fraction=fraction,
        turns=pairs.turns.count,
        at_once=pairs.at_once.count,
        turns_error=turns.standard_error * math.sqrt(pairs.turns_s),
        at_once_error=at_once.standard_error * math.sqrt(pairs.at_once_s),
        slowdown=slowed,
        slowdown_error=slowed_error,
        change=at_once.estimate - turns.estimate,
        change_error=math.hypot(turns.standard_error, at_once.standard_error),
        apart=apart,
    )


def schedule_pairs(history: History, groups: Groups) -> SchedulePairs:
    """Return the pairs of all complete rounds that count; a group at once counts when both of its rounds do."""
    number = history.finished[~among(history.finished, history.dropped.values)].astype(np.int64)
    pairs = history.pairs()
    reference, candidate = pairs.log_wall
    at, other_at = pairs.position
    group = number // 2
    kinds, sides = np.asarray(groups.at_once, dtype=np.bool_), np.asarray(groups.side, dtype=np.int64)
    known = group < len(kinds)
    at_once = np.zeros(len(number), dtype=np.bool_)
    at_once[known] = kinds[group[known]]
    turns = ~at_once
    first = np.flatnonzero(np.append(group[1:] == group[:-1], False)) if len(group) else np.zeros(0, dtype=np.int64)
    both = np.stack((first, first + 1), axis=1)
    together = at_once[first]
    used = both[together]
    levels = (reference + candidate)[both].mean(axis=1) / 2
    times = history.wall_ns(0).astype(np.float64), history.wall_ns(1).astype(np.float64)
    turns_ns = float((times[0] + times[1])[turns].sum())
    at_once_ns = float(np.maximum(*times)[at_once].sum())
    starts = 2 * int(turns.sum()), int(at_once.sum())
    # What is not in the times of programs passes between them: as much at each start.
    between = max(0.0, history.elapsed_ns - turns_ns - at_once_ns) / max(1, sum(starts))
    return SchedulePairs(
        turns=Pairs.of(reference[turns], candidate[turns], at[turns], other_at[turns]) if turns.any() else NO_PAIRS,
        at_once=at_once_pairs(reference[used], candidate[used], sides[group[first[together]]], group[first[together]]),
        levels=levels,
        kinds=together,
        turns_s=(turns_ns + starts[0] * between) / 1e9,
        at_once_s=(at_once_ns + starts[1] * between) / 1e9,
    )
