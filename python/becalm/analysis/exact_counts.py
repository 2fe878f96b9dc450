"""The comparison of exact counts without statistics.

Public: exact_difference, VARIES.
"""

from __future__ import annotations

import math

from becalm.nouns.metric import Metric
from becalm.results.compare import Answer, Difference
from becalm.stats.arrays import Floats

VARIES = 0.001
"""The largest difference between counts of one program that process numbers, times of day and paths explain: 0.1 %.
Programs whose counts differ by more do other work in each run."""

FEWEST = 2
"""The fewest counts of each program that show whether they repeat."""


def exact_difference(
    name: str, reference: str, first: Floats, second: Floats, *, metric: Metric, confidence: float
) -> Difference:
    """Return the difference of a program (`second`) from the reference (`first`) in a count; shape (runs,) each.

    The estimate is that of the medians. The interval contains the ratio of every count of one to every count of the
    other. There is no answer from fewer than two counts each, or where counts of one program differ by more than
    VARIES.
    """
    count = min(len(first), len(second))
    first, second = first[:count], second[:count]
    varies = max(_spread(first), _spread(second))
    low, high = -math.inf, math.inf
    if count >= FEWEST and varies <= VARIES:
        low, high = float(second.min() / first.max()) - 1, float(second.max() / first.min()) - 1
    if not math.isfinite(low):
        answer = Answer.UNKNOWN
    elif low > 0:
        answer = Answer.HIGHER
    else:
        answer = Answer.LOWER if high < 0 else Answer.NO_DIFFERENCE_DETECTED
    return Difference(
        name=name,
        reference=reference,
        estimate=_middle(second) / _middle(first) - 1,
        low=low,
        high=high,
        confidence=confidence,
        pairs=count,
        detectable=2 * varies if count >= FEWEST else math.inf,
        p_value=math.nan,
        answer=answer,
        standard_error=math.inf,
        metric=metric.name,
        better=metric.better,
        varies=varies,
    )


def _spread(counts: Floats) -> float:
    return float(counts.max() / counts.min()) - 1


def _middle(counts: Floats) -> float:
    """Return the lower median, which is one of the counts."""
    return float(sorted(counts.tolist())[(len(counts) - 1) // 2])
