"""The method `surface` with a composite design: its runs, what it finds, and what it says of nothing."""

import functools
from itertools import combinations

import numpy as np
import pytest
from tests.samples import samples

from becalm.methods import method
from becalm.methods.protocol import NO_SETTINGS, Sample, SearchRun, TrialDesign
from becalm.methods.surface import surface
from becalm.methods.surface_design import screening, two_levels
from becalm.nouns.domain import Scale
from becalm.nouns.factor import Factor
from becalm.nouns.search_space import Space

RULE = method("surface").rule
COMPOSITE = functools.partial(surface, design="composite")


def ranges(count):
    return tuple(Factor(f"f{index}", 1e5, 1e9, "ns", Scale.LOG, True) for index in range(count))


def bowl(settings, factors, best=-0.4, bend=0.5, untouched=0.6):
    """Return 1 at the best place, 1 + bend at a distance of 1 in every factor."""
    at = dict(settings.values)
    coded = np.array([factor.coded(at[factor.name]) if factor.name in at else untouched for factor in factors])
    return 1 + bend * float(((coded - best) ** 2).mean())


def conduct(factors, seconds, *, noise=0.02, seed=1, rule=RULE, drift=lambda ask: 1.0):
    rng = np.random.default_rng([seed, 5])
    search, asks = SearchRun(COMPOSITE, Space((), (), (), factors), rule, seed), []
    while search.ask is not None:
        asks.append(search.ask)
        here = drift(len(asks))
        search.tell(
            [
                Sample(arm, (1e9 * here * seconds(arm) * np.exp(noise * rng.standard_normal(search.ask.runs)),))
                for arm in search.ask.arms
            ]
        )
    return search.choice, asks


def runs(asks):
    return sum(len(ask.arms) * ask.loops * ask.runs for ask in asks)


def test_three_factors_take_a_design_of_twenty_runs_and_twelve_more():
    factors = ranges(3)
    choice, asks = conduct(factors, lambda s: bowl(s, factors))
    assert runs(asks) == 20 + 12
    assert sum(NO_SETTINGS in ask.arms for ask in asks) == 6, "three blocks and three follow-ups have a control each"
    assert bowl(choice.settings, factors) < 1.02
    assert "second order" in choice.why


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_best_place_of_a_surface_is_found_under_noise(count):
    factors = ranges(count)
    times = [
        bowl(conduct(factors, lambda s: bowl(s, factors), seed=s)[0].settings, factors) for s in range(samples(3, 15))
    ]
    assert np.median(times) < 1.03


def test_many_factors_are_screened_and_those_that_do_nothing_are_left_alone():
    factors = ranges(9)
    two = factors[3:5]
    choice, asks = conduct(factors, lambda s: bowl(s, two), seed=2)
    assert {"f3", "f4"} <= set(dict(choice.settings.values))
    assert len(choice.settings.values) <= 4
    assert bowl(choice.settings, two) < 1.05
    assert runs(asks) < 80
    assert "which of 9 settings matter" in asks[0].why


@pytest.mark.parametrize(
    ("count", "resolution", "runs_"), [(6, 4, 16), (16, 4, 32), (8, 3, 16), (31, 3, 32), (40, 3, 64)]
)
def test_screening_designs_are_balanced_and_of_their_resolution(count, resolution, runs_):
    points = two_levels(count, resolution)
    assert points.shape == (runs_, count)
    assert (points.sum(axis=0) == 0).all()
    assert np.array_equal(points.T @ points, runs_ * np.eye(count)), "no two factors go together"
    if resolution == 4:
        pairs = [points[:, a] * points[:, b] for a, b in combinations(range(count), 2)]
        assert not (np.array(pairs) @ points).any(), "and none with an interaction of two others"


def test_where_runs_are_short_many_settings_are_screened_by_a_plackett_burman_design():
    factors = (*ranges(9), Factor("pages", choices=("always", "madvise", "never")))
    layouts = screening(factors, np.random.default_rng(1))
    assert [(layout.name, len(layout.points)) for layout in layouts] == [
        ("two-level design of resolution IV", 32),
        ("two-level design of resolution III", 16),
        ("Plackett-Burman design", 12),
    ]
    short = layouts[-1].points
    assert not short[:, :9].sum(axis=0).any()
    assert np.array_equal(short[:, :9].T @ short[:, :9], 12 * np.eye(9))
    assert sorted(np.unique(short[:, 9], return_counts=True)[1]) == [3, 3, 6], "two columns, one choice twice as often"
    assert [len(layout.points) for layout in screening(ranges(16), np.random.default_rng(1))] == [32, 20]


def test_choices_are_part_of_it():
    factors = (*ranges(1), Factor("pages", choices=("always", "madvise", "never")))
    cost = {"always": 0.3, "madvise": 0.2, "never": 0.0}

    def seconds(settings):
        return bowl(settings, factors[:1]) + cost[dict(settings.values).get("pages", "always")]

    choice, _ = conduct(factors, seconds)
    assert dict(choice.settings.values)["pages"] == "never"
    alone, asks = conduct(factors[1:], lambda s: 1 + cost[dict(s.values).get("pages", "always")])
    assert dict(alone.settings.values) == {"pages": "never"}
    assert runs(asks) < 25


def test_drift_between_blocks_is_seen_and_subtracted():
    factors = ranges(3)
    choice, _ = conduct(factors, lambda s: bowl(s, factors), noise=0.005, drift=lambda ask: 1.0 + 0.1 * ask)
    assert "drift from block to block was subtracted" in choice.why
    assert bowl(choice.settings, factors) < 1.02
    quiet, _ = conduct(factors, lambda s: bowl(s, factors), noise=0.005)
    assert "drift" not in quiet.why


def test_where_the_model_is_wrong_the_runs_decide():
    factors = ranges(2)

    def cliff(settings):
        at = dict(settings.values)
        first = factors[0].coded(at["f0"]) if at else 0.5
        return 1.0 if first < -0.9 else 1.5

    choice, _ = conduct(factors, cliff)
    assert cliff(choice.settings) == 1.0


def test_an_optimum_at_the_end_of_a_range_is_reported():
    factors = ranges(2)
    choice, _ = conduct(factors, lambda s: bowl(s, factors, best=-2.0))
    assert "lies at the end of the range of f0, f1" in choice.why
    assert bowl(choice.settings, factors, best=-2.0) == pytest.approx(1.5)


def test_nothing_found_says_what_would_have_been_seen():
    factors = ranges(3)
    searches = [conduct(factors, lambda s: 1.0 + 0.1 * bool(s.values), seed=seed)[0] for seed in range(5)]
    assert all(search.settings == NO_SETTINGS for search in searches)
    assert all("% would have been seen" in search.why for search in searches)


def test_a_constant_response_is_told_from_noise():
    choice, _ = conduct(ranges(2), lambda _: 1.0, noise=0.0)
    assert "gave the same value" in choice.why


@pytest.mark.parametrize(("most", "design"), [(32, "composite"), (17, "Box-Behnken"), (12, "two-level"), (8, None)])
def test_a_limit_on_runs_is_met_by_a_smaller_design(most, design):
    factors = ranges(3)
    rule = TrialDesign(loops=1, runs=1, warmups=0, objective="time", most_runs=most)
    choice, asks = conduct(factors, lambda s: bowl(s, factors), rule=rule, seed=4)
    assert runs(asks) <= most
    if design is None:
        assert "is too low for f0, f1, f2: the smallest design takes 11" in choice.why
        assert choice.settings == NO_SETTINGS
    else:
        assert design in asks[0].why


def test_a_response_that_may_be_negative_has_no_power():
    factors = ranges(2)
    rule = TrialDesign(loops=1, runs=1, warmups=0, objective="time")
    search = SearchRun(COMPOSITE, Space((), (), (), factors), rule, 3)
    rng = np.random.default_rng(3)
    while search.ask is not None:
        search.tell([
            Sample(arm, (np.array([bowl(arm, factors) - 1.3 + 0.01 * rng.standard_normal()]),))
            for arm in search.ask.arms
        ])  # fmt: skip
    assert bowl(search.choice.settings, factors) < 1.02
