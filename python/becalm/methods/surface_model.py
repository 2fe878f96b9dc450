"""The model of the composite method `surface`: drift, the polynomial that fits, and the worth of each place.

Drift and noise multiply a time, so they are estimated on its logarithm. If a value is not above 0, the scale of the
response is used throughout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import msgspec
import numpy as np
from scipy.special import fdtrc, stdtrit

from becalm.nouns.factor import Factor
from becalm.stats.arrays import Floats, Ints
from becalm.surfaces.anova import ModelSummary, choose_model, compare_models
from becalm.surfaces.box_cox import box_cox, restored, transformed
from becalm.surfaces.least_squares import fit
from becalm.surfaces.optimum import Bounds, best_point
from becalm.surfaces.surface import Data, Surface
from becalm.surfaces.terms import Frame, block_columns

LEVEL = 0.05


class MeasuredPlace(msgspec.Struct, frozen=True):
    """A run at a place: the place in coded units (None: the machine as it is), its block and its value."""

    coded: tuple[float, ...] | None
    block: int
    value: float


class Model:
    """A surface fitted to the good runs, and the runs of the machine as it is."""

    def __init__(self, factors: Sequence[Factor], places: Sequence[MeasuredPlace]) -> None:
        self.factors = tuple(factors)
        self.frame = Frame(tuple(len(factor.choices) for factor in factors))
        self.varied = [place for place in places if place.coded is not None]
        self.controls = [place for place in places if place.coded is None]
        self.points = np.array([place.coded for place in self.varied], dtype=np.float64).reshape(-1, len(factors))
        every = np.array([place.value for place in (*self.varied, *self.controls)])
        self.logarithmic = bool((every > 0).all())
        self._raw = np.log(every) if self.logarithmic else every
        self._blocks = np.array([place.block for place in (*self.varied, *self.controls)], dtype=np.int64)
        self.drift_p = math.nan
        drift = self._drift()
        self.drift_spread = float(drift.std())
        """The standard deviation of the removed drift, a share if the response has a logarithm."""
        self._raw = self._raw - drift
        self.power: float | None = None

    @property
    def values(self) -> Floats:
        """The values of the varied runs without drift, in units of the response."""
        own = self._raw[: len(self.varied)]
        return np.exp(own) if self.logarithmic else own

    @property
    def constant(self) -> bool:
        """Whether all values are equal."""
        return bool(np.ptp(self._raw) == 0)

    def _drift(self) -> Floats:
        """Return the effect of each run's block, shape (runs,); 0 if blocks do not differ significantly.

        It is fitted to all runs, together with the largest polynomial that leaves degrees of freedom.
        """
        none = np.zeros(len(self._raw))
        blocks = block_columns(self._blocks)
        if not blocks.shape[1] or np.ptp(self._raw) == 0:
            return none
        base = self._columns()
        plain, whole = fit(base, self._raw), fit(np.column_stack([base, blocks]), self._raw)
        gained = plain.freedom - whole.freedom
        if whole.freedom < 2 or gained < 1 or not whole.mse > 0:
            return none
        f = (plain.sse - whole.sse) / gained / whole.mse
        self.drift_p = float(fdtrc(gained, whole.freedom, f))
        if self.drift_p >= LEVEL:
            return none
        values = np.zeros(base.shape[1] + blocks.shape[1])
        values[list(whole.columns)] = whole.coefficients
        drift = blocks @ values[base.shape[1] :]
        return np.asarray(drift - drift.mean())

    def _columns(self) -> Floats:
        """Return the columns of the fit: a constant, an indicator of controls, and the terms that the runs allow."""
        count = len(self._raw)
        control = np.r_[np.zeros(len(self.varied)), np.ones(len(self.controls))]
        places = len(np.unique(self.points.round(7), axis=0))
        parts = [np.ones((count, 1)), control[:, None]]
        for model in ("quadratic", "2fi", "linear"):
            terms = self.frame.terms(model)
            if len(terms) + 2 < places:
                data = Data(self.frame, self.points, np.zeros(len(self.varied), np.int64), np.zeros(len(self.varied)))
                own = data.matrix(terms)[:, 1:]
                parts.append(np.vstack([own, np.zeros((len(self.controls), own.shape[1]))]))
                break
        return np.column_stack(parts)

    @cached_property
    def response(self) -> Floats:
        """The fitted values of the varied runs: without drift, on the scale of `power`."""
        own = self._raw[: len(self.varied)]
        if not self.logarithmic:
            return own
        y = np.exp(own - own.mean())
        models = compare_models(self._data(np.log(y)))
        best = choose_model(models, LEVEL)
        if not best.tested or np.ptp(y) == 0:
            return np.asarray(np.log(y))
        self.power = box_cox(best.surface.data.matrix(best.surface.terms), y, LEVEL).advised
        return transformed(y, self.power)

    def _data(self, y: Floats) -> Data:
        return Data(self.frame, self.points, np.zeros(len(y), dtype=np.int64), y)

    @cached_property
    def summaries(self) -> tuple[ModelSummary, ...]:
        """The fits of every polynomial that the runs allow."""
        return compare_models(self._data(self.response))

    @cached_property
    def best(self) -> ModelSummary:
        """The simplest polynomial that fits."""
        return choose_model(self.summaries, LEVEL)

    def surface(self) -> Surface:
        """Return the surface for the best place: of the model that fits, or of the largest one if it is constant."""
        if self.best.surface.terms:
            return self.best.surface
        usable = [
            summary for summary in self.summaries if summary.tested and not summary.aliased and summary.model != "cubic"
        ]
        return usable[-1].surface if usable else self.best.surface

    def minimum(self, rng: np.random.Generator, low: Floats | None = None, high: Floats | None = None) -> Floats:
        """Return the lowest place of the surface within bounds, shape (factors,)."""
        ends = Bounds.of(self.frame)
        bounds = ends if low is None or high is None else Bounds(np.maximum(low, -1.0), np.minimum(high, 1.0))
        return best_point(self.surface(), bounds, rng, largest=False)

    def _logs(self, z: Floats) -> Floats:
        """Return fitted values on the scale of gains: logarithms, if the response has them."""
        if not self.logarithmic:
            return z
        own = self._raw[: len(self.varied)]
        return np.log(np.maximum(restored(z, 0.0 if self.power is None else self.power), 1e-9)) + float(own.mean())

    def worth(self) -> tuple[Floats, list[tuple[float, ...]], Ints]:
        """Return the worth of the distinct measured places on the scale of gains, the places, and their runs' counts.

        The worth combines the model with the place's own runs, which weigh the more, the larger the model's misfit is
        relative to noise: a right model is more precise than a run or two, a wrong one (a cliff, two valleys) is not.
        """
        _, place = np.unique(self.points.round(7), axis=0, return_inverse=True)
        place = np.ravel(place)
        count = np.bincount(place)
        own = self._raw[: len(self.varied)]
        predicted = self._logs(self.best.surface.predict(self.points))
        rest = own - predicted
        mean = np.bincount(place, weights=rest) / count
        noise, misfit = self.noise**2, self.misfit**2
        weight = count * misfit / (count * misfit + noise) if misfit + noise > 0 else np.ones(len(count))
        first = np.array([int(np.flatnonzero(place == index)[0]) for index in range(len(count))])
        return predicted[first] + weight * mean, [tuple(map(float, point)) for point in self.points[first]], count

    @cached_property
    def noise(self) -> float:
        """The standard deviation of runs at one place, controls included; without repeats, that of residuals."""
        keys = np.vstack([self.points, np.full((len(self.controls), self.points.shape[1]), 9.0)]).round(7)
        _, place, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
        place = np.ravel(place)
        means = np.bincount(place, weights=self._raw) / count
        freedom = len(self._raw) - len(count)
        if freedom >= 2:
            return math.sqrt(float(((self._raw - means[place]) ** 2).sum()) / freedom)
        return self._left

    @cached_property
    def _left(self) -> float:
        """The standard deviation of the model's residuals on the scale of gains."""
        best_fit = self.best.surface.fit
        if best_fit.freedom < 1:
            return 0.0
        rest = self._raw[: len(self.varied)] - self._logs(best_fit.fitted)
        return math.sqrt(float(rest @ rest) / best_fit.freedom)

    @cached_property
    def misfit(self) -> float:
        """The standard deviation of the model's misfit at a place, without noise."""
        return math.sqrt(max(0.0, self._left**2 - self.noise**2))

    @property
    def control(self) -> float:
        """The mean of the machine as it is on the scale of gains; NaN without a good run."""
        return float(self._raw[len(self.varied) :].mean()) if self.controls else math.nan

    def error(self, count: int) -> float:
        """Return the standard error of the gain at a place with `count` runs."""
        return self.noise * math.sqrt(1 / max(1, count) + 1 / max(1, len(self.controls)))

    def detectable(self, count: int) -> float:
        """Return the true gain that `count` runs at a place and those of the machine as it is show with 80 % power."""
        freedom = max(2, len(self._raw) - len(self.best.surface.fit.columns) - 1)
        reach = float(stdtrit(freedom, 1 - LEVEL / 2) + stdtrit(freedom, 0.8)) * self.error(count)
        return 1 - math.exp(-reach) if self.logarithmic else reach
