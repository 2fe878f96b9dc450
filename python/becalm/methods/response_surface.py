"""The method `surface` with a composite design: that, a surface through its runs, and more runs where it is lowest.

Many factors are first screened by a
two-level design. Every ask has points of one block of the design, in random order, and the machine as it is among them:
what all of them have in common is drift, and is taken off before anything is fitted. The model is the simplest that
fits, on the power scale that Box and Cox's method finds. Then its lowest place is measured beside the best places so
far, the model is fitted again, and so on, closer and closer to the best: where the model is right it is confirmed,
where it is wrong (a cliff, two valleys) the runs themselves decide. Failed runs are censored: they are never values,
and what failed is not tried again.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import replace

import numpy as np

from becalm.methods.protocol import NO_SETTINGS, Ask, Choice, Sample, SearchGenerator, TrialDesign
from becalm.methods.surface_design import Layout, layouts, screened, screening
from becalm.methods.surface_end import SURE, at_ends, lost, nothing_found, without_model
from becalm.methods.surface_model import MeasuredPlace, Model
from becalm.nouns.factor import Factor
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.stats.arrays import Floats

FOLLOW = 12
"""Runs after the design, controls among them: with the 20 of three factors 32 in all."""

KEPT = 3
"""Ranges that are kept after screening, at most: their surface takes 20 runs."""

TELLING = 2.0
"""A main effect of so many standard errors is kept."""

ROUND = 2
"""Places that a follow-up measures beside the machine as it is."""

REACH = 0.5
"""The distance from the best place, in coded units, within which a follow-up looks; half of that in each further
one."""

Asking = Generator[Ask, Sequence[Sample], None]


def composite(space: Space, rule: TrialDesign, rng: np.random.Generator) -> SearchGenerator:
    """Return the search of the method; see the module."""
    here = _Search(space, rule, rng)
    if screened(space.factors):
        yield from here.screen()
    if here.short is None and here.factors:
        yield from here.design()
    if here.short is None:
        yield from here.follow()
    return here.choice()


class _Search:
    """A search: its measurements, and the factors. `fixed`: factors that screening has settled."""

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
        """The number of places there are runs left for."""
        return 10**6 if math.isinf(self._most) else (int(self._most) - self.used) // self.rule.cost

    # --- asking -------------------------------------------------------------------------------------------------------

    def settings(self, coded: Sequence[float]) -> Settings:
        """Return the settings at a place of the present factors."""
        levels = {each.name: each.natural(float(at)) for each, at in zip(self.factors, coded, strict=True)}
        return Settings.of({**self.fixed.to_json(), **self.space.at(levels).to_json()})

    def coded(self, settings: Settings) -> tuple[float, ...]:
        """Return the place of settings: whole numbers do not lie exactly where the design wants them."""
        values = settings.to_json()
        return tuple(factor.coded(values[factor.name]) for factor in self.factors)

    def best(self) -> Settings:
        """Return the settings that have run fastest so far."""
        known = {each: float(np.mean(values)) for each, values in self._times.items() if each not in self.failed}
        return min(known, key=lambda each: known[each], default=NO_SETTINGS)

    def ask(self, points: Sequence[Sequence[float]], why: str, *, control: bool) -> Asking:
        """Measure some places, and the machine as it is beside them, as far as there are runs left."""
        arms = [NO_SETTINGS] if control else []
        arms += [each for each in map(self.settings, points) if each not in self.failed]
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
        """Yield a whole design, block by block; of a block as many parts as it repeats a point, each with a control."""
        blocks = list(self.rng.permutation(np.unique(layout.blocks)))
        for block in blocks:
            for index, part in enumerate(_parts(layout.points[layout.blocks == block], self.rng)):
                yield from self.ask(part, why, control=index == 0)
            self.block += 1

    def fitting(self, options: Sequence[Layout]) -> Layout | None:
        """Return the most informative design that there are runs for, and report when there is none."""
        for option in options:
            if len(option.points) + len(np.unique(option.blocks)) <= self.room:
                return option
        least = (len(options[-1].points) + len(np.unique(options[-1].blocks))) * self.rule.cost if options else 0
        names = ", ".join(factor.name for factor in self.factors)
        self.short = (
            f"The limit of {self._most:.0f} runs is too short for {names}: the smallest design takes {least}. "
            "Allow more, or vary less."
        )
        return None

    # --- the phases ---------------------------------------------------------------------------------------------------

    def screen(self) -> Asking:
        """Yield the runs that screen many factors; it settles choices, and ranges go on into the surface."""
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
        ranked = sorted(ranges, key=lambda each: -effects[each.name][0])
        kept = [each for each in ranked if effects[each.name][0] >= TELLING][:KEPT] or ranked[:1]
        settled: dict[str, str | float] = {}
        for factor in self.factors:
            size, lowest = effects[factor.name]
            if factor not in kept and size >= TELLING:
                settled[factor.name] = factor.natural(lowest)
        self.fixed = self.space.at(settled)
        self.factors = tuple(factor for factor in self.factors if factor in kept)
        screening_places, self.places = self.places, []
        # The controls are of the same machine; what was varied had other factors.
        self.places = [replace(place, block=-1) for place in screening_places if place.coded is None]

    def design(self) -> Asking:
        """Yield the design for a surface of second order, or the part that there are runs for."""
        layout = self.fitting(layouts(self.factors))
        if layout is None:
            return
        name = f"{layout.name} of {', '.join(factor.name for factor in self.factors)}"
        self.names.append(name)
        yield from self.measure(layout, name)

    def follow(self) -> Asking:
        """Yield runs where the surface is lowest, next to the best places so far and the machine as it is,
        repeatedly."""
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
            yield from self.ask(points, "where the surface is lowest, beside the best so far", control=True)
            self.block += 1
            left -= (self.used - before) // self.rule.cost
            reach /= 2
            if self.used == before:
                return

    def _promising(self, model: Model, reach: float) -> list[tuple[float, ...]]:
        """Return two places to measure: the lowest of the surface and the best measured one; near that when they are
        one."""
        values, places, _ = model.worth()
        order = [places[index] for index in np.argsort(values) if self.settings(places[index]) not in self.failed]
        if not order:
            return []
        best = np.array(order[0])
        wanted = [tuple(map(float, model.minimum(self.rng)))]
        wanted.append(tuple(map(float, best)))
        half = np.where(np.array(model.frame.choices) > 0, 2.0, reach)
        wanted.append(tuple(map(float, model.minimum(self.rng, best - half, best + half))))
        wanted += order[1:3]
        known: dict[Settings, tuple[float, ...]] = {}
        for each in wanted:
            if (settings := self.settings(each)) not in self.failed:
                known.setdefault(settings, each)
        return list(known.values())[:ROUND]

    # --- the end ------------------------------------------------------------------------------------------------------

    def model(self) -> Model | None:
        """Return the model of the good runs; None where they are too few, or all the same."""
        varied = [place for place in self.places if place.coded is not None]
        if len(varied) < 3 or not self.factors:
            return None
        made = Model(self.factors, self.places)
        return None if made.constant else made

    def _nothing(self) -> str:
        """Return why there is no model."""
        varied = any(place.coded is not None for place in self.places)
        return without_model([place.value for place in self.places], self.trials, len(self.failed), varied=varied)

    def choice(self) -> Choice:
        """Return the place that is worth most, if it seems faster than the machine as it is."""
        model = self.model() if self.short is None else None
        if model is None:
            return Choice(NO_SETTINGS, self.short or self._nothing())
        values, places, count = model.worth()
        good = [index for index in np.argsort(values) if self.settings(places[index]) not in self.failed]
        if not good:
            return Choice(NO_SETTINGS, self._nothing())
        best = int(good[0])
        gain = (model.control if model.controls else math.inf) - float(values[best])
        failed = lost(len(self.failed), len(self.slow & self.failed))
        basis = f"{self.trials} trials{failed} ({'; '.join(self.names)})"
        if not gain > SURE * model.error(int(count[best])):
            seen = model.detectable(int(count[best])) if model.logarithmic else math.nan
            return Choice(NO_SETTINGS, nothing_found(seen, basis))
        return Choice(
            self.settings(places[best]), f"{_described(model)} {at_ends(self.factors, places[best])}After {basis}."
        )


def _parts(points: Floats, rng: np.random.Generator) -> list[list[tuple[float, ...]]]:
    """Return a block's points in parts in which no point occurs twice: each part is one ask."""
    rows = [tuple(map(float, each)) for each in points[rng.permutation(len(points))]]
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
    """Return for each factor its largest contrast, in standard errors, and the place where the response is lowest."""
    linear = next((compared for compared in model.compared if compared.model == "linear"), model.compared[-1])
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
    """Return the model in a sentence."""
    best = model.best
    words = {"linear": "a plane", "2fi": "a plane with interactions", "quadratic": "a surface of second order",
             "cubic": "a surface of third order"}  # fmt: skip
    lack = best.fit.lack.p_value if best.fit.tested else math.nan
    parts = ["no surface fits the runs better than their mean does, so they decided"]
    if best.model != "mean":
        parts = [f"{words[best.model]} fits the runs best", f"R² {best.r_squared:.2f}"]
    if lack < 0.05:
        parts.append(f"though it misses by more than repeated runs differ (lack of fit, p {lack:.2g}), so runs decided")
    if model.drift_p < 0.05:
        parts.append("drift from block to block was taken off")
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}."
