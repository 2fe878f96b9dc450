"""The method `surface`, run by run: a small design within the ranges, then a surface learnt after each run.

The search varies all factors throughout. The design is a regular simplex about the middle with a random orientation, so
that few runs inform about every factor. Each later run is where the present surface is lowest or most promising
(`becalm.methods.surface_search`), and now and then at the best place again, so that no lucky run is chosen. Runs are in
blocks, each with the machine as it is as control, and differences between blocks are removed
(`becalm.methods.surface_process`). Failed runs are censored: they have no value, and their surroundings are avoided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from becalm.methods.blocks import LOST, Asking
from becalm.methods.protocol import NO_SETTINGS, Ask, Choice, Forecast, SearchGenerator, TimeOver, TrialDesign
from becalm.methods.surface_end import (
    SURE,
    at_ends,
    lost_trials,
    nothing_found,
    step_sentence,
    too_short,
    without_model,
)
from becalm.methods.surface_process import Measurements, SurfaceProcess, learn
from becalm.methods.surface_search import SearchState, next_place, scatter
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.stats.arrays import Floats
from becalm.stats.one_thread import one_thread

RUNS, EACH, MOST = 8, 8, 80
"""The numbers of trials of a search without a limit, in all and for each factor; and of any search at most, controls
included. Time beyond `MOST` is used for repeats (`becalm.tuning.repeats`)."""

RADIUS = 0.35
"""The standard deviation of the places of the first design in each factor, in coded units."""

BLOCK = 6
"""The number of trials in a block, besides the machine as it is."""

FEWEST = 3
"""The runs of the first request beyond one for each factor: the middle, one further corner, the machine as it is."""

AGAIN = 5
"""The interval, in trials, at which the best place is repeated after the first third of the search."""

RARELY = 10
"""The number of trials up to which each trial learns the weights; with n times as many trials every n-th one does."""

DARING = 2
"""The interval, in trials, of places with the largest expected improvement; the others have the lowest expectation."""

DOUBTING, FROM, TO = 4, 0.3, 0.9
"""The interval, in trials, and the shares of all runs between which, a trial goes where most may be gained if there is
a second valley: few runs on one slope make a surface certain that there is none, and most failed searches end there."""

HOPELESS = 6
"""The number of failed trials, beyond those of the design, after which a search without a good one ends."""

TELLING = 0.4
"""The share of the largest relevance from which a factor is named."""


def sequential(space: Space, rule: TrialDesign, rng: np.random.Generator) -> SearchGenerator:
    """Return the search of the method; see the module."""
    here = _Search(space, rule, rng)
    try:
        yield from here.design()
        while here.going():
            yield from here.step()
    except TimeOver:
        here.over = True
    return here.choice()


def count_requests(factors: int, rule: TrialDesign) -> Forecast:
    """Return the runs that a search in this number of ranges requests if none of them fails."""
    room = _limit(factors, rule) // rule.cost
    if room < factors + FEWEST:
        return Forecast(0, 0)
    trials, controls, since = factors + 2, 1, factors + 2
    while room > trials + controls:
        control = since >= BLOCK
        if control and room < trials + controls + 2:
            break
        trials, controls, since = trials + 1, controls + control, 1 if control else since + 1
    return Forecast((trials + controls) * rule.cost, controls * rule.loops * rule.runs)


def _limit(factors: int, rule: TrialDesign) -> int:
    """Return the number of runs that a search may request."""
    if rule.most_runs is None:
        return min(RUNS + EACH * factors, MOST) * rule.cost
    return min(MOST * rule.cost, rule.most_runs)


class _Search:
    """A search: its measurements, and the learnt surface."""

    def __init__(self, space: Space, rule: TrialDesign, rng: np.random.Generator) -> None:
        self.space, self.rule, self.rng = space, rule, rng
        self.factors = space.factors
        self.failed: list[Settings] = []
        self.slow = 0
        self.trials = self.used = self.block = self.since = 0
        self.lost = False
        self.short = self.over = False
        self.process: SurfaceProcess | None = None
        self._order: Floats | None = None
        self._worked: list[Settings] = []
        self._coded: dict[Settings, tuple[float, ...]] = {}
        self._seen: list[tuple[tuple[float, ...] | None, float, int]] = []
        self._most = _limit(len(self.factors), rule)

    # --- asking -------------------------------------------------------------------------------------------------------

    @property
    def room(self) -> int:
        """The number of arms for which there are runs left."""
        return (self._most - self.used) // self.rule.cost

    def settings(self, place: Floats | Sequence[float]) -> Settings:
        """Return the settings at a place, in coded units."""
        return self.space.at(
            {factor.name: factor.natural(float(at)) for factor, at in zip(self.factors, place, strict=True)}
        )

    def coded(self, settings: Settings) -> tuple[float, ...]:
        """Return the place of settings in coded units, which may differ from a proposal because of whole numbers."""
        if settings not in self._coded:
            values = settings.to_json()
            self._coded[settings] = tuple(factor.coded(values[factor.name]) for factor in self.factors)
        return self._coded[settings]

    def ask(self, places: Floats, why: str, *, control: bool) -> Asking:
        """Measure some places, after the machine as it is if `control`, as far as there are runs left; then learn."""
        arms = [NO_SETTINGS] if control else []
        arms = list(dict.fromkeys([*arms, *map(self.settings, places)]))[: self.room]
        if not arms or arms == [NO_SETTINGS]:
            self.used = self._most
            return
        self.used += self.rule.cost * len(arms)
        rule = self.rule
        samples = yield Ask(tuple(arms), rule.loops, rule.runs, rule.warmup_runs, why, self.best(), block=self.block)
        for arm, sample in zip(arms, samples, strict=True):
            self.slow += sample.slow
            self._add(arm, sample.value(rule.objective))
        self._learn()

    def _add(self, arm: Settings, value: float) -> None:
        good = math.isfinite(value)
        if arm == NO_SETTINGS:
            self.lost |= not good
        else:
            self.trials += 1
            self.since += 1
            (self._worked if good else self.failed).append(arm)
        if good:
            self._seen.append((None if arm == NO_SETTINGS else self.coded(arm), value, self.block))

    def _learn(self) -> None:
        """Learn the surface of all good runs; it is None if they are too few or all equal."""
        values = [value for _, value, _ in self._seen]
        varied = {place for place, _, _ in self._seen if place is not None}
        if len(varied) < 3 or min(values) == max(values):
            self.process = None
            return
        seen, logarithmic = Measurements(self.factors), min(values) > 0
        for place, value, block in self._seen:
            seen.add(place, math.log(value) if logarithmic else value, block)
        self._order = None
        before = None if self.process is None else self.process.weights
        with one_thread():
            self.process = learn(seen, before, again=self.trials % max(1, self.trials // RARELY) == 0)

    # --- the phases ---------------------------------------------------------------------------------------------------

    def design(self) -> Asking:
        """Yield the first request: the middle, and a simplex about it."""
        places = np.vstack([np.zeros(len(self.factors)), _simplex(len(self.factors), self.rng)])
        for index, factor in enumerate(self.factors):
            if factor.categorical:
                places[:, index] = self.rng.permutation(np.arange(len(places)) % len(factor.choices))
        self.short = self.room < len(self.factors) + FEWEST
        if self.short:
            return
        yield from self.ask(places, f"a simplex around the middle of {_ranges(len(self.factors))}", control=True)

    def going(self) -> bool:
        """Return whether there is more to measure."""
        if self.lost or self.short or self.room < 1:
            return False
        if self.process is None:
            values = {value for _, value, _ in self._seen}
            constant = len(self._worked) > len(self.factors) and len(values) == 1
            return not constant and len(self.failed) < HOPELESS + len(self.factors)
        return True

    def step(self) -> Asking:
        """Yield a further run, together with the machine as it is at the start of a block."""
        control = self.since >= BLOCK
        if control:
            self.block, self.since = self.block + 1, 0
        place, why = self._next()
        yield from self.ask(place[None], why, control=control)

    def _next(self) -> tuple[Floats, str]:
        if self.process is None:
            return scatter(self.factors, 1, self.rng)[0], "anywhere: too little is known yet"
        best = self._ranked(self.process)
        late = self.used > self._most / 3
        doubting = self.trials % DOUBTING == DOUBTING - 1 and FROM * self._most < self.used < TO * self._most
        if late and not doubting and self.trials % AGAIN == 0:
            return best[0], "the best place again"
        failed = np.array([self.coded(settings) for settings in self.failed]).reshape(-1, len(self.factors))
        worked = np.array([self.coded(settings) for settings in self._worked])
        known, daring = SearchState(self.factors, best[:3], worked, failed), self.trials % DARING == 0
        why = "where the gain may be largest" if daring else "where the surface is lowest"
        with one_thread():
            if doubting:
                return next_place(self.process.with_doubt(), known, self.rng), "where a second valley would be"
            return next_place(self.process, known, self.rng, daring=daring), why

    def _ranked(self, process: SurfaceProcess) -> Floats:
        """Return the measured places without a failed run, in order of expected time, shape (places, factors)."""
        if self._order is None:
            failed = set(self.failed)
            good = [self.coded(settings) for settings in dict.fromkeys(self._worked) if settings not in failed]
            places = np.array(good or [self.coded(settings) for settings in self._worked])
            with one_thread():
                self._order = np.asarray(places[np.argsort(process.expected(places), kind="stable")])
        return self._order

    # --- the end ------------------------------------------------------------------------------------------------------

    def best(self) -> Settings:
        """Return the present choice."""
        if self.process is None or self.lost or not set(self._worked) - set(self.failed):
            return NO_SETTINGS
        place = self._ranked(self.process)[0]
        gain, error = self.process.gain(place)
        return self.settings(place) if gain > SURE * error else NO_SETTINGS

    def choice(self) -> Choice:
        """Return the final choice with its basis."""
        if self.lost:
            return Choice(NO_SETTINGS, LOST)
        if self.short:
            return Choice(NO_SETTINGS, too_short(self._most))
        if self.process is None or not set(self._worked) - set(self.failed):
            values = [value for _, value, _ in self._seen]
            return Choice(NO_SETTINGS, without_model(values, self.trials, len(self.failed), varied=bool(self._worked)))
        failed = lost_trials(len(self.failed), self.slow)
        controls = sum(place is None for place, _, _ in self._seen)
        over = ", when the time ran out" if self.over else ""
        basis = f"{self.trials} trials{failed}, and {controls} of the machine as it is{over}"
        chosen = self.best()
        if chosen == NO_SETTINGS:
            return Choice(NO_SETTINGS, nothing_found(self._detectable(self.process), basis))
        place = self.coded(chosen)
        return Choice(chosen, f"{self._described(self.process)} {at_ends(self.factors, place)}After {basis}.")

    def _detectable(self, process: SurfaceProcess) -> float:
        """Return the gain that runs at the best place show with 80 % power, a share; NaN if a value is 0 or less."""
        if min(value for _, value, _ in self._seen) <= 0:
            return math.nan
        _, error = process.gain(self._ranked(process)[0])
        freedom = max(2, len(self._seen) - len({block for _, _, block in self._seen}) - 2)
        return 1 - math.exp(-error * float(stdtrit(freedom, 0.975) + stdtrit(freedom, 0.8)))

    def _described(self, process: SurfaceProcess) -> str:
        """Return a sentence that describes the surface."""
        size, step = process.weights.relevance, process.step
        order = [int(index) for index in np.argsort(-size) if size[index] > TELLING * size.max()]
        if step is not None and step[0].factor not in order:
            order.append(step[0].factor)
        names = ", ".join(self.factors[index].name for index in order)
        text = f"The time depends most on {names}" if len(self.factors) > len(order) else f"The time depends on {names}"
        drift = "; drift from block to block was subtracted" if process.drift > process.noise else ""
        result = f"{text}, according to a surface learnt from {len(self._seen)} runs{drift}."
        if step is None:
            return result
        factor, share = step[0].factor, min(value for _, value, _ in self._seen) > 0
        places = [place[factor] for place, _, _ in self._seen if place is not None]
        return result + step_sentence(self.factors[factor], step[0].edge, places, step[1], share=share)


def _ranges(count: int) -> str:
    return "one range" if count == 1 else f"{count} ranges"


def _simplex(count: int, rng: np.random.Generator) -> Floats:
    """Return a regular simplex with a random orientation within the cube, shape (count + 1, count)."""
    centred = np.eye(count + 1) - 1 / (count + 1)
    base = np.linalg.svd(centred)[2][:count]
    turn, _ = np.linalg.qr(rng.standard_normal((count, count)))
    corners = (centred @ base.T) @ turn
    return np.asarray(np.clip(RADIUS * np.sqrt(count + 1) * corners, -1.0, 1.0))
