"""The differences in metrics that are recorded in addition to the one that is compared.

Public: further_differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from becalm.nouns.workload import Workload
from becalm.plans.history import History, Printed, by_round
from becalm.results.compare import MetricDifference
from becalm.stats.arrays import Floats
from becalm.stats.log_ratio import relative_difference
from becalm.stats.multiplicity import simultaneous_alpha
from becalm.stats.paired import RepeatedPairs
from becalm.stats.student import stdtrit

Shares = tuple[float, float, float]


def further_differences(
    names: Sequence[str],
    workloads: Sequence[Workload],
    history: History,
    metrics: Callable[[int], Printed],
    reference: int,
    confidence: float,
) -> tuple[MetricDifference, ...]:
    """Return the differences from the reference in every metric but the first, by program and then by metric.

    `metrics`: returns the metrics of a program by its number: its runs in order by `seq`, shape (runs,), and their
    metrics, (runs, metrics). The intervals hold for all of these differences together; they do not take part in the
    confidence of the differences in the first metric. Programs that have other metrics than the reference are left out.
    """
    reference_metrics = workloads[reference].metrics
    others = [
        index
        for index, workload in enumerate(workloads)
        if index != reference
        and [metric.spec for metric in workload.metrics] == [metric.spec for metric in reference_metrics]
    ]
    if not others or len(reference_metrics) < 2 or not history.rounds:
        return ()
    alpha = simultaneous_alpha(1 - confidence, len(others) * (len(reference_metrics) - 1))
    rows = {index: by_round(metrics(index), history.seqs(index)) for index in (reference, *others)}
    differences = []
    for index in others:
        pairs = min(len(rows[index]), len(rows[reference]))
        seqs = history.seqs(reference)[:pairs], history.seqs(index)[:pairs]
        for place, metric in enumerate(reference_metrics[1:], 1):
            first, second = rows[reference][:pairs, place], rows[index][:pairs, place]
            if min(first.min(), second.min()) > 0:
                estimate = RepeatedPairs(alpha).look(np.log(first), np.log(second), *seqs, 1.0)
                shares = (
                    relative_difference(estimate.estimate),
                    relative_difference(estimate.low),
                    relative_difference(estimate.high),
                )
            else:
                shares = _of_means(first, second, alpha)
            differences.append(
                MetricDifference(
                    name=names[index],
                    reference=names[reference],
                    metric=metric.name,
                    unit=metric.unit,
                    better=metric.better,
                    means=(float(first.mean()), float(second.mean())),
                    estimate=shares[0],
                    low=shares[1],
                    high=shares[2],
                    pairs=pairs,
                )
            )
    return tuple(differences)


def _of_means(first: Floats, second: Floats, alpha: float) -> Shares:
    """Return the relative difference of two means with Student's interval, for counts that are zero in some runs.

    The error is the standard error of second - ratio * first over the pairs. Without a mean to relate the difference
    to, it is unknown: NaN between infinite ends.
    """
    base = float(first.mean())
    if base <= 0:
        return math.nan, -math.inf, math.inf
    ratio = float(second.mean()) / base
    count = len(first)
    if count < 2:
        return ratio - 1, -math.inf, math.inf
    error = float((second - ratio * first).std(ddof=1)) / base / math.sqrt(count)
    half_width = float(stdtrit(count - 1, 1 - alpha / 2)) * error
    return ratio - 1, ratio - 1 - half_width, ratio - 1 + half_width
