"""Comparisons over layouts, from runs that are made up."""

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.samples import samples
from tests.unit.plans.test_history import row

from becalm.analysis.layouts import FEWEST, compare_builds, noise_is_small
from becalm.nouns.metric import Better, Metric
from becalm.nouns.options.layouts import LayoutOptions
from becalm.plans.history import History
from becalm.results.compare import Answer, Gate, Stopped
from becalm.results.layouts import from_json

OPTIONS = LayoutOptions(
    names=("old", "new"),
    commands=("{build}/prog",) * 2,
    old_build="make {seed}",
    new_build="make NEW=1 {seed}",
    seeds=((1, 2, 4), (1, 2, 3, 4)),
    equal=((3,), ()),
    layouts=4,
)
LAYOUTS = (1.0, 1.03, 0.97, 1.01, 0.98, 1.02, 0.99)
"""The times of the layouts of OPTIONS in ms."""


def history(rounds, factors=LAYOUTS, noise=0.001, seed=1, metric=None):
    """Return runs of layouts that take so many ms each."""
    rng, seq = np.random.default_rng(seed), 0
    runs = History(len(factors), metric)
    for number in range(rounds):
        for program in rng.permutation(len(factors)).tolist():
            value = factors[program] * math.exp(noise * rng.normal())
            run = row(seq, program, number, round(1e6 * value))
            runs.extend([run if metric is None else run._replace(metrics=(value,))])
            seq += 1
    return runs


def comparison_of(runs, **changes):
    options = replace(OPTIONS, **changes)
    return compare_builds(runs, options, study=7, host="local", stopped=Stopped.BUDGET, seed=3)


def test_the_comparison_has_every_layout_by_its_seed():
    comparison = comparison_of(history(8))
    assert [layout.seed for layout in comparison.old.layouts] == [1, 2, 4]
    assert (comparison.old.equal, comparison.pairs, comparison.rounds) == ((3,), 12, 8)
    typical = [layout.typical for side in comparison.sides for layout in side.layouts]
    assert typical == pytest.approx([1e6 * factor for factor in LAYOUTS], rel=2e-3)
    assert comparison.old.layouts[1].difference == pytest.approx(0.03, abs=2e-3)
    assert comparison.pair_low == pytest.approx(0.98 / 1.03 - 1, abs=2e-3)
    assert comparison.pair_high == pytest.approx(1.02 / 0.97 - 1, abs=2e-3)
    assert comparison.difference.answer is Answer.NO_DIFFERENCE_DETECTED
    assert comparison.called > 6


def test_the_stored_form_is_read_back():
    comparison = comparison_of(history(3), fail_above=0.01)
    assert from_json(comparison.to_json()) == comparison
    assert math.isnan(from_json(comparison_of(history(1)).to_json()).layout_sd)


@pytest.mark.parametrize(
    ("factor", "limit", "gate"), [(1.0, 0.2, Gate.WITHIN), (1.2, 0.05, Gate.ABOVE), (1.01, 0.02, Gate.UNDECIDED)]
)
def test_a_limit_is_judged_by_the_interval_with_layout(factor, limit, gate):
    comparison = comparison_of(history(5, (*LAYOUTS[:3], *(factor * time for time in LAYOUTS[3:]))), fail_above=limit)
    assert comparison.gate is gate
    assert (comparison.layouts_needed is not None) == (gate is Gate.UNDECIDED)


def test_a_metric_whose_larger_values_are_better_is_shown_as_it_was_printed():
    metric = Metric("score", "score", "", Better.HIGHER)
    comparison = comparison_of(history(6, (*LAYOUTS[:3], *(1.5 * value for value in LAYOUTS[3:])), metric=metric))
    assert comparison.difference.answer is Answer.HIGHER
    assert comparison.difference.worse is False
    assert comparison.difference.estimate == pytest.approx(0.5, abs=0.02)
    assert comparison.new.typical == pytest.approx(1.5, abs=0.02)


def test_measuring_ends_when_noise_is_small_whatever_the_difference():
    assert not noise_is_small(history(FEWEST - 1), OPTIONS)
    for factor in (1.0, 2.0):
        factors = (*LAYOUTS[:3], *(factor * time for time in LAYOUTS[3:]))
        assert noise_is_small(history(FEWEST, factors), OPTIONS)
        assert not noise_is_small(history(FEWEST, factors, noise=0.1), OPTIONS)


def test_stopping_by_noise_keeps_the_rate_of_false_alarms():
    rng, count, wrong = np.random.default_rng(9), samples(20, 1000), 0
    for trial in range(count):
        factors = np.exp(0.02 * rng.normal(size=7)).tolist()
        rounds = FEWEST
        while not noise_is_small(runs := history(rounds, factors, noise=0.02, seed=trial), OPTIONS) and rounds < 20:
            rounds += 10
        wrong += comparison_of(runs).difference.worse is not None
    assert wrong <= 0.05 * count + 3 * math.sqrt(0.05 * 0.95 * count)
