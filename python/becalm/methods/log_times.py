"""Comparison of arms with the default across blocks: logarithms of the objective, with drift removed.

A block is one loop of one Ask: all of its arms in random order. The effect of a block (a hot afternoon, another
program) adds to all of its arms; it is estimated from the default and other arms that are in several blocks. The model
is y = arm + block + error, with fixed arms, and blocks from a normal distribution. The variances of blocks and errors
are estimated by restricted maximum likelihood, with steps of EM (Searle, Casella & McCulloch 1992, Variance Components,
8.3). So blocks that do not differ cost no precision, and if blocks differ, only arms of the same block are compared.

Failed arms, and arms of which a run was ended early, are censored: they are remembered and have no value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import stdtrit

from becalm.methods.protocol import NO_SETTINGS, Sample
from becalm.nouns.domain import Scale
from becalm.nouns.objective import find
from becalm.nouns.settings import Settings
from becalm.stats.arrays import Floats
from becalm.stats.one_thread import one_thread

STEPS = 60
"""The largest number of steps of EM, after which variances are precise enough as weights."""

NONE = 1e-10
"""The smallest ratio of the errors' variance to that of blocks, with which blocks are practically fixed."""

LEAST = 1e-12
"""The smallest variance of an error, since a simulated program may have none."""


class LogTimes:
    """The results of a search's arms; levels are relative to the default, below 0 for a faster arm."""

    def __init__(self, objective: str) -> None:
        self._row = find(objective)
        self._arms: dict[Settings, int] = {}
        self._failed: set[Settings] = set()
        self._slow: set[Settings] = set()
        self._cells: list[tuple[int, int, float, int]] = []
        self._blocks = 0
        self._fit: _Fit | None = None
        self._expected: dict[Settings, float] | None = None

    def add(self, samples: Sequence[Sample]) -> None:
        """Add the samples of an Ask. A single failed run makes a failed arm."""
        loops = max((len(sample.loops) for sample in samples), default=0)
        for sample in samples:
            values = [self._value(loop) for loop in sample.loops]
            if sample.failed or not values or not all(math.isfinite(value) for value in values):
                self._failed.add(sample.settings)
                (self._slow.add if sample.slow else self._slow.discard)(sample.settings)
            elif len(values) == loops:
                arm = self._arms.setdefault(sample.settings, len(self._arms))
                self._cells += [
                    (arm, self._blocks + block, value, len(sample.loops[block])) for block, value in enumerate(values)
                ]
        self._blocks += loops
        self._fit = self._expected = None

    @property
    def good(self) -> list[Settings]:
        """The arms without a failed run, the default included, in the order in which they were first tried."""
        return [arm for arm in self._arms if arm not in self._failed] if self._failed else list(self._arms)

    @property
    def bad(self) -> list[Settings]:
        """The failed arms, the default included."""
        return sorted(self._failed, key=lambda arm: [(name, str(value)) for name, value in arm.values])

    @property
    def failures(self) -> int:
        """The number of arms that failed."""
        return len(self._failed)

    def slow(self, arm: Settings) -> bool:
        """Return whether an arm only failed because a slow run of it was ended early."""
        return arm in self._slow

    @property
    def ended_early(self) -> int:
        """The number of arms that only failed because a slow run was ended early."""
        return len(self._slow)

    def failed(self, arm: Settings) -> bool:
        """Return whether a run of an arm failed."""
        return arm in self._failed

    def trials(self, arm: Settings) -> int:
        """Return the number of blocks with an arm."""
        index = self._arms.get(arm)
        return sum(cell[0] == index for cell in self._cells)

    def level(self, arm: Settings) -> float:
        """Return the log time of a good arm minus that of the default."""
        return self.difference(arm, NO_SETTINGS)[0]

    def difference(self, settings: Settings, other: Settings) -> tuple[float, float]:
        """Return the log time of one arm minus that of the other, and its standard error, infinite if unknown."""
        fit = self._fitted()
        return fit.difference(self._arms[settings], self._arms[other])

    def quantile(self, share: float) -> float:
        """Return the quantile of Student's t for the degrees of freedom of the errors; infinite without any."""
        freedom = self._fitted().freedom
        return float(stdtrit(freedom, share)) if freedom > 0 else math.inf

    def differs(self, settings: Settings, other: Settings, share: float = 0.975) -> bool:
        """Return whether two arms differ, by a t test with this quantile."""
        difference, error = self.difference(settings, other)
        return abs(difference) > self.quantile(share) * error

    def expected(self) -> Mapping[Settings, float]:
        """Return the expected levels of all good arms in further runs.

        The lowest of many noisy numbers is biased, so each level is shrunk towards the mean of all by its uncertainty
        (James & Stein 1961).
        """
        if self._expected is None:
            self._expected = self._shrunk()
        return self._expected

    def _shrunk(self) -> dict[Settings, float]:
        tried = [arm for arm in self.good if arm != NO_SETTINGS]
        if not tried:
            return {NO_SETTINGS: 0.0} if NO_SETTINGS in self._arms else {}
        fit = self._fitted()
        index = np.array([self._arms[arm] for arm in tried])
        levels = (
            fit.levels[index] - fit.levels[self._arms[NO_SETTINGS]] if NO_SETTINGS in self._arms else fit.levels[index]
        )
        variances = fit.variances[index]
        if np.isfinite(variances).all() and len(tried) > 2:
            mean = float(levels.mean())
            between = max(0.0, float(levels.var(ddof=1)) - float(variances.mean()))
            share = between / (between + variances) if between else np.zeros(len(levels))
            levels = mean + share * (levels - mean)
        expected = dict(zip(tried, levels.tolist(), strict=True))
        return {NO_SETTINGS: 0.0, **expected} if NO_SETTINGS in self._arms else expected

    def faster(self, arms: Sequence[Settings]) -> Settings:
        """Return the good arm with the lowest level, if it is below the default's by a standard error; else none."""
        if not arms:
            return NO_SETTINGS
        best = min(arms, key=self.level)
        difference, error = self.difference(best, NO_SETTINGS)
        return best if difference < -(error if math.isfinite(error) else 0.0) else NO_SETTINGS

    def _value(self, loop: Floats) -> float:
        if len(loop) < self._row.fewest:
            return math.inf
        value = self._row.value(loop)
        if self._row.scale is not Scale.LOG:
            return value
        return math.log(value) if value > 0 else math.inf

    def _fitted(self) -> _Fit:
        if self._fit is None:
            with one_thread():
                self._fit = _Fit(len(self._arms), self._blocks, self._cells)
        return self._fit


class _Fit:
    """The mixed model of all cells: the `levels` of arms, their `variances`, and the `freedom` of the errors."""

    def __init__(self, arms: int, blocks: int, cells: Sequence[tuple[int, int, float, int]]) -> None:
        arm = np.array([cell[0] for cell in cells], dtype=np.int64)
        block = np.array([cell[1] for cell in cells], dtype=np.int64)
        y = np.array([cell[2] for cell in cells])
        weight = np.array([float(cell[3]) for cell in cells])
        self._size = np.bincount(arm, weight, arms)
        middle = np.bincount(arm, weight * y, arms) / self._size
        rest = y - middle[arm]
        shared = np.zeros((arms, blocks))
        np.add.at(shared, (arm, block), weight)
        share = shared / self._size[:, None]
        # The normal equations of the blocks after elimination of the arms (Henderson 1984), in their eigenvectors, in
        # which each step of EM is a sum.
        left = np.diag(shared.sum(axis=0)) - shared.T @ share
        values, axes = np.linalg.eigh(left)
        values = np.maximum(values, 0.0)
        # A common shift of all connected blocks cannot be told from their arms.
        along = np.where(values > 1e-9, axes.T @ np.bincount(block, weight * rest, blocks), 0.0)
        self.freedom = len(cells) - arms
        noise, ratio = self._variances(values, along, float(weight @ rest**2))
        effect = along / (values + ratio)
        self.levels: Floats = middle - share @ (axes @ effect)
        self._noise, self._root = noise, (share @ axes) / np.sqrt(values + ratio)
        self.variances: Floats = (
            noise * (1 / self._size + (self._root**2).sum(axis=1)) if self.freedom > 0 else np.full(arms, np.inf)
        )

    def _variances(self, values: Floats, along: Floats, squares: float) -> tuple[float, float]:
        """Return the variance of an error, and its ratio to the variance of blocks."""
        if self.freedom <= 0:
            return math.inf, NONE
        ratio = noise = 1.0
        for _ in range(STEPS):
            effect = along / (values + ratio)
            noise = max(LEAST, (squares - float(along @ effect)) / self.freedom)
            between = float(effect @ effect + noise * (1 / (values + ratio)).sum()) / len(values)
            before, ratio = ratio, min(1 / NONE, max(NONE, noise / max(between, LEAST * NONE)))
            if abs(math.log(ratio / before)) < 1e-3:
                break
        return noise, ratio

    def difference(self, arm: int, other: int) -> tuple[float, float]:
        """Return the level of one arm minus that of the other, and its standard error."""
        between = float(self.levels[arm] - self.levels[other])
        if arm == other:
            return 0.0, 0.0
        if self.freedom <= 0:
            return between, math.inf
        spread = self._root[arm] - self._root[other]
        return between, math.sqrt(self._noise * (1 / self._size[arm] + 1 / self._size[other] + float(spread @ spread)))
