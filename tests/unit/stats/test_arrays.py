"""Requirements of every series, and quantiles of one."""

import math

import numpy as np
import pytest

from becalm.stats.arrays import (
    LONG,
    ONE_THREAD,
    among,
    clip,
    distinct,
    dot,
    median_of,
    medians_of,
    quantile,
    quantiles,
    series,
)

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 10, 11, 61, 1000])
def test_quantiles_are_numpys_to_the_last_bit(count: int) -> None:
    rng = np.random.default_rng(count)
    for values in (rng.standard_normal(count), rng.integers(3, size=count).astype(float), np.full(count, 0.1)):
        before, wanted = values.copy(), tuple(float(quantile) for quantile in np.quantile(values, SHARES))
        assert quantiles(values, *SHARES) == wanted
        assert tuple(quantile(np.sort(values), share) for share in SHARES) == wanted
        assert (values == before).all(), "the series itself stays in its order"


@pytest.mark.parametrize("count", [1, 2, 3, 4, 10, 11, 61, 1000])
def test_the_median_is_numpys_to_the_last_bit(count: int) -> None:
    rng = np.random.default_rng(count)
    for values in (rng.standard_normal(count), rng.integers(2**60, size=count), np.full(count, 0.1)):
        before = values.copy()
        assert median_of(values) == float(np.median(values))
        assert (values == before).all(), "the series itself stays in its order"
        unknown = np.where(np.arange(count) == count // 3, np.nan, values)
        assert np.isnan(median_of(unknown))


def test_the_median_of_nothing_is_unknown() -> None:
    assert np.isnan(median_of([]))


def test_an_invalid_number_is_named_with_its_place() -> None:
    with pytest.raises(ValueError, match="The times must be finite numbers, but there is nan at position 1"):
        series([1.0, float("nan")], "The times")


@pytest.mark.parametrize("width", [1, 2, 7, 8, 21])
def test_medians_of_rows(width: int) -> None:
    """The medians are numpy's own, for rows of odd and even length."""
    rows = np.random.default_rng(width).lognormal(size=(13, width))
    assert medians_of(rows).tolist() == np.median(rows, axis=1).tolist()


@pytest.mark.parametrize("some", [[], [7], [0, 3, 9], [999_999]], ids=str)
@pytest.mark.parametrize("kind", [np.float64, np.int64])
def test_numbers_among_some(some: list[int], kind: type[np.float64] | type[np.int64]) -> None:
    """The answers are numpy's own, also for few numbers far apart, and for those of a record, which are floats."""
    numbers = np.array([0, 7, 3, 999_999, 3], kind)
    assert among(numbers, np.array(some, np.int32)).tolist() == [number in some for number in numbers]
    assert among(numbers[:0], np.array(some, np.int32)).tolist() == []


def test_different_values_and_their_number_are_those_of_numpy():
    ordered = np.sort(np.random.default_rng(1).integers(0, 40, 200) / 8)
    values, counts = distinct(ordered)
    expected = np.unique(ordered, return_counts=True)
    assert (values.tolist(), counts.tolist()) == (expected[0].tolist(), expected[1].tolist())
    assert [len(part) for part in distinct(ordered[:0])] == [0, 0]


@pytest.mark.parametrize("count", [0, 3, ONE_THREAD, ONE_THREAD + 1, 2 * ONE_THREAD + 7])
def test_long_series_are_multiplied_in_parts_that_one_thread_takes(count):
    parts = []

    class Recorded(np.ndarray):
        def __matmul__(self, other):
            parts.append(len(self))
            return np.asarray(self) @ np.asarray(other)

    left, right = np.random.default_rng(count).normal(size=(2, count))
    assert dot(left.view(Recorded), right) == pytest.approx(math.fsum(left * right), rel=1e-12, abs=1e-9)
    assert sum(parts) == count
    assert max(parts) <= ONE_THREAD


@pytest.mark.parametrize("count", [0, 3, LONG - 1, LONG])
def test_short_and_long_series_are_limited_alike(count):
    values = np.random.default_rng(1).normal(size=count)
    assert clip(values, -0.5, 1.0).tolist() == [min(max(value, -0.5), 1.0) for value in values]
