"""Arrays of numbers: the check of all input to these functions, and quantiles of short series."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Positions = npt.NDArray[np.int32]


def series(values: npt.ArrayLike, name: str, least: int = 1) -> Floats:
    """Return `values` as a one-dimensional float array of at least `least` finite numbers.

    Raises ValueError with a sentence that names the series, and the first position that is not a number.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one series of numbers, not an array of {array.ndim} dimensions.")
    if len(array) < least:
        raise ValueError(f"{name} must have at least {least} values, not {len(array)}.")
    finite = np.isfinite(array)
    if not finite.all():
        where = int(np.argmin(finite))
        raise ValueError(f"{name} must be finite numbers, but there is {array[where]} at position {where}.")
    return array


def quantile(ordered: Floats, share: float) -> float:
    """Return the quantile of an ordered series, shape (n,), linear between values.

    The result equals numpy's to the last bit, at a tenth of its time for short series.
    """
    place = share * (len(ordered) - 1)
    index = int(place)
    lower, upper = float(ordered[index]), float(ordered[min(index + 1, len(ordered) - 1)])
    weight = place - index
    return lower + (upper - lower) * weight if weight < 0.5 else upper - (upper - lower) * (1 - weight)


def quantiles(values: Floats, *shares: float) -> tuple[float, ...]:
    """Return several quantiles of a series in any order, which is sorted only as far as needed."""
    ordered = values.copy()
    ordered.partition(_places(len(values), shares))
    return tuple(quantile(ordered, share) for share in shares)


@lru_cache(maxsize=256)
def _places(count: int, shares: tuple[float, ...]) -> list[int]:
    """Return the indices of the ordered values between which the quantiles lie, for `count` values."""
    last = count - 1
    places = {int(share * last) for share in shares}
    return sorted(places | {min(place + 1, last) for place in places})


LONG = 5_000
"""The length from which on numpy's own `clip` is faster."""


def clip(values: Floats, low: float, high: float) -> Floats:
    """Return the values limited to [low, high].

    numpy's own spends more time on checks than on clipping a short series; for a long one, every further array costs
    ten times as much as the arithmetic, for the kernel has to provide its pages.
    """
    return np.minimum(np.maximum(values, low), high) if len(values) < LONG else np.clip(values, low, high)


ONE_THREAD = 10_000
"""The longest arrays that OpenBLAS multiplies on one thread (its kernel/x86_64/ddot.c)."""


def dot(left: Floats, right: Floats) -> float:
    """Return the sum of the products of two series.

    On a busy machine, threads that multiply parts of them wait for each other, 8 ms where one takes 9 µs. So one
    thread multiplies long series in parts. (`becalm.stats.one_thread` would load the library of scipy, too, which no
    comparison needs.)
    """
    if len(left) <= ONE_THREAD:
        return float(left @ right)
    parts = (slice(start, start + ONE_THREAD) for start in range(0, len(left), ONE_THREAD))
    return sum(float(left[part] @ right[part]) for part in parts)


def median_of(values: npt.ArrayLike) -> float:
    """Return the median of one series, as numpy's own; NaN where one of its values is NaN, or where there are none.

    numpy's imports masked arrays on its first call, which takes 20 ms: too long for a short comparison.
    """
    array = np.asarray(values, dtype=np.float64)
    count = len(array)
    if not count:
        return float("nan")
    # NaNs are sorted to the end.
    middle, upper_middle, last = np.partition(array, ((count - 1) // 2, count // 2, count - 1))[
        [(count - 1) // 2, count // 2, count - 1]
    ]
    return float((middle + upper_middle) / 2) if last == last else float("nan")


def medians_of(rows: Floats) -> Floats:
    """Return the median of each row of finite numbers, shape (rows, n), as numpy's own, without its masked arrays."""
    low, high = (rows.shape[1] - 1) // 2, rows.shape[1] // 2
    ordered = np.partition(rows, (low, high), axis=1)
    result: Floats = (ordered[:, low] + ordered[:, high]) / 2
    return result


def distinct(ordered: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the distinct values, shape (m,), and the count of each, as numpy's unique without its masked arrays.

    `ordered`: increasing finite numbers, shape (n,).
    """
    if not len(ordered):
        return ordered, np.zeros(0, dtype=np.int64)
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[first], np.diff(first, append=len(ordered)).astype(np.int64)


def among(numbers: npt.NDArray[np.integer] | Floats, selection: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Return a mask of the sequence numbers (integers of any type) that are in the selection, shape (n,).

    It uses a table as long as the range of the numbers, since both are of one study; numpy's own choice sorts few
    numbers, and imports masked arrays for it.
    """
    return np.isin(numbers.astype(np.int64), selection, kind="table")


def level(alpha: float) -> float:
    """Return `alpha` if it is a level of error, between 0 and 1 exclusive. Raises ValueError otherwise."""
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"A level of error lies between 0 and 1; {alpha} does not.")
    return alpha
