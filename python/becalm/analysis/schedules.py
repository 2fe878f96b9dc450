"""Looks at programs that run in turns and at once: one difference from both, and the evidence for the choice.

With the schedule `auto` the difference is the combination of both schedules by inverse variance. While the two seem to
disagree, the interval is the shortest that contains the interval of the combination and the interval of turns alone.
Once they are shown to disagree, only turns count; their interval is followed from the first look for this purpose. The
disagreement is tested separately: it is shown when the intervals of the two are disjoint, each at a twentieth of the
error; the difference has the other nine tenths. So programs that do not disturb each other are called different at most
at the stated rate (Bonferroni).

With `at-once` the difference is that of pairs at once, and turns only show the effect of running at the same time.

With more than two programs each is compared with the reference, and all have one schedule: the choice uses the mean
precision of all differences, and the change that is largest relative to its error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from becalm.analysis.schedule_pairs import SchedulePairs, schedule_pairs
from becalm.plans.groups import Groups
from becalm.plans.history import History
from becalm.plans.schedule import DOUBT, MEASURED, BackToTurns, Schedule, ScheduleEvidence
from becalm.stats.multiplicity import simultaneous_alpha
from becalm.stats.paired import PairedEstimate, PairedSample, RepeatedPairs
from becalm.stats.slowdown import slowdown
from becalm.stats.strata import Strata

CHECKED = 0.1
"""The share of the error that the test for a disagreement of the two schedules has."""

UNKNOWN = PairedEstimate(math.nan, -math.inf, math.inf, math.inf, 0, math.inf, math.inf, 1.0, 0.0)
"""The estimate from no pair at all."""


class RepeatedSchedules:
    """A sequence of looks at a growing study; all looks at all differences jointly miss a truth with rate `alpha`.

    `reference`: the program that all others are compared with. `evidence`: the joint evidence of the last look, for the
    choice; `evidences`: the evidence of each difference, by the other program.
    """

    def __init__(self, alpha: float, groups: Groups, reference: int = 0) -> None:
        self.groups = groups
        self.reference = reference
        self.evidence: ScheduleEvidence | None = None
        self.evidences: dict[int, ScheduleEvidence] = {}
        difference_alpha = simultaneous_alpha(alpha, groups.programs - 1)
        schedule = groups.choice.schedule
        self._looks = {
            index: _Looks(difference_alpha, schedule) for index in range(groups.programs) if index != reference
        }

    def looks(self, history: History, fraction: float) -> Mapping[int, PairedEstimate]:
        """Estimate log(program / reference) of each other program, and let the choice see the evidence."""
        choice = self.groups.choice
        pairs = {index: schedule_pairs(history, self.groups, self.reference, index) for index in self._looks}
        if choice.schedule is Schedule.TURNS or choice.back is BackToTurns.FEW:
            return {index: look.plain(pairs[index], fraction) for index, look in self._looks.items()}
        for index, look in self._looks.items():
            look.take(pairs[index], fraction)
            self.evidences[index] = look.evidence(pairs[index], fraction)
        self.evidence = joint_evidence(list(self.evidences.values()))
        choice.take(self.evidence)
        return {index: look.answer(choice.settled, self.evidences[index]) for index, look in self._looks.items()}

    def look(self, history: History, fraction: float) -> PairedEstimate:
        """Estimate the difference of two programs."""
        (estimate,) = self.looks(history, fraction).values()
        return estimate

    def would_detect(self, disturbances: Mapping[int, float]) -> bool:
        """Return whether each of these disturbances, by program, would have been detected in turns.

        Measuring may end early if so. `disturbances`: changes of the difference by running at the same time, log units.
        """
        if not self.evidences or self.groups.choice.schedule is not Schedule.AUTO or self.groups.choice.settled:
            return True
        errors = {index: evidence.change_error for index, evidence in self.evidences.items()}
        return all(DOUBT * errors[index] < abs(size) for index, size in disturbances.items())

    @property
    def slowdowns(self) -> list[float]:
        """The slowdown of each program alongside the others, in log units; NaN while it is not known."""
        if self.evidence is None:
            return [math.nan] * self.groups.programs
        changes = [
            0.0 if index == self.reference else self.evidences[index].change for index in range(self.groups.programs)
        ]
        mean = math.fsum(changes) / len(changes)
        return [self.evidence.slowdown + change - mean for change in changes]


class _Looks:
    """A sequence of looks at one difference."""

    def __init__(self, alpha: float, schedule: Schedule) -> None:
        self._schedule = schedule
        self._plain = RepeatedPairs(alpha)
        difference_alpha = (1 - CHECKED) * alpha if schedule in MEASURED else alpha
        self._turns, self._at_once, self._combined = (RepeatedPairs(difference_alpha) for _ in range(3))
        self._checks = tuple(RepeatedPairs(CHECKED / 2 * alpha) for _ in range(2))
        self._estimates = (UNKNOWN, UNKNOWN, UNKNOWN)

    def plain(self, pairs: SchedulePairs, fraction: float) -> PairedEstimate:
        """Return the look at a study that was never measured at once."""
        return _look(self._plain, pairs.turns, fraction)

    def take(self, pairs: SchedulePairs, fraction: float) -> None:
        """Look at turns, at once, and both."""
        self._estimates = (
            _look(self._turns, pairs.turns, fraction),
            _look(self._at_once, pairs.at_once, fraction),
            _look(self._combined, Strata(pairs.both), fraction),
        )

    def evidence(self, pairs: SchedulePairs, fraction: float) -> ScheduleEvidence:
        """Return the evidence of the last look."""
        turns, at_once, _ = self._estimates
        checks = [_look(check, sample, fraction) for check, sample in zip(self._checks, pairs.both, strict=True)]
        return evidence_of(pairs, turns, at_once, fraction, apart=_are_disjoint(*checks))

    def answer(self, settled: bool, evidence: ScheduleEvidence) -> PairedEstimate:
        """Return the estimate of the last look; with `settled` only turns count."""
        turns, at_once, combined = self._estimates
        if self._schedule is Schedule.AT_ONCE:
            # Before the first group at once, the rounds in turns give its approximate size.
            return at_once if at_once.pairs else replace(UNKNOWN, estimate=turns.estimate)
        if settled:
            return turns
        if evidence.disagree:
            return replace(combined, low=min(combined.low, turns.low), high=max(combined.high, turns.high))
        return combined


def log_differences(history: History, schedules: RepeatedSchedules | None, *, at_once: bool) -> list[float]:
    """Return log(second / first) of each group at once, or of each round in turns; without `schedules` all rounds
    are."""
    if schedules is None:
        reference, candidate = history.pairs().log_wall
        count = min(len(reference), len(candidate))
        return [float(difference) for difference in candidate[:count] - reference[:count]]
    pairs = schedule_pairs(history, schedules.groups)
    return [float(difference) for difference in (pairs.at_once if at_once else pairs.turns).difference]


def joint_evidence(evidences: Sequence[ScheduleEvidence]) -> ScheduleEvidence:
    """Return the joint evidence of all differences.

    Its errors are means; its change is the one that seems to disagree most or, where none does, the one that is known
    least.
    """
    strongest = max(evidences, key=lambda evidence: _ratio(abs(evidence.change), evidence.change_error))
    least_known = max(evidences, key=lambda evidence: evidence.change_error)
    return replace(
        strongest if strongest.disagree else least_known,
        turns_error=_mean_square([evidence.turns_error for evidence in evidences]),
        at_once_error=_mean_square([evidence.at_once_error for evidence in evidences]),
        apart=any(evidence.apart for evidence in evidences),
    )


def _ratio(change: float, error: float) -> float:
    return change / error if math.isfinite(change) and 0 < error < math.inf else 0.0


def _mean_square(errors: Sequence[float]) -> float:
    """Return the root of the mean square."""
    return math.sqrt(math.fsum(error**2 for error in errors) / len(errors))


def _look(repeated: RepeatedPairs, sample: PairedSample, fraction: float) -> PairedEstimate:
    """Return the look at a sample, which may be empty."""
    return repeated.look_at(sample, fraction) if sample.count else UNKNOWN


def _are_disjoint(turns: PairedEstimate, at_once: PairedEstimate) -> bool:
    """Return whether two intervals are disjoint."""
    return turns.low > at_once.high or turns.high < at_once.low


def evidence_of(
    pairs: SchedulePairs, turns: PairedEstimate, at_once: PairedEstimate, fraction: float, *, apart: bool
) -> ScheduleEvidence:
    """Return the evidence of a look on both schedules."""
    slowdown_estimate, slowdown_error = slowdown(pairs.levels, pairs.kinds)
    return ScheduleEvidence(
        fraction=fraction,
        turns=pairs.turns.count,
        at_once=pairs.at_once.count,
        turns_error=turns.standard_error * math.sqrt(pairs.turns_s),
        at_once_error=at_once.standard_error * math.sqrt(pairs.at_once_s),
        slowdown=slowdown_estimate,
        slowdown_error=slowdown_error,
        change=at_once.estimate - turns.estimate,
        change_error=math.hypot(turns.standard_error, at_once.standard_error),
        apart=apart,
    )
