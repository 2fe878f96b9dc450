"""A tune study of two minutes on a simulated machine that is disturbed in bursts: what helps is recommended."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from tests.rates import at_most
from tests.samples import samples
from tests.unit.tuning.course import SECOND, World, space

from becalm.nouns.options.tune import Allowed, TuneOptions
from becalm.nouns.settings import Settings
from becalm.tuning.phases import tune_phases

PAUSE_S, BURST_S = 0.2, (0.1, 0.8)
"""The mean time between bursts, and how long one lasts: as in bench/disturbance.py."""

SLOWER, MILDER, HIT = 1.9, 1.02, 0.06
"""The slowdown of a program in a burst that hits it, and in another; the share that hit it. So few that nine tenths of
the loops are alike with the settings and without."""

KNOBS = "shield", *"abcdefghij"


@dataclass
class Bursts(World):
    """Runs are slowed by bursts, one after the other on a clock of its own, unless `shield` is set."""

    clock_s: float = 0.0
    bursts: object = None
    burst: tuple = (0.0, 0.0, 1.0)
    spread: float = 0.007
    protects: tuple = ("shield",)
    profiles: tuple = field(default=(("list", Settings.of({"shield": 1, "a": 1})),))

    def __post_init__(self):
        self.bursts = self.coming(np.random.default_rng([self.seed, 7]))

    def coming(self, rng):
        end = 0.0
        while True:
            start = end + rng.exponential(PAUSE_S)
            end = start + rng.uniform(*BURST_S)
            yield start, end, SLOWER if rng.random() < HIT else MILDER

    def sample(self, settings, ask, rng):
        self.shielded = any(name in self.protects for name, _ in settings.values)
        return super().sample(settings, ask, rng)

    def loop(self, size, runs, rng):
        return np.array([self.run(float(work), self.shielded) for work in super().loop(size, runs, rng)])

    def run(self, work_ns, shielded):
        """Return how long an amount of work takes, ns: the part in a burst is slower."""
        left, begun = work_ns / SECOND, self.clock_s
        while True:
            start, end, slower = self.burst
            if self.clock_s >= end:
                self.burst = next(self.bursts)
                continue
            in_burst = self.clock_s >= start
            factor = slower if in_burst and not shielded else 1.0
            until = end if in_burst else start
            if left * factor <= until - self.clock_s:
                self.clock_s += left * factor
                return (self.clock_s - begun) * SECOND
            left -= (until - self.clock_s) / factor
            self.clock_s = until


def recommended(seed, run_ms, **options):
    world = Bursts(run_ns=run_ms * 1e6, seed=seed, **options)
    allowed = Allowed(space(*KNOBS, profiles=world.profiles))
    tune_options = TuneOptions(budget_ns=120 * 10**9, allowed=allowed)
    tuned, _, spent = world.conduct(tune_phases(tune_options, ("p",), seed))
    assert spent <= 1.1 * 120
    return dict(tuned.judged.settings.values)


@pytest.mark.parametrize(("run_ms", "share"), [(40, 0.9), (150, 0.9), (380, 0.65)])
def test_settings_that_keep_bursts_away_are_recommended_after_two_minutes(run_ms, share):
    """With an arm for each list from the start it was three quarters of them, and of long runs a third."""
    trials = samples(10, 100)
    assert sum("shield" in recommended(seed, run_ms) for seed in range(trials)) >= share * trials


@pytest.mark.parametrize("run_ms", [40, 380])
def test_where_nothing_keeps_bursts_away_little_is_recommended(run_ms):
    trials = samples(10, 200)
    assert sum(bool(recommended(seed, run_ms, protects=())) for seed in range(trials)) <= at_most(trials, 0.05, 0.01)
