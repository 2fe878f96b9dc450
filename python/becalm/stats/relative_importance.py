"""The shares of predictors in a response: Shapley shares of R squared (LMG), over all subsets at once.

R squared of every subset of predictors is computed for many resamples together; 2^p small systems, vectorised. With
`positive`, the fit is non-negative least squares. Its solution is the ordinary one on some subset where all
coefficients are positive, so its R squared is the largest among those subsets (Lawson & Hanson 1974, 23).

LMG: Lindeman, Merenda & Gold (1980), Introduction to Bivariate and Multivariate Analysis, 119; Groemping (2006), J.
Stat. Softw. 17(1). Public: subsets, moments, r_squared, non_negative, best_fit, shapley, inflation, robust_weights.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST = 10
"""The most predictors: 1024 systems for each resample."""

ROUNDS = 10
"""The number of reweighting rounds; half of them use Huber's weights, from which the others start."""

EXACT = 1e-6
"""The share of the response's standard deviation within which a row is fitted exactly."""

RIDGE = 1e-10
"""The ridge, relative to the variances, which gives a resample with two equal predictors a solution."""


@cache
def subsets(count: int) -> tuple[tuple[int, ...], ...]:
    """Return the members of each subset of `count` items; subset number s contains i when bit i of s is set."""
    return tuple(tuple(i for i in range(count) if s >> i & 1) for s in range(1 << count))


@cache
def _by_size(count: int) -> tuple[tuple[Ints, Ints], ...]:
    """Return the numbers (s,) and members (s, k) of the subsets of each size k from 1 on: these are solved together."""
    numbers = [[number for number in range(1 << count) if number.bit_count() == size] for size in range(1, count + 1)]
    return tuple((np.array(group), np.array([subsets(count)[number] for number in group])) for group in numbers)


def moments(x: Floats, y: Floats, weights: Floats | None = None) -> Floats:
    """Return covariances of predictors and response, shape (resamples, p + 1, p + 1), the response last.

    `x`: shape (n, p); `y`: shape (n,) or (resamples, n); `weights`: shape (resamples, n), the weight of each row.
    Predictors are in units of their standard deviation.
    """
    spread = x.std(axis=0)
    scaled = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    responses = np.atleast_2d(y)
    if weights is None:
        weights = np.ones((1, len(x)))
    size = max(len(responses), len(weights))
    rows = np.empty((size, len(x), x.shape[1] + 1))
    rows[:, :, :-1], rows[:, :, -1] = scaled, responses
    w = (weights / weights.sum(axis=1, keepdims=True))[:, :, np.newaxis]
    rows = rows - (rows * w).sum(axis=1, keepdims=True)
    return np.asarray(np.matmul(np.swapaxes(rows * w, 1, 2), rows))


def r_squared(covariance: Floats, *, positive: bool = False) -> Floats:
    """Return R squared of each subset of predictors, shape (resamples, 2^p); the empty subset has 0.

    `positive`: of the fit whose coefficients are not negative. Raises ValueError for more than MOST predictors.
    """
    count = covariance.shape[1] - 1
    if count > MOST:
        raise ValueError(f"{count} predictors have too many subsets; at most {MOST} are possible.")
    total = covariance[:, -1, -1]
    safe = np.where(total > 0, total, 1.0)
    result = np.zeros((len(covariance), 1 << count))
    for numbers, members in _by_size(count):
        coefficients = _solve(covariance, members)
        value = np.einsum("rsi,rsi->rs", coefficients, covariance[:, members, -1]) / safe[:, np.newaxis]
        is_valid = (coefficients >= 0).all(axis=2) if positive else True
        result[:, numbers] = np.where((total > 0)[:, np.newaxis] & is_valid, np.clip(value, 0.0, 1.0), 0.0)
    if positive:
        for bit in range(count):
            with_bit = np.array([s for s in range(1 << count) if s >> bit & 1])
            result[:, with_bit] = np.maximum(result[:, with_bit], result[:, with_bit ^ (1 << bit)])
    return result


def _solve(covariance: Floats, members: Ints) -> Floats:
    """Return the coefficients of subsets (s, k) of one size in each resample, shape (resamples, s, k)."""
    a = covariance[:, members[:, :, np.newaxis], members[:, np.newaxis, :]]
    trace = np.maximum(np.einsum("rsii->rs", a), 1e-300)
    diagonal = np.arange(members.shape[1])
    a[:, :, diagonal, diagonal] += RIDGE * trace[:, :, np.newaxis]
    return np.asarray(np.linalg.solve(a, covariance[:, members, -1:])[:, :, :, 0])


def non_negative(covariance: Floats) -> Floats:
    """Return the coefficients of the non-negative least squares fit, shape (resamples, p), per standard deviation of x.

    The best subset whose ordinary fit has no negative coefficient is the solution.
    """
    count = covariance.shape[1] - 1
    best, result = np.zeros(len(covariance)), np.zeros((len(covariance), count))
    for _, members in _by_size(count):
        coefficients = _solve(covariance, members)
        value = np.einsum("rsi,rsi->rs", coefficients, covariance[:, members, -1])
        value = np.where((coefficients >= 0).all(axis=2), value, 0.0)
        first = value.argmax(axis=1)
        for row in np.flatnonzero(value.max(axis=1) > best):
            best[row] = value[row, first[row]]
            result[row] = 0.0
            result[row, members[first[row]]] = coefficients[row, first[row]]
    return result


def robust_weights(x: Floats, y: Floats) -> Floats:
    """Return the weight of each row in a fit that is robust against a few outliers, 0 to 1, shape (n,).

    Iteratively reweighted non-negative least squares, Huber's weights first and then Tukey's biweight (Holland & Welsch
    1977, Commun. Stat. A6:813, with their tuning constants, for 95 % efficiency at the normal distribution; scale is
    the median absolute residual). All 1 where more than half of the rows are fitted exactly.
    """
    weights = np.ones(len(y))
    spread = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    for step in range(ROUNDS):
        slope = non_negative(moments(x, y, weights[np.newaxis]))[0] / spread
        residuals = y - x @ slope
        residuals = residuals - np.median(residuals)
        scale = float(np.median(np.abs(residuals))) / 0.6745
        if scale <= EXACT * y.std():
            return np.ones(len(y))
        distance = np.abs(residuals) / scale
        if step < ROUNDS // 2:
            weights = np.minimum(1.0, 1.345 / np.maximum(distance, 1e-300))
        else:
            weights = np.maximum(0.0, 1 - (distance / 4.685) ** 2) ** 2
    return weights


def best_fit(x: Floats, responses: Floats) -> Floats:
    """Return R squared, shape (m,), of the non-negative fit of responses, shape (m, n), on the same predictors (n,
    p)."""
    spread = x.std(axis=0)
    centred = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    centred_responses = responses - responses.mean(axis=1, keepdims=True)
    total = (centred_responses**2).sum(axis=1)
    gram, cross = centred.T @ centred, centred.T @ centred_responses.T
    best = np.zeros(len(centred_responses))
    for _, members in _by_size(x.shape[1]):
        a = gram[members[:, :, np.newaxis], members[:, np.newaxis, :]]
        ridge = RIDGE * np.einsum("sii->s", a)[:, np.newaxis, np.newaxis] * np.eye(members.shape[1])
        coefficients = np.linalg.solve(a + ridge, cross[members])
        value = (coefficients * cross[members]).sum(axis=1)
        best = np.maximum(best, np.where((coefficients >= 0).all(axis=1), value, 0.0).max(axis=0))
    return np.asarray(np.clip(best / np.where(total > 0, total, 1.0), 0.0, 1.0))


def shapley(values: Floats, groups: tuple[tuple[int, ...], ...] | None = None) -> Floats:
    """Return the Shapley shares of a value of subsets, shape (resamples, groups), which add up to the value of all.

    `values`: shape (resamples, 2^p); `groups`: predictors that enter together (default: each by itself).
    """
    count = values.shape[1].bit_length() - 1
    players = groups if groups is not None else tuple((i,) for i in range(count))
    masks = [sum(1 << i for i in player) for player in players]
    size = len(players)
    union = np.array([sum(masks[i] for i in members) for members in subsets(size)])
    v = values[:, union]
    shares = np.zeros((len(values), size))
    for number, members in enumerate(subsets(size)):
        weight = (
            math.factorial(len(members)) * math.factorial(size - len(members) - 1) / math.factorial(size)
            if (len(members) < size)
            else 0.0
        )
        for index in range(size):
            if not number >> index & 1:
                shares[:, index] += weight * (v[:, number | 1 << index] - v[:, number])
    return shares


def inflation(x: Floats, index: int, against: tuple[int, ...]) -> float:
    """Return the variance inflation factor of predictor `index` against others, 1 / (1 - R squared); may be
    infinite."""
    if not against or x[:, index].std() == 0:
        return 1.0
    explained = float(r_squared(moments(x[:, list(against)], x[:, index]))[0, -1])
    return math.inf if explained >= 1 - 1e-9 else 1 / (1 - explained)
