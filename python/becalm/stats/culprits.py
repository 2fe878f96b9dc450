"""Name the tasks that others ran while a program waited for a CPU, with a bounded rate of wrong names.

While a program waits for a CPU, somebody else runs on it. Over a block of time, a candidate that took `c` seconds of
the program's CPUs caused at most min(c, w) of a wait of w seconds, and at least what all others together cannot have
caused. Two independent arguments name a candidate:

1. **Accounting.** The waits that nobody else can have caused, summed over blocks, are a share LEAST of all waits. It
   needs no variation and no assumption on the scheduler, and is wrong only where a count is.
2. **Variation.** The candidate comes and goes, and the waits of the blocks rise and fall with its CPU time, the others'
   held fixed (permutations of residuals, Freedman & Lane 1983), more than in FALSE_NAMING of all cases for all
   candidates together (Holm 1979). So that slow drifts are no proof, a quadratic trend is held fixed as well, and the
   same must hold from one block to the next, and with the time series shifted. The slope times its CPU time above its
   own least must be a share LEAST.

Of those that neither names, at most three that could have been it may have caused most of the waits together
(`together`): the accounting holds for them as one.

Public: Blocks, Basis, Named, named, Together, together, bounds, FALSE_NAMING, LEAST.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from becalm.stats.arrays import Floats
from becalm.stats.student import stdtr
from becalm.values import dataclass

FALSE_NAMING = 1 / 300
"""The rate at which any candidate is named where none of them caused the waits."""

LEAST = 0.2
"""The share of the waits that a candidate must have caused in order to be named: at most five can have."""

FEWEST = 12
"""Blocks below which variation proves nothing."""

PERMUTATIONS = 19_999
"""Enough to reach FALSE_NAMING for 60 candidates."""

EXCEEDED = 10
"""Permutations as extreme as the data after which no more are drawn: the p-value is no longer small (Besag & Clifford
1991)."""

SUSPECTS, MOST_OF_IT = 3, 0.5
"""The most candidates that are named together, and the least share of the waits that they must have caused."""

FAR = 0.1
"""The share of all blocks by which a shifted time series is at least displaced: activity lasts for several blocks."""

COMES_AND_GOES = 0.5
"""The coefficient of variation of a candidate's use of the CPUs from which on it is its own doing. One that computes
all the time varies by what others leave it, and so rises and falls with the waits of all that compete with it."""

STEPS = 0.01
"""The level at which the changes from one block to the next must go together."""

RESIDUAL = 1e-9
"""The share of a candidate's variation below which the others explain all of it."""

_BATCH = 2_000_000
"""Numbers in memory at a time."""


class Basis(StrEnum):
    """The argument by which a candidate was named."""

    ACCOUNTING = "accounting"
    VARIATION = "variation"


@dataclass(frozen=True, slots=True)
class Blocks:
    """A program's waits in K blocks of time, and the CPU time of J candidates meanwhile, all in ns.

    `waits` (K,): on the run queue, without what a quota held back; `spans` (K,): lengths of the blocks; `taken` (J, K):
    CPU time of each candidate on the CPUs that the program may use, at most; `own` (K,): the most that the program's
    own tasks waited for each other; `hidden`: CPU time in all blocks that no candidate took, at most; `error_ns`: by
    which the wait of a block and the times of candidates do not cover the same moments.
    """

    waits: Floats
    spans: Floats
    taken: Floats
    own: Floats
    hidden: float = 0.0
    error_ns: float = 200_000.0


@dataclass(frozen=True, slots=True)
class Named:
    """A candidate by its index, its share of the waits with a lower and an upper bound, and the argument."""

    index: int
    share: float
    low: float
    high: float
    basis: Basis


@dataclass(frozen=True, slots=True)
class Together:
    """Candidates that caused a share of the waits, at least `low`, of which it is not known who caused how much."""

    indices: tuple[int, ...]
    low: float


def bounds(blocks: Blocks) -> tuple[Floats, Floats]:
    """Return the least and the largest share of all waits that each candidate can have caused, shapes (J,)."""
    total = float(blocks.waits.sum())
    if total <= 0:
        nothing = np.zeros(len(blocks.taken))
        return nothing, nothing
    most = _most(blocks)
    low = _least(blocks, most.sum(axis=0) - most) / total
    high = np.minimum(most.sum(axis=1) / total, 1.0)
    return np.clip(low, 0.0, high), high


def together(blocks: Blocks, known: Sequence[int] = ()) -> Together | None:
    """Return those that may have caused a share LEAST of the waits, where they caused most of what is left.

    `known`: candidates that are named already; their part is what they can have caused at most.
    """
    total = float(blocks.waits.sum())
    if total <= 0 or not len(blocks.taken):
        return None
    most = _most(blocks)
    high = most.sum(axis=1) / total
    suspects = [int(index) for index in np.flatnonzero(high >= LEAST) if index not in known]
    if not 2 <= len(suspects) <= SUSPECTS:
        return None
    others = np.delete(most, suspects, axis=0).sum(axis=0)
    low = float(_least(blocks, others[np.newaxis])[0]) / total
    return Together(tuple(suspects), min(low, 1.0)) if low >= MOST_OF_IT else None


def _most(blocks: Blocks) -> Floats:
    """Return the most that each candidate can have caused of each block's wait, shape (J, K)."""
    return np.minimum(blocks.taken + blocks.error_ns * (blocks.taken > 0), blocks.waits)


def _least(blocks: Blocks, others: Floats) -> Floats:
    """Return the waits that neither the program itself nor `others`, shape (rows, K), can have caused, ns."""
    left = blocks.waits - np.minimum(blocks.own, blocks.waits) - others - blocks.error_ns
    return np.asarray(np.maximum(left, 0.0).sum(axis=1) - blocks.hidden)


def named(
    blocks: Blocks, *, least_ns: float = 0.0, seed: int = 0, false_naming: float = FALSE_NAMING
) -> tuple[Named, ...]:
    """Return the candidates that caused a share LEAST of the waits or more, the largest share first.

    `least_ns`: the wait that a candidate must have caused, as far as can be estimated, to be worth a name.
    """
    total = float(blocks.waits.sum())
    if total < max(least_ns, 1.0) or not len(blocks.taken):
        return ()
    low, high = bounds(blocks)
    shares = _proportional(blocks, low, high)
    named_by = {
        int(index): Named(int(index), float(shares[index]), float(low[index]), float(high[index]), Basis.ACCOUNTING)
        for index in np.flatnonzero(low >= LEAST)
    }
    for index, (share, lower) in _varying(blocks, high, seed, false_naming).items():
        if index not in named_by and share >= LEAST:
            share = min(max(share, float(low[index])), float(high[index]))
            lower = min(max(lower, float(low[index])), share)
            named_by[index] = Named(index, share, lower, float(high[index]), Basis.VARIATION)
    worth = [culprit for culprit in named_by.values() if culprit.share * total >= least_ns]
    return tuple(sorted(worth, key=lambda culprit: (-culprit.share, culprit.index)))


def _proportional(blocks: Blocks, low: Floats, high: Floats) -> Floats:
    """Return the shares of the waits in proportion to the CPU time taken meanwhile, within the bounds."""
    taken = blocks.taken.sum(axis=0) + np.minimum(blocks.own, blocks.waits)
    part = np.divide(blocks.taken, taken, out=np.zeros_like(blocks.taken), where=taken > 0)
    shares: Floats = np.clip((part * blocks.waits).sum(axis=1) / blocks.waits.sum(), low, high)
    return shares


def _varying(blocks: Blocks, high: Floats, seed: int, false_naming: float) -> dict[int, tuple[float, float]]:
    """Return share and lower bound of the candidates with which the waits rise and fall, by index."""
    count = len(blocks.waits)
    # Sums and bounds tell nothing of the order of the blocks, so that choosing by them costs no error.
    candidates = np.flatnonzero(blocks.taken.sum(axis=1) >= LEAST * blocks.waits.sum())
    rates = blocks.taken[candidates] / blocks.spans
    candidates = candidates[rates.std(axis=1) >= COMES_AND_GOES * rates.mean(axis=1)]
    if count < FEWEST or not len(candidates) or len(candidates) > count // 3:
        return {}
    waits = blocks.waits / blocks.spans
    taken = (blocks.taken[candidates] / blocks.spans).T
    trend = np.linspace(-1.0, 1.0, count)
    background = [np.ones(count), trend, trend * trend]
    if np.ptp(blocks.own / blocks.spans) > 0:
        background.append(blocks.own / blocks.spans)
    rest = np.delete(blocks.taken, candidates, axis=0).sum(axis=0) / blocks.spans
    if np.ptp(rest) > 0:
        background.append(rest)
    rng = np.random.default_rng(seed)
    tests = [_test(waits, taken, np.column_stack(background), place, rng) for place in range(len(candidates))]
    order = sorted(range(len(tests)), key=lambda place: tests[place][0])
    proven: dict[int, tuple[float, float]] = {}
    for rank, place in enumerate(order):
        p_value, slope, error = tests[place]
        if p_value > false_naming / (len(tests) - rank):
            break
        index = int(candidates[place])
        # A second of another's CPU time is at most a second of waiting.
        rate = blocks.taken[index] / blocks.spans
        unit = float((blocks.spans * (rate - rate.min())).sum() / blocks.waits.sum())
        proven[index] = min(slope, 1.0) * unit, max(0.0, min(slope, 1.0) - 2 * error) * unit
    return proven


def _test(
    waits: Floats, taken: Floats, background: Floats, place: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return the p-value of one candidate beside the others, its slope, and the slope's standard error."""
    count = len(waits)
    beside = np.column_stack([background, np.delete(taken, place, axis=1)])
    basis, _ = np.linalg.qr(beside)
    mine = taken[:, place]
    x = mine - basis @ (basis.T @ mine)
    y = waits - basis @ (basis.T @ waits)
    square = float(x @ x)
    if square <= RESIDUAL * float(mine @ mine):
        return 1.0, 0.0, 0.0
    seen = float(x @ y)
    slope = seen / square
    freedom = count - beside.shape[1] - 1
    if slope <= 0 or freedom < 1:
        return 1.0, slope, 0.0
    left = y - slope * x
    error = float(np.sqrt((left @ left) / freedom / square))
    partial = float(_partial(y[np.newaxis], x, basis)[0]) - 1e-12
    near = max(1, int(FAR * count))
    shifts = np.array([np.roll(y, shift) for shift in range(near, count - near + 1)])
    if (_partial(shifts, x, basis) >= partial).any() or _p_of_steps(x, y) > STEPS:
        return 1.0, slope, error
    drawn = as_large = 0
    while drawn < PERMUTATIONS and as_large < EXCEEDED:
        size = min(max(100, drawn), PERMUTATIONS - drawn, max(1, _BATCH // count))
        order = rng.random((size, count), dtype=np.float32).argsort(axis=1)
        as_large += int((_partial(y[order], x, basis) >= partial).sum())
        drawn += size
    return (1 + as_large) / (1 + drawn), slope, error


def _p_of_steps(x: Floats, y: Floats) -> float:
    """Return the p-value that changes of both from one block to the next go together (one-sided t test)."""
    dx, dy = np.diff(x), np.diff(y)
    norm = float(np.sqrt((dx @ dx) * (dy @ dy)))
    if norm == 0:
        return 1.0
    correlation = float(dx @ dy) / norm
    # Neighbouring changes share a block, so that two thirds of them count as independent.
    freedom = max(1.0, len(dx) / 1.5 - 2)
    statistic = correlation * np.sqrt(freedom / max(1e-12, 1 - correlation**2))
    return float(stdtr(freedom, -statistic))


def _partial(rows: Floats, x: Floats, basis: Floats) -> Floats:
    """Return the correlation of each row with x, what the basis explains taken off."""
    left = rows - (rows @ basis) @ basis.T
    norms = np.sqrt((left * left).sum(axis=1) * float(x @ x))
    partial: Floats = np.divide(left @ x, norms, out=np.zeros(len(rows)), where=norms > 0)
    return partial
