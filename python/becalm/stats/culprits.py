"""The tasks of others that ran while a program waited for a CPU, named with a bounded rate of wrong names.

While a program waits for a CPU, another task runs on it. Over a block of time, a candidate that used `c` seconds of the
program's CPUs caused at most min(c, w) of a wait of w seconds, and at least what all others together cannot have
caused. Two independent arguments name a candidate:

1. **Accounting.** The waits that nobody else can have caused, summed over blocks, are a share LEAST of all waits. It
   needs no variation and no assumption on the scheduler, and is wrong only where a count is.
2. **Variation.** The candidate comes and goes, and the waits of the blocks rise and fall with its CPU time, the others'
   held fixed (permutations of residuals, Freedman & Lane 1983). Without a relation this happens in at most FALSE_NAMING
   of all cases, for all candidates together (Holm 1979). So that slow drifts are no proof, a quadratic trend is held
   fixed as well, and the same must hold from one block to the next, and with the time series shifted. The slope times
   the candidate's CPU time above its own least must be a share LEAST.

At most three candidates that neither argument names may together have caused most of the waits (`joint_suspects`): the
accounting applies to them as a whole.

Public: Blocks, Basis, NamedCandidate, name_culprits, JointSuspects, joint_suspects, bounds, FALSE_NAMING, LEAST.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec
import numpy as np
from msgspec.structs import replace

from becalm.stats.arrays import Floats
from becalm.stats.one_thread import one_thread
from becalm.stats.student import stdtr

FALSE_NAMING = 1 / 300
"""The rate at which any candidate is named where none of them caused the waits."""

LEAST = 0.2
"""The share of the waits that a candidate must have caused in order to be named: at most five can have."""

FEWEST = 12
"""The fewest blocks for the argument by variation."""

PERMUTATIONS = 19_999
"""The most permutations: enough to reach FALSE_NAMING for 60 candidates."""

EXCEEDED = 10
"""The number of permutations as extreme as the data after which no more are drawn, as the p-value is no longer small
(Besag & Clifford 1991)."""

SUSPECTS, MOST_OF_IT = 3, 0.5
"""The most candidates that are suspected jointly, and the least share of the waits that they must have caused."""

FAR = 0.1
"""The least shift of a time series, as a share of all blocks: activity lasts for several blocks."""

COMES_AND_GOES = 0.5
"""The coefficient of variation from which a candidate's use of the CPUs is its own decision. A task that computes all
the time varies by what others leave it, and so rises and falls with the waits of all that compete with it."""

STEPS = 0.01
"""The level at which the changes from one block to the next must go together."""

RESIDUAL = 1e-9
"""The share of a candidate's variation below which the others explain all of it."""

_BATCH = 2_000_000
"""The most numbers in memory at a time."""


class Basis(StrEnum):
    """The argument by which a candidate was named; COUNTED: the kernel counted who ran during each wait."""

    COUNTED = "counted"
    ACCOUNTING = "accounting"
    VARIATION = "variation"


class Blocks(msgspec.Struct, frozen=True):
    """A program's waits in K blocks of time, and the CPU time of J candidates meanwhile, all in ns.

    - `waits`: time on the run queue, except under a quota, shape (K,)
    - `spans`: the lengths of the blocks, shape (K,)
    - `cpu_ns`: the most CPU time of each candidate on the CPUs that the program may use, shape (J, K)
    - `own`: the most that the program's own tasks waited for each other, shape (K,)
    - `hidden`: the most CPU time in all blocks that belongs to no candidate
    - `error_ns`: the time by which the wait of a block and the times of candidates may refer to different moments
    - `minor_ns`: the CPU time of all candidates that cannot be named, shape (K,), and `minor_caused_ns`: the sum of the
      most that each of them can have caused; 0 for none
    """

    waits: Floats
    spans: Floats
    cpu_ns: Floats
    own: Floats
    hidden: float = 0.0
    error_ns: float = 200_000.0
    minor_ns: Floats | float = 0.0
    minor_caused_ns: Floats | float = 0.0

    def with_uses(self, uses: Mapping[tuple[int, int], float]) -> tuple[list[int], Blocks]:
        """Return the candidates that can be named, ascending, and the blocks with their CPU times as rows.

        `uses`: CPU time by candidate and block, ns. Next to a build there may be thousands of short-lived candidates:
        those that can have caused less than a share LEAST have no row of their own, and no answer depends on that.
        """
        candidate, block = (np.array([key[axis] for key in uses], np.int64) for axis in (0, 1))
        cpu_ns = np.array(list(uses.values()), np.float64)
        caused_ns = np.minimum(cpu_ns + self.error_ns * (cpu_ns > 0), self.waits[block])
        most_ns = np.maximum(np.bincount(candidate, cpu_ns), np.bincount(candidate, caused_ns))
        # Sums in another order differ in their last bits. Without waits nobody is named.
        total_ns = float(self.waits.sum())
        major = np.flatnonzero((most_ns >= LEAST * total_ns * (1 - 1e-9)) & (total_ns > 0))
        row = np.full(len(most_ns), -1)
        row[major] = np.arange(len(major))
        of_major = row[candidate] >= 0
        rows = np.zeros((len(major), len(self.waits)))
        np.add.at(rows, (row[candidate[of_major]], block[of_major]), cpu_ns[of_major])
        minor_ns, minor_caused_ns = (
            np.bincount(block[~of_major], values[~of_major], len(self.waits)) for values in (cpu_ns, caused_ns)
        )
        return major.tolist(), replace(self, cpu_ns=rows, minor_ns=minor_ns, minor_caused_ns=minor_caused_ns)


class NamedCandidate(msgspec.Struct, frozen=True):
    """A candidate by its index, its share of the waits with a lower and an upper bound, and the argument."""

    index: int
    share: float
    low: float
    high: float
    basis: Basis


class JointSuspects(msgspec.Struct, frozen=True):
    """The candidates that together caused a share of the waits, at least `low`; their individual shares are unknown."""

    indices: tuple[int, ...]
    low: float


def bounds(blocks: Blocks) -> tuple[Floats, Floats]:
    """Return the least and the largest share of all waits that each candidate can have caused, shape (J,) each."""
    total = float(blocks.waits.sum())
    if total <= 0:
        zeros = np.zeros(len(blocks.cpu_ns))
        return zeros, zeros
    most_caused = _most_caused(blocks)
    low = _least_waits(blocks, most_caused.sum(axis=0) + blocks.minor_caused_ns - most_caused) / total
    high = np.minimum(most_caused.sum(axis=1) / total, 1.0)
    return np.clip(low, 0.0, high), high


def joint_suspects(blocks: Blocks, named: Sequence[int] = ()) -> JointSuspects | None:
    """Return unnamed candidates, each of which may have caused a share LEAST, if they caused most of the waits
    together.

    `named`: candidates that are named already; they count with the most that they can have caused.
    """
    total = float(blocks.waits.sum())
    if total <= 0 or not len(blocks.cpu_ns):
        return None
    most_caused = _most_caused(blocks)
    high = most_caused.sum(axis=1) / total
    suspects = [int(index) for index in np.flatnonzero(high >= LEAST) if index not in named]
    if not 2 <= len(suspects) <= SUSPECTS:
        return None
    others = np.delete(most_caused, suspects, axis=0).sum(axis=0) + blocks.minor_caused_ns
    low = float(_least_waits(blocks, others[np.newaxis])[0]) / total
    return JointSuspects(tuple(suspects), min(low, 1.0)) if low >= MOST_OF_IT else None


def _most_caused(blocks: Blocks) -> Floats:
    """Return the most that each candidate can have caused of each block's wait, shape (J, K)."""
    return np.minimum(blocks.cpu_ns + blocks.error_ns * (blocks.cpu_ns > 0), blocks.waits)


def _least_waits(blocks: Blocks, others: Floats) -> Floats:
    """Return the waits that neither the program itself nor `others`, shape (rows, K), can have caused, ns."""
    remaining = blocks.waits - np.minimum(blocks.own, blocks.waits) - others - blocks.error_ns
    return np.asarray(np.maximum(remaining, 0.0).sum(axis=1) - blocks.hidden)


def name_culprits(
    blocks: Blocks, *, least_ns: float = 0.0, seed: int = 0, false_naming: float = FALSE_NAMING
) -> tuple[NamedCandidate, ...]:
    """Return the candidates that caused a share LEAST of the waits or more, the largest share first.

    `least_ns`: the least wait that a candidate must have caused, by estimate, to be named.
    """
    total = float(blocks.waits.sum())
    if total < max(least_ns, 1.0) or not len(blocks.cpu_ns):
        return ()
    low, high = bounds(blocks)
    shares = _proportional_shares(blocks, low, high)
    culprits = {
        int(index): NamedCandidate(
            int(index), float(shares[index]), float(low[index]), float(high[index]), Basis.ACCOUNTING
        )
        for index in np.flatnonzero(low >= LEAST)
    }
    for index, (share, lower) in _covarying(blocks, high, seed, false_naming).items():
        if index not in culprits and share >= LEAST:
            share = min(max(share, float(low[index])), float(high[index]))
            lower = min(max(lower, float(low[index])), share)
            culprits[index] = NamedCandidate(index, share, lower, float(high[index]), Basis.VARIATION)
    relevant = [culprit for culprit in culprits.values() if culprit.share * total >= least_ns]
    return tuple(sorted(relevant, key=lambda culprit: (-culprit.share, culprit.index)))


def _proportional_shares(blocks: Blocks, low: Floats, high: Floats) -> Floats:
    """Return shares of the waits, shape (J,), in proportion to the CPU time used meanwhile, within the bounds."""
    total_ns = blocks.cpu_ns.sum(axis=0) + blocks.minor_ns + np.minimum(blocks.own, blocks.waits)
    part = np.divide(blocks.cpu_ns, total_ns, out=np.zeros_like(blocks.cpu_ns), where=total_ns > 0)
    shares: Floats = np.clip((part * blocks.waits).sum(axis=1) / blocks.waits.sum(), low, high)
    return shares


@one_thread()
def _covarying(blocks: Blocks, high: Floats, seed: int, false_naming: float) -> dict[int, tuple[float, float]]:
    """Return share and lower bound of the candidates with which the waits rise and fall, by index."""
    count = len(blocks.waits)
    # Sums and bounds do not depend on the order of the blocks, so that selecting by them costs no error.
    candidates = np.flatnonzero(blocks.cpu_ns.sum(axis=1) >= LEAST * blocks.waits.sum())
    rates = blocks.cpu_ns[candidates] / blocks.spans
    candidates = candidates[rates.std(axis=1) >= COMES_AND_GOES * rates.mean(axis=1)]
    if count < FEWEST or not len(candidates) or len(candidates) > count // 3:
        return {}
    waits = blocks.waits / blocks.spans
    candidate_rates = (blocks.cpu_ns[candidates] / blocks.spans).T
    trend = np.linspace(-1.0, 1.0, count)
    background = [np.ones(count), trend, trend * trend]
    if np.ptp(blocks.own / blocks.spans) > 0:
        background.append(blocks.own / blocks.spans)
    other_rates = (np.delete(blocks.cpu_ns, candidates, axis=0).sum(axis=0) + blocks.minor_ns) / blocks.spans
    if np.ptp(other_rates) > 0:
        background.append(other_rates)
    rng = np.random.default_rng(seed)
    tests = [_test(waits, candidate_rates, np.column_stack(background), place, rng) for place in range(len(candidates))]
    order = sorted(range(len(tests)), key=lambda place: tests[place][0])
    proven: dict[int, tuple[float, float]] = {}
    for rank, place in enumerate(order):
        p_value, slope, error = tests[place]
        if p_value > false_naming / (len(tests) - rank):
            break
        index = int(candidates[place])
        # A second of another task's CPU time causes at most a second of waiting.
        rate = blocks.cpu_ns[index] / blocks.spans
        unit = float((blocks.spans * (rate - rate.min())).sum() / blocks.waits.sum())
        proven[index] = min(slope, 1.0) * unit, max(0.0, min(slope, 1.0) - 2 * error) * unit
    return proven


def _test(
    waits: Floats, rates: Floats, background: Floats, place: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return the p-value of one candidate given the others, its slope, and the slope's standard error.

    `waits`: shape (K,); `rates`: shape (K, candidates); `background`: shape (K, regressors).
    """
    count = len(waits)
    regressors = np.column_stack([background, np.delete(rates, place, axis=1)])
    basis, _ = np.linalg.qr(regressors)
    candidate = rates[:, place]
    x = candidate - basis @ (basis.T @ candidate)
    y = waits - basis @ (basis.T @ waits)
    square = float(x @ x)
    if square <= RESIDUAL * float(candidate @ candidate):
        return 1.0, 0.0, 0.0
    product = float(x @ y)
    slope = product / square
    freedom = count - regressors.shape[1] - 1
    if slope <= 0 or freedom < 1:
        return 1.0, slope, 0.0
    residuals = y - slope * x
    error = float(np.sqrt((residuals @ residuals) / freedom / square))
    partial = float(_partial(y[np.newaxis], x, basis)[0]) - 1e-12
    least_shift = max(1, int(FAR * count))
    rows = max(1, _BATCH // count)
    for first in range(least_shift, count - least_shift + 1, rows):
        shifts = range(first, min(first + rows, count - least_shift + 1))
        if (_partial(np.array([np.roll(y, shift) for shift in shifts]), x, basis) >= partial).any():
            return 1.0, slope, error
    if _p_of_steps(x, y) > STEPS:
        return 1.0, slope, error
    draws = as_large = 0
    while draws < PERMUTATIONS and as_large < EXCEEDED:
        size = min(max(100, draws), PERMUTATIONS - draws, rows)
        order = rng.random((size, count), dtype=np.float32).argsort(axis=1)
        as_large += int((_partial(y[order], x, basis) >= partial).sum())
        draws += size
    return (1 + as_large) / (1 + draws), slope, error


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
    """Return the correlation of each row, shape (rows, K), with x, after regression on the basis."""
    residuals = rows - (rows @ basis) @ basis.T
    norms = np.sqrt((residuals * residuals).sum(axis=1) * float(x @ x))
    partial: Floats = np.divide(residuals @ x, norms, out=np.zeros(len(rows)), where=norms > 0)
    return partial
