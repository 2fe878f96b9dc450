"""Differences from a history of runs: pure functions whose results are in `results.compare`.

`SequentialComparison.look` is called after each block that is worth a look. It keeps the sequence of looks, since an
interval that may be looked at repeatedly depends on how often that was done. The statistics are in `becalm.stats`;
docs/explanation/statistics.md gives the reasons for each method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from becalm.nouns.metric import Better, Metric
from becalm.nouns.stopping_rule import StoppingRule
from becalm.plans.history import History, Pairs
from becalm.results.compare import Answer, Difference, Stopped
from becalm.stats.arrays import Floats
from becalm.stats.log_ratio import LARGEST, relative_difference
from becalm.stats.multiplicity import simultaneous_alpha
from becalm.stats.paired import PairedEstimate, RepeatedPairs
from becalm.stats.unpaired import unpaired

NEGLIGIBLE = 0.0005
"""The largest difference not worth more measuring: layout and placement of a program move it by as much."""

WELL_KNOWN = 0.1
"""The precision that ends measuring: an interval that reaches a tenth of the difference to each side."""

ESTIMATED = 6
"""The fewest pairs whose standard error predicts what more would show: of fewer it is often small by chance, and the
normal distribution does not serve for them (`becalm.stats.paired`)."""

LOOK_GROWTH = 1.1
"""The growth of the number of rounds between two looks, which keeps looks few however long measuring takes."""


class Schedules(Protocol):
    """An estimator for programs that run in turns and at once (`becalm.analysis.schedules`)."""

    def looks(self, history: History, fraction: float) -> Mapping[int, PairedEstimate]:
        """Return the estimate for each program except the reference, by index, from all runs so far."""
        ...

    def would_detect(self, disturbances: Mapping[int, float]) -> bool:
        """Return whether disturbances of these sizes, in log units by program, would have been detected."""
        ...


class SequentialComparison:
    """A comparison of every program with the reference, updated at every look.

    With `best`, which returns the best program of a history, that program is the reference. All pairs then share the
    error, as the same runs choose the reference; a pair that becomes of interest gets its earlier looks, too. With
    `schedules` programs run in turns and at once, two at a time.
    """

    def __init__(
        self,
        names: Sequence[str],
        reference: int,
        goal: StoppingRule,
        confidence: float,
        fail_above: float | None,
        metric: Metric | None = None,
        best: Callable[[History], int] | None = None,
        schedules: Schedules | None = None,
    ) -> None:
        self.names = tuple(names)
        self.metric = metric
        self.reference = reference
        self.goal = goal
        self.confidence = confidence
        self.fail_above = fail_above
        self._best = best
        count = len(self.names)
        self._alpha = simultaneous_alpha(
            1 - confidence, max(1, count - 1 if best is None else count * (count - 1) // 2)
        )
        self._looks: dict[tuple[int, int], RepeatedPairs] = {}
        self._last: dict[tuple[int, int], tuple[int, Difference]] = {}
        self._schedule: list[tuple[int, float]] = []
        self._looked_at = 0
        self.differences: tuple[Difference, ...] = ()
        self.schedules = schedules
        self._is_safe = True

    def due(self, history: History) -> bool:
        """Return whether there are enough new rounds for another look."""
        return history.rounds >= max(self._looked_at + 1, math.ceil(self._looked_at * LOOK_GROWTH))

    def look(self, history: History) -> tuple[Difference, ...]:
        """Return the current differences, which are valid jointly at this look and every other one."""
        if history.rounds and history.rounds != self._looked_at:
            self._looked_at = history.rounds
            self._schedule.append((history.rounds, self.goal.fraction(history)))
            if self._best is not None:
                self.reference = self._best(history)
            if self.schedules is not None:
                estimates = self.schedules.looks(history, self._schedule[-1][1])
                self.differences = tuple(self._difference(index, look) for index, look in estimates.items())
                decisive = {index: self._decisive(look.estimate) for index, look in estimates.items()}
                self._is_safe = self.schedules.would_detect(decisive)
                return self.differences
            if self.metric is not None and self.metric.exact:
                self.differences = self._exact(history, self.metric)
                return self.differences
            pairs = history.pairs()
            others = (index for index in range(len(self.names)) if index != self.reference)
            self.differences = tuple(self._look(index, pairs) for index in others)
        return self.differences

    def _exact(self, history: History, metric: Metric) -> tuple[Difference, ...]:
        from becalm.analysis.exact_counts import exact_difference  # Other comparisons start without it.

        counts = [history.printed(index) for index in range(len(self.names))]
        return tuple(
            exact_difference(
                name,
                self.names[self.reference],
                counts[self.reference],
                counts[index],
                metric=metric,
                confidence=self.confidence,
            )
            for index, name in enumerate(self.names)
            if index != self.reference
        )

    def _look(self, index: int, pairs: Pairs) -> Difference:
        """Compare a program with the reference in common rounds; a retired program keeps its last difference."""
        key = self.reference, index
        first, second = (pairs.log_wall[program] for program in key)
        first_at, second_at = (pairs.position[program] for program in key)
        common = min(len(first), len(second))
        looks = self._looks.setdefault(key, RepeatedPairs(self._alpha))
        for rounds, fraction in self._schedule if key not in self._last else self._schedule[-1:]:
            end = min(common, rounds)
            if end == 0 or (key in self._last and self._last[key][0] >= end):
                continue
            estimate = looks.look(first[:end], second[:end], first_at[:end], second_at[:end], fraction)
            self._last[key] = (end, self._difference(index, estimate))
        return self._last[key][1]

    def enough(self) -> Stopped | None:
        """Return the reason to end measuring at the last look; None to continue."""
        if not self.differences or not self._is_safe:
            return None
        if self.goal.precision is not None:
            half_width = max((d.high - d.low) / 2 for d in self.differences)
            return Stopped.PRECISION if half_width <= self.goal.precision else None
        if self.goal.runs is not None:
            return None
        if self.fail_above is not None:
            limit = self.fail_above
            ends = [d.harm[1:] for d in self.differences]
            return Stopped.KNOWN if all(low > limit or high <= limit for low, high in ends) else None
        return Stopped.KNOWN if all(_well_known(d) for d in self.differences) else None

    def _decisive(self, estimate: float) -> float:
        """Return the size from which a disturbance would change the answer, in log units: where it moves the estimate
        across the limit or across zero, or is larger than the precision or a difference worth stating."""
        if self.fail_above is not None:
            return abs(estimate - math.log1p(self.fail_above))
        return max(abs(estimate), NEGLIGIBLE if self.goal.precision is None else self.goal.precision)

    def _difference(self, index: int, estimate: PairedEstimate) -> Difference:
        log_ratio = estimate.estimate, estimate.low, estimate.high
        if self.metric is not None and self.metric.higher:
            # The history negates such a metric; the result has it as it was printed.
            log_ratio = -estimate.estimate, -estimate.high, -estimate.low
        return difference(
            self.names[index],
            self.names[self.reference],
            log_ratio,
            confidence=self.confidence,
            pairs=estimate.pairs,
            detectable=estimate.detectable,
            p_value=estimate.p_value,
            standard_error=estimate.standard_error,
            metric=self.metric,
        )


def _well_known(d: Difference) -> bool:
    half_width = (d.high - d.low) / 2
    if max(abs(d.low), abs(d.high)) <= NEGLIGIBLE:
        return True
    return d.worse is not None and half_width <= WELL_KNOWN * abs(d.estimate)


def difference(
    name: str,
    reference: str,
    log_ratio: tuple[float, float, float],
    *,
    confidence: float,
    pairs: int,
    detectable: float,
    p_value: float,
    standard_error: float,
    weak: bool = False,
    metric: Metric | None = None,
) -> Difference:
    """Return the Difference for an estimate and interval (low, high) of the log ratio of times, or of a metric."""
    estimate, low, high = map(relative_difference, log_ratio)
    if not (math.isfinite(log_ratio[1]) and math.isfinite(log_ratio[2])):
        answer = Answer.UNKNOWN
    elif low > 0:
        answer = Answer.SLOWER if metric is None else Answer.HIGHER
    elif high < 0:
        answer = Answer.FASTER if metric is None else Answer.LOWER
    else:
        answer = Answer.NO_DIFFERENCE_DETECTED
    return Difference(
        name=name,
        reference=reference,
        estimate=estimate,
        low=low,
        high=high,
        confidence=confidence,
        pairs=pairs,
        detectable=math.expm1(min(detectable, LARGEST)),
        p_value=p_value,
        answer=answer,
        standard_error=standard_error,
        weak=weak,
        metric="" if metric is None else metric.name,
        better=Better.LOWER if metric is None else metric.better,
    )


def against_baseline(
    name: str, reference: str, candidate: Floats, baseline: Floats, confidence: float, metric: Metric | None = None
) -> Difference:
    """Return the unpaired difference from runs of another time, marked as weak; each series has its autocorrelation.

    `candidate`, `baseline`: wall times in ns or values of the metric, each above zero, shape (runs,).
    """
    estimate = unpaired(np.log(baseline), np.log(candidate), 1 - confidence)
    return difference(
        name,
        reference,
        (estimate.estimate, estimate.low, estimate.high),
        confidence=confidence,
        pairs=min(len(candidate), len(baseline)),
        detectable=estimate.detectable,
        p_value=estimate.p_value,
        standard_error=estimate.standard_error,
        weak=True,
        metric=metric,
    )
