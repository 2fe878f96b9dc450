"""The method `surface` with a composite design: the design, a surface fitted to its runs, and runs where it is lowest.

Many factors are first screened by a two-level design. Every request has points of one block of the design, in random
order, and the machine as it is as a control; the common part of a block is drift, which is removed before the fit. The
model is the simplest that fits, on the power scale that Box and Cox's method selects. Then its lowest place is measured
together with the best places so far, the model is fitted again, and so on, closer and closer to the best place. A right
model is confirmed; with a wrong one (a cliff, two valleys) the runs themselves decide. Failed runs are censored: they
have no value, and failed settings are not tried again.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence

import numpy as np
from msgspec.structs import replace

from becalm.methods.protocol import NO_SETTINGS, Ask, Choice, Sample, SearchGenerator, TrialDesign
from becalm.methods.surface_design import Layout, layouts, needs_screening, screening
from becalm.methods.surface_end import SURE, at_ends, lost_trials, nothing_found, without_model
from becalm.methods.surface_model import MeasuredPlace, Model
from becalm.nouns.factor import Factor
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.stats.arrays import Floats

FOLLOW = 12
"""The number of runs after the design, controls included: with the 20 of three factors 32 in all."""

KEPT = 3
"""The largest number of ranges that are kept after screening; their surface takes 20 runs."""

TELLING = 2.0
"""The main effect, in standard errors, from which a factor is kept."""

ROUND = 2
"""The number of places that a follow-up measures, besides the machine as it is."""

REACH = 0.5
"""The distance from the best place, in coded units, within which the first follow-up searches; it halves each time."""

Asking = Generator[Ask, Sequence[Sample], None]


def composite(space: Space, rule: TrialDesign, rng: np.random.Generator) -> SearchGenerator:
    """Return the search of the method; see the module."""
    here = _Search(space, rule, rng)
    if needs_screening(space.factors):
        yield from here.screen()
    if here.short is None and here.factors:
        yield from here.design()
    if here.short is None:
        yield from here.follow()
    return here.choice()


class _Search:
    """A search: its measurements and its factors. `fixed`: the settings of factors that screening has settled."""

    def __init__(self, space: Space, rule: TrialDesign, rng: np.random.Generator) -> None:
        self.space, self.rule, self.rng = space, rule, rng
        self.factors: tuple[Factor, ...] = space.factors
        self.fixed = NO_SETTINGS
        self.places: list[MeasuredPlace] = []
        self.used = 0
        self.trials = 0
        self.failed: set[Settings] = set()
        self.slow: set[Settings] = set()
        self.short: str | None = None
        self.block = 0
        self.names: list[str] = []
        self._times: dict[Settings, list[float]] = {}
        self._most = math.inf if rule.most_runs is None else rule.most_runs

    @property
    def room(self) -> int:
        """The number of places for which there are runs left."""
        return 10**6 if math.isinf(self._most) else (int(self._most) - self.used) // self.rule.cost

    # --- asking -------------------------------------------------------------------------------------------------------

    def settings(self, coded: Sequence[float]) -> Settings:
        """Return the settings at a place of the present factors, in coded units."""
        levels = {factor.name: factor.natural(float(at)) for factor, at in zip(self.factors, coded, strict=True)}
        return Settings.of({**self.fixed.to_json(), **self.space.at(levels).to_json()})

    def coded(self, settings: Settings) -> tuple[float, ...]:
        """Return the place of settings in coded units, which may differ from the design's because of whole numbers."""
        values = settings.to_json()
        return tuple(factor.coded(values[factor.name]) for factor in self.factors)

    def best(self) -> Settings:
        """Return the fastest settings so far without a failed run."""
        known = {
            settings: float(np.mean(values)) for settings, values in self._times.items() if settings not in self.failed
        }
        return min(known, key=lambda settings: known[settings], default=NO_SETTINGS)

    def ask(self, points: Sequence[Sequence[float]], why: str, *, control: bool) -> Asking:
        """Measure some places, after the machine as it is if `control`, as far as there are runs left."""
        arms = [NO_SETTINGS] if control else []
        arms += [settings for settings in map(self.settings, points) if settings not in self.failed]
        arms = list(dict.fromkeys(arms))[: self.room]
        if not arms or arms == [NO_SETTINGS]:
            return
        rule = self.rule
        self.used += rule.cost * len(arms)
        samples = yield Ask(tuple(arms), rule.loops, rule.runs, rule.warmup_runs, why, self.best(), block=self.block)
        for arm, sample in zip(arms, samples, strict=True):
            value = sample.value(rule.objective)
            if arm != NO_SETTINGS:
                self.trials += 1
            if not math.isfinite(value):
                self.failed.add(arm)
                if sample.slow:
                    self.slow.add(arm)
                continue
            self._times.setdefault(arm, []).append(value)
            self.places.append(MeasuredPlace(None if arm == NO_SETTINGS else self.coded(arm), self.block, value))

    def measure(self, layout: Layout, why: str) -> Asking:
        """Yield a whole design, block by block, in parts without repeated points; the first part has a control."""
        blocks = list(self.rng.permutation(np.unique(layout.blocks)))
        for block in blocks:
            for index, part in enumerate(_parts(layout.points[layout.blocks == block], self.rng)):
                yield from self.ask(part, why, control=index == 0)
            self.block += 1

    def fitting(self, options: Sequence[Layout]) -> Layout | None:
        """Return the most informative design for which there are runs; None, with a reason in `short`, without any."""
        for option in options:
            if len(option.points) + len(np.unique(option.blocks)) <= self.room:
                return option
        least = (len(options[-1].points) + len(np.unique(options[-1].blocks))) * self.rule.cost if options else 0
        names = ", ".join(factor.name for factor in self.factors)
        self.short = (
            f"The limit of {self._most:.0f} runs is too low for {names}: the smallest design takes {least}. Allow "
            "more runs, or vary fewer settings."
        )
        return None

    # --- the phases ---------------------------------------------------------------------------------------------------

    def screen(self) -> Asking:
        """Yield the runs that screen many factors: choices are settled, and selected ranges remain for the surface."""
        layout = self.fitting(screening(self.factors, self.rng))
        if layout is None:
            return
        self.names.append(f"{layout.name} of {len(self.factors)} factors")
        yield from self.measure(layout, f"which of {len(self.factors)} settings matter: {layout.name}")
        model = self.model()
        if model is None:
            self.short = self._nothing()
            return
        effects = _main_effects(model)
        ranges = [factor for factor in self.factors if not factor.categorical]
        ranked = sorted(ranges, key=lambda factor: -effects[factor.name][0])
        selected = [factor for factor in ranked if effects[factor.name][0] >= TELLING][:KEPT] or ranked[:1]
        settled: dict[str, str | float] = {}
        for factor in self.factors:
            size, lowest = effects[factor.name]
            if factor not in selected and size >= TELLING:
                settled[factor.name] = factor.natural(lowest)
        self.fixed = self.space.at(settled)
        self.factors = tuple(factor for factor in self.factors if factor in selected)
        screening_places, self.places = self.places, []
        # Only the controls remain valid, because the other places have other factors.
        self.places = [replace(place, block=-1) for place in screening_places if place.coded is None]

    def design(self) -> Asking:
        """Yield the largest design for a surface of second order for which there are runs."""
        layout = self.fitting(layouts(self.factors))
        if layout is None:
            return
        name = f"{layout.name} of {', '.join(factor.name for factor in self.factors)}"
        self.names.append(name)
        yield from self.measure(layout, name)

    def follow(self) -> Asking:
        """Yield follow-ups: runs at the lowest place of the surface and at the best places so far, with controls."""
        left = min(FOLLOW - len({place.block for place in self.places if place.block >= 0}), self.room)
        reach = REACH
        while left >= ROUND + 1:
            model = self.model()
            if model is None:
                return
            points = self._promising(model, reach)
            if not points:
                return
            before = self.used
            yield from self.ask(points, "where the surface is lowest, next to the best so far", control=True)
            self.block += 1
            left -= (self.used - before) // self.rule.cost
            reach /= 2
            if self.used == before:
                return

    def _promising(self, model: Model, reach: float) -> list[tuple[float, ...]]:
        """Return two places to measure: the lowest one of the surface and the best measured one, or others near it."""
        values, places, _ = model.worth()
        order = [places[index] for index in np.argsort(values) if self.settings(places[index]) not in self.failed]
        if not order:
            return []
        best = np.array(order[0])
        points = [tuple(map(float, model.minimum(self.rng)))]
        points.append(tuple(map(float, best)))
        half = np.where(np.array(model.frame.choices) > 0, 2.0, reach)
        points.append(tuple(map(float, model.minimum(self.rng, best - half, best + half))))
        points += order[1:3]
        distinct: dict[Settings, tuple[float, ...]] = {}
        for point in points:
            if (settings := self.settings(point)) not in self.failed:
                distinct.setdefault(settings, point)
        return list(distinct.values())[:ROUND]

    # --- the end ------------------------------------------------------------------------------------------------------

    def model(self) -> Model | None:
        """Return the model of the good runs; None if they are too few or all equal."""
        varied = [place for place in self.places if place.coded is not None]
        if len(varied) < 3 or not self.factors:
            return None
        model = Model(self.factors, self.places)
        return None if model.constant else model

    def _nothing(self) -> str:
        """Return the sentence on why there is no model."""
        varied = any(place.coded is not None for place in self.places)
        return without_model([place.value for place in self.places], self.trials, len(self.failed), varied=varied)

    def choice(self) -> Choice:
        """Return the choice: the best place, if it seems faster than the machine as it is."""
        model = self.model() if self.short is None else None
        if model is None:
            return Choice(NO_SETTINGS, self.short or self._nothing())
        values, places, count = model.worth()
        good = [index for index in np.argsort(values) if self.settings(places[index]) not in self.failed]
        if not good:
            return Choice(NO_SETTINGS, self._nothing())
        best = int(good[0])
        gain = (model.control if model.controls else math.inf) - float(values[best])
        failed = lost_trials(len(self.failed), len(self.slow & self.failed))
        basis = f"{self.trials} trials{failed} ({'; '.join(self.names)})"
        if not gain > SURE * model.error(int(count[best])):
            seen = model.detectable(int(count[best])) if model.logarithmic else math.nan
            return Choice(NO_SETTINGS, nothing_found(seen, basis))
        return Choice(
            self.settings(places[best]), f"{_described(model)} {at_ends(self.factors, places[best])}After {basis}."
        )


def _parts(points: Floats, rng: np.random.Generator) -> list[list[tuple[float, ...]]]:
    """Return a block's points in parts in which no point occurs twice; each part is one request."""
    rows = [tuple(map(float, point)) for point in points[rng.permutation(len(points))]]
    most = max(rows.count(row) for row in set(rows))
    parts: list[list[tuple[float, ...]]] = [[] for _ in range(most)]
    seen: dict[tuple[float, ...], int] = {}
    single = 0
    for row in rows:
        if rows.count(row) > 1:
            parts[seen.setdefault(row, 0)].append(row)
            seen[row] += 1
        else:
            parts[single % most].append(row)
            single += 1
    return parts


def _main_effects(model: Model) -> dict[str, tuple[float, float]]:
    """Return by factor the largest contrast, in standard errors, and the coded level with the lowest response."""
    linear = next((summary for summary in model.summaries if summary.model == "linear"), model.summaries[-1])
    fit = linear.surface.fit
    estimates = dict(zip(fit.columns, fit.coefficients, strict=True))
    errors = dict(zip(fit.columns, fit.errors, strict=True)) if fit.freedom else {}
    result: dict[str, tuple[float, float]] = {}
    for index, factor in enumerate(model.factors):
        own = [place for place, (of, _) in enumerate(model.frame.variables) if of == index]
        values = [float(estimates.get(1 + place, 0.0)) for place in own]
        size = max((abs(v) / e if (e := errors.get(1 + p, 0.0)) > 0 else 0.0) for p, v in zip(own, values, strict=True))
        if factor.categorical:
            levels = [-sum(values), *values]
            result[factor.name] = (size, float(int(np.argmin(levels))))
        else:
            result[factor.name] = (size, -1.0 if values[0] > 0 else 1.0)
    return result


def _described(model: Model) -> str:
    """Return a sentence that describes the model."""
    best = model.best
    words = {"linear": "a plane", "2fi": "a plane with interactions", "quadratic": "a surface of second order",
             "cubic": "a surface of third order"}  # fmt: skip
    lack = best.fit.lack.p_value if best.fit.tested else math.nan
    parts = ["no surface fits the runs better than their mean, so the measured times decided"]
    if best.model != "mean":
        parts = [f"{words[best.model]} fits the runs best", f"R² {best.r_squared:.2f}"]
    if lack < 0.05:
        parts.append(
            f"but its misfit is larger than repeated runs differ (lack of fit, p {lack:.2g}), so the measured times "
            "decided"
        )
    if model.drift_p < 0.05:
        parts.append("drift from block to block was subtracted")
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}."
