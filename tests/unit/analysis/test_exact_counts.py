"""Counts of instructions that are compared as they are."""

import math

import numpy as np
import pytest

from becalm.analysis.exact_counts import VARIES, exact_difference
from becalm.nouns.metric import CALLGRIND, metric
from becalm.results.compare import Answer
from becalm.wording.compare import difference as sentence


def compared(first, second, spec=CALLGRIND):
    return exact_difference(
        "new",
        "old",
        np.array(first, dtype=float),
        np.array(second, dtype=float),
        metric=metric(spec),
        confidence=0.95,
    )


def test_equal_counts_are_exactly_equal():
    difference = compared([1000, 1000], [1000, 1000])
    assert (difference.estimate, difference.low, difference.high, difference.varies) == (0.0, 0.0, 0.0, 0.0)
    assert difference.answer is Answer.NO_DIFFERENCE_DETECTED
    assert sentence(difference) == (
        "new has exactly the instruction count of old (each counted twice; counts of one program are equal)."
    )


def test_one_more_instruction_in_a_billion_is_a_difference():
    difference = compared([10**9, 10**9], [10**9 + 1, 10**9 + 1])
    assert difference.answer is Answer.HIGHER
    assert difference.worse is True
    assert difference.low == pytest.approx(1e-9)
    assert difference.low == difference.high


def test_the_interval_has_every_ratio_of_counts():
    difference = compared([1_000_000, 1_000_100], [1_200_000, 1_200_300])
    assert difference.low == pytest.approx(1_200_000 / 1_000_100 - 1)
    assert difference.high == pytest.approx(1_200_300 / 1_000_000 - 1)
    assert difference.varies == pytest.approx(0.00025)
    assert "The instruction count of new is 20.00 % higher than that of old, which is worse" in sentence(difference)
    assert "counts of one program differ by 0.025 %" in sentence(difference)


def test_counts_that_overlap_are_not_different():
    difference = compared([1_000_000, 1_000_100], [1_000_050, 1_000_150])
    assert difference.answer is Answer.NO_DIFFERENCE_DETECTED
    assert "No difference above 0.015 % in instruction count between new and old" in sentence(difference)


@pytest.mark.parametrize("second", [[1000, 1000 * (1 + 2 * VARIES)], [5000, 9000]])
def test_counts_that_do_not_repeat_are_not_compared(second):
    difference = compared([1000, 1000], second)
    assert difference.answer is Answer.UNKNOWN
    assert difference.worse is None
    assert not math.isfinite(difference.low)
    assert "cannot be compared" in sentence(difference)
    assert "Fix what differs" in sentence(difference)


def test_one_count_each_is_too_few():
    difference = compared([1000], [2000])
    assert difference.answer is Answer.UNKNOWN
    assert "each was counted once" in sentence(difference)


def test_more_may_be_better():
    assert compared([1000] * 2, [2000] * 2, f"{CALLGRIND},better=higher").worse is False
    assert "2.000 times that of old, which is worse" in sentence(compared([1000] * 3, [2000] * 3))


def test_a_third_count_of_one_program_alone_is_not_used():
    assert compared([1000, 1000, 7], [1000, 1000]).pairs == 2
