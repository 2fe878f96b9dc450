"""The method `surface`, run by run: a small design within the ranges, then a surface learnt after each run.

All factors are in it from first to last. The design is a regular simplex turned at random about the middle, so that few
runs say something of every factor. From then on each run is where the surface as it is known is lowest, or promises
most (`becalm.methods.surface_search`), and now and then at the best place again, so that a lucky run is not what is
chosen. Runs are in blocks; the machine as it is stands in every one, and what blocks differ by is taken off
(`becalm.methods.surface_process`). Failed runs are censored: they have no value, and their surroundings are avoided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from becalm.methods.blocks import LOST, Asking
from becalm.methods.protocol import NO_SETTINGS, Ask, Choice, Forecast, SearchGenerator, TimeOver, TrialDesign
from becalm.methods.surface_end import SURE, at_ends, lost, nothing_found, stepped, too_short, without_model
from becalm.methods.surface_process import Seen, SurfaceProcess, learned
from becalm.methods.surface_search import SearchState, next_place, scattered
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.stats.arrays import Floats
from becalm.stats.one_thread import one_thread

RUNS, EACH, MOST = 8, 8, 80
"""Trials of a search that nothing limits: so many, and for each factor; and of any search at most. Controls are among
them. What time there is beyond `MOST` repeats them (`becalm.tuning.repeats`)."""

RADIUS = 0.35
"""The standard deviation of the places of the first design in each factor, coded."""

BLOCK = 6
"""Trials of a block beside the machine as it is."""

FEWEST = 3
"""Runs of the first ask beside one for each factor: the middle, one more corner than factors, the machine as it is."""

AGAIN = 5
"""Every so many trials one is of the best place again, once the first third is over."""

RARELY = 10
"""The trials after which the weights are learnt again at every trial; with twice as many at every second one, and so
on."""

DARING = 2
"""Every so many trials go where most may be gained; the others where the surface is expected to be lowest."""

DOUBTING, FROM, TO = 4, 0.3, 0.9
"""Every so many trials, between these shares of all runs, one goes where most may be gained if there is a second
valley: few runs on one slope make a surface sure that there is none, and most searches that miss the best end in
another."""

HOPELESS = 6
"""Trials of which none ended well after which a search ends, beside those of the design."""

TELLING = 0.4
"""Factors with such a share of the largest relevance are named."""


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


def counted(factors: int, rule: TrialDesign) -> Forecast:
    """Return the runs that a search in this number of ranges asks for, as long as none of them fails."""
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
    """Return the runs that a search may ask for: all that there are, where their number is limited."""
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
        """The number of arms there are runs left for."""
        return (self._most - self.used) // self.rule.cost

    def settings(self, place: Floats | Sequence[float]) -> Settings:
        """Return the settings at a place."""
        return self.space.at({each.name: each.natural(float(at)) for each, at in zip(self.factors, place, strict=True)})

    def coded(self, settings: Settings) -> tuple[float, ...]:
        """Return the place of settings: whole numbers do not lie exactly where they are wanted."""
        if settings not in self._coded:
            values = settings.to_json()
            self._coded[settings] = tuple(factor.coded(values[factor.name]) for factor in self.factors)
        return self._coded[settings]

    def ask(self, places: Floats, why: str, *, control: bool) -> Asking:
        """Measure some places, and the machine as it is beside them, as far as there are runs left; then learn."""
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
            self._told(arm, sample.value(rule.objective))
        self._learn()

    def _told(self, arm: Settings, value: float) -> None:
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
        """Learn the surface of all good runs; None where they are too few, or all the same."""
        values = [value for _, value, _ in self._seen]
        varied = {place for place, _, _ in self._seen if place is not None}
        if len(varied) < 3 or min(values) == max(values):
            self.process = None
            return
        seen, logarithmic = Seen(self.factors), min(values) > 0
        for place, value, block in self._seen:
            seen.add(place, math.log(value) if logarithmic else value, block)
        self._order = None
        before = None if self.process is None else self.process.weights
        with one_thread():
            self.process = learned(seen, before, again=self.trials % max(1, self.trials // RARELY) == 0)

    # --- the phases ---------------------------------------------------------------------------------------------------

    def design(self) -> Asking:
        """Yield the first runs: the middle, and a simplex about it."""
        places = np.vstack([np.zeros(len(self.factors)), _simplex(len(self.factors), self.rng)])
        for index, each in enumerate(self.factors):
            if each.categorical:
                places[:, index] = self.rng.permutation(np.arange(len(places)) % len(each.choices))
        self.short = self.room < len(self.factors) + FEWEST
        if self.short:
            return
        yield from self.ask(places, f"a simplex about the middle of {_ranges(len(self.factors))}", control=True)

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
        """Yield one more run, at the start of a block next to the machine as it is."""
        control = self.since >= BLOCK
        if control:
            self.block, self.since = self.block + 1, 0
        place, why = self._next()
        yield from self.ask(place[None], why, control=control)

    def _next(self) -> tuple[Floats, str]:
        if self.process is None:
            return scattered(self.factors, 1, self.rng)[0], "anywhere: too little is known yet"
        best = self._ranked(self.process)
        late = self.used > self._most / 3
        doubting = self.trials % DOUBTING == DOUBTING - 1 and FROM * self._most < self.used < TO * self._most
        if late and not doubting and self.trials % AGAIN == 0:
            return best[0], "the best place again"
        failed = np.array([self.coded(each) for each in self.failed]).reshape(-1, len(self.factors))
        worked = np.array([self.coded(each) for each in self._worked])
        known, daring = SearchState(self.factors, best[:3], worked, failed), self.trials % DARING == 0
        why = "where most may be gained" if daring else "where the surface is lowest"
        with one_thread():
            if doubting:
                return next_place(self.process.doubted(), known, self.rng), "where a second valley would be"
            return next_place(self.process, known, self.rng, daring=daring), why

    def _ranked(self, process: SurfaceProcess) -> Floats:
        """Return measured places without a failed run, the one expected to be fastest first."""
        if self._order is None:
            failed = set(self.failed)
            good = [self.coded(fromkey) for fromkey in dict.fromkeys(self._worked) if fromkey not in failed]
            places = np.array(good or [self.coded(each) for each in self._worked])
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
        """Return the final choice, and what it rests on."""
        if self.lost:
            return Choice(NO_SETTINGS, LOST)
        if self.short:
            return Choice(NO_SETTINGS, too_short(self._most))
        if self.process is None or not set(self._worked) - set(self.failed):
            values = [value for _, value, _ in self._seen]
            return Choice(NO_SETTINGS, without_model(values, self.trials, len(self.failed), varied=bool(self._worked)))
        failed = lost(len(self.failed), self.slow)
        controls = sum(place is None for place, _, _ in self._seen)
        over = ", when its time was over" if self.over else ""
        basis = f"{self.trials} trials{failed}, and {controls} of the machine as it is{over}"
        chosen = self.best()
        if chosen == NO_SETTINGS:
            return Choice(NO_SETTINGS, nothing_found(self._detectable(self.process), basis))
        place = self.coded(chosen)
        return Choice(chosen, f"{self._described(self.process)} {at_ends(self.factors, place)}After {basis}.")

    def _detectable(self, process: SurfaceProcess) -> float:
        """Return the share that would have been seen in four of five times at the best place; NaN without shares."""
        if min(value for _, value, _ in self._seen) <= 0:
            return math.nan
        _, error = process.gain(self._ranked(process)[0])
        freedom = max(2, len(self._seen) - len({each for _, _, each in self._seen}) - 2)
        return 1 - math.exp(-error * float(stdtrit(freedom, 0.975) + stdtrit(freedom, 0.8)))

    def _described(self, process: SurfaceProcess) -> str:
        """Return the surface in a sentence."""
        size, step = process.weights.relevance, process.step
        order = [int(each) for each in np.argsort(-size) if size[each] > TELLING * size.max()]
        if step is not None and step[0].factor not in order:
            order.append(step[0].factor)
        names = ", ".join(self.factors[each].name for each in order)
        text = f"The time depends most on {names}" if len(self.factors) > len(order) else f"The time depends on {names}"
        drift = "; drift from block to block was taken off" if process.drift > process.noise else ""
        result = f"{text}, by a surface learnt from {len(self._seen)} runs{drift}."
        if step is None:
            return result
        factor, share = step[0].factor, min(value for _, value, _ in self._seen) > 0
        places = [place[factor] for place, _, _ in self._seen if place is not None]
        return result + stepped(self.factors[factor], step[0].edge, places, step[1], share=share)


def _ranges(count: int) -> str:
    return "one range" if count == 1 else f"{count} ranges"


def _simplex(count: int, rng: np.random.Generator) -> Floats:
    """Return a regular simplex turned at random, shape (count + 1, count), within the cube."""
    centred = np.eye(count + 1) - 1 / (count + 1)
    base = np.linalg.svd(centred)[2][:count]
    turn, _ = np.linalg.qr(rng.standard_normal((count, count)))
    corners = (centred @ base.T) @ turn
    return np.asarray(np.clip(RADIUS * np.sqrt(count + 1) * corners, -1.0, 1.0))
