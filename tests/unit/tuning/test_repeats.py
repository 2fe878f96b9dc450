"""Repeats of trials in a search for times: how many, and that it spends its runs."""

import math

import numpy as np
import pytest
from msgspec.structs import replace
from tests.samples import samples

from becalm.methods import complete, method, trial_design
from becalm.methods.protocol import Sample, SearchRun
from becalm.methods.sequential import MOST
from becalm.nouns.factor import Factor
from becalm.nouns.options.tune import Allowed, TuneOptions
from becalm.nouns.search_space import Space
from becalm.tuning.repeats import upper_noise, with_repeats

SPACE = Space((), factors=tuple(Factor.parse(f"{name}=100000..1000000000:log") for name in ("a", "b", "c")))
OPTIONS = complete(TuneOptions(minimize="time", allowed=Allowed(space=SPACE)))


def rule(noise, most_runs, options=OPTIONS):
    return with_repeats(replace(trial_design(OPTIONS), most_runs=most_runs), options, noise)


@pytest.mark.parametrize(
    ("noise", "most", "runs", "result"),
    [
        # 8 + 3 * 8 trials are usual. Hardly any noise: they are enough, however much time there is.
        (0.005, 10_000, 1, 32),
        # Twice the noise that is enough, four times as many runs, of which MOST can be trials of their own.
        (0.04, 10_000, 2, 128),
        (0.4, 157, 2, 157),
        (0.4, 20, 1, 20),
        (0.9, 320, 9, 320),
        (0.4, 1600, 20, 1600),
    ],
)
def test_trials_are_repeated_by_the_noise_and_the_runs_that_there_are(noise, most, runs, result):
    design = rule(noise, most)
    assert (design.runs, design.most_runs) == (runs, result)
    assert most // design.runs <= MOST or noise < 0.1


def test_runs_of_a_trial_that_were_asked_for_stay():
    options = complete(TuneOptions(minimize="time", runs=3, allowed=Allowed(space=SPACE)))
    assert rule(0.4, 157, options).runs == 1, "the rule that was handed in"
    assert rule(0.4, None).runs == 2
    assert rule(0.0, 157).runs == 1
    assert rule(math.nan, 157).runs == 1


def test_noise_of_few_runs_is_not_taken_for_known():
    # chi-square: of 4 degrees of freedom a fifth lies below 1.649
    assert upper_noise(0.1, 4) == pytest.approx(0.1 * math.sqrt(4 / 1.6488), rel=1e-4)
    assert upper_noise(0.1, 0) == 0.1
    assert upper_noise(0.0, 5) == 0.0


def searched(seed, noise, most_runs):
    """Return the gain of what a search chooses where 37 % are to be had in a corner, and the runs that it made."""
    search = SearchRun(method("surface").load(OPTIONS), SPACE, rule(noise, most_runs), seed)
    rng = np.random.default_rng([seed, 1])
    size, used = math.sqrt(math.log(1 + noise**2)), 0

    def gain(settings):
        levels = dict(settings.values)
        if not levels:
            return 0.0
        a, b, _ = (factor.coded(levels[factor.name]) for factor in SPACE.factors)
        return 0.37 / ((1 + math.exp(-6 * (b - 0.2))) * (1 + math.exp(6 * (a - 0.2))))

    while search.ask is not None:
        ask = search.ask
        used += len(ask.arms) * ask.loops * ask.runs
        result = []
        for arm in ask.arms:
            runs = 1e9 * (1 - gain(arm)) * np.exp(size * rng.standard_normal(ask.runs) - size**2 / 2)
            result.append(Sample(arm, (runs,)))
        search.tell(result)
    return gain(search.choice.settings), used


def test_a_search_in_noise_spends_its_runs_and_finds_what_is_there():
    """Four of five searches find four fifths of the gain with 5 minutes of runs of 1 s and 40 % of noise."""
    searches = [searched(seed, 0.4, 157) for seed in range(samples(2, 40))]
    assert all(used >= 150 for _, used in searches)
    assert sum(gain > 0.8 * 0.37 for gain, _ in searches) >= 0.8 * len(searches)
