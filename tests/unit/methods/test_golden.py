"""Golden section: its steps by hand, what it does in noise, and where it ends."""

import math

import numpy as np
import pytest

from becalm.errors import UsageError
from becalm.methods.golden import REPEATS, SECTION, Bracket, golden
from becalm.methods.protocol import NO_SETTINGS, Sample, SearchRun, TrialDesign
from becalm.nouns.domain import Scale
from becalm.nouns.factor import Factor
from becalm.nouns.search_space import Space

SLICE = Factor("slice", 1e5, 1e8, "ns", Scale.LOG, whole=True)
SPACE = Space((), factors=(SLICE,))
RULE = TrialDesign(loops=2, runs=1, warmups=0, objective="time")


def conduct(seconds, noise=0.0, rule=RULE, space=SPACE, failing=lambda value: False, **own):
    """Return every block as the places of its probes, in coded units, and the choice with its place."""
    rng, blocks = np.random.default_rng(3), []

    def method(*arguments):
        return golden(*arguments, **own)

    search = SearchRun(method, space, rule, 0)
    while search.ask is not None:
        samples = []
        for settings in search.ask.arms:
            value = dict(settings.values).get("slice")
            loops = tuple(
                1e9 * seconds(value) * np.exp(noise * rng.standard_normal(search.ask.runs))
                for _ in range(search.ask.loops)
            )
            samples.append(Sample(settings, loops, int(value is not None and failing(value))))
        blocks.append(tuple(SLICE.coded(dict(arm.values)["slice"]) for arm in search.ask.arms[1:]))
        search.tell(samples)
    return blocks, search.choice


def bowl(best):
    """Return a function that is 1.0 for the default and 0.8 at the best place."""
    return lambda value: 1.0 if value is None else 0.8 + 0.1 * (SLICE.coded(value) - best) ** 2


def test_a_bracket_keeps_the_golden_section_whichever_part_goes():
    assert pytest.approx(0.6180339887, abs=1e-10) == SECTION
    first = Bracket.of(0.0, 1.0)
    assert (first.left, first.right) == pytest.approx((0.3819660113, 0.6180339887))
    lower, higher = first.narrowed(True), first.narrowed(False)
    assert (lower.low, lower.left, lower.right, lower.high) == pytest.approx(
        (0, 0.2360679775, 0.3819660113, 0.6180339887)
    )
    assert (higher.low, higher.left, higher.right, higher.high) == pytest.approx(
        (0.3819660113, 0.6180339887, 0.7639320225, 1)
    )
    # Of three probes one is old: what was measured there counts.
    assert lower.right == first.left
    assert higher.left == first.right


def minimum(function, low, high, tolerance):
    """Return where a function without noise is lowest, within a bracket no wider than the tolerance, and how often it
    was evaluated."""
    bracket, count = Bracket.of(low, high), 2
    left, right = function(bracket.left), function(bracket.right)
    while bracket.high - bracket.low > tolerance:
        lower = left < right
        bracket, count = bracket.narrowed(lower), count + 1
        if lower:
            left, right = function(bracket.left), left
        else:
            left, right = right, function(bracket.right)
    return (bracket.low + bracket.high) / 2, count


def test_the_published_count_of_evaluations():
    # Two, and one more for each of the n steps with 5 * 0.618^n <= 1e-8: n = 42.
    place, count = minimum(lambda x: (x - 2) ** 2, 0, 5, 1e-8)
    assert math.ceil(math.log(1e-8 / 5) / math.log(SECTION)) == 42
    assert count == 44
    assert place == pytest.approx(2, abs=1e-8)


def test_without_noise_it_takes_the_published_steps():
    blocks, choice = conduct(bowl(0.5))
    # Left is worse, so the part below it goes; then the right one is.
    assert blocks[0] == pytest.approx((-0.2360679775, 0.2360679775), abs=1e-5)
    assert blocks[1] == pytest.approx((0.2360679775, 0.5278640450), abs=1e-5)
    assert blocks[2] == pytest.approx((0.5278640450, 0.7082039325), abs=1e-5)
    assert len({place for block in blocks for place in block}) == 8
    assert SLICE.coded(dict(choice.settings.values)["slice"]) == pytest.approx(0.5, abs=0.05)
    assert "limit of 8 places" in choice.why


def test_probes_that_do_not_differ_are_repeated_and_clear_ones_are_not():
    clear, _ = conduct(bowl(-1.0), noise=0.0001)
    assert len(set(clear)) == len(clear)
    close, _ = conduct(bowl(0.0), noise=0.02)
    assert close[0] == close[1]
    assert max(close.count(place) for place in close) <= REPEATS


def test_it_ends_where_the_bracket_is_within_the_noise():
    blocks, choice = conduct(lambda value: 1.0 if value is None else 0.9, noise=0.01)
    assert len(set(blocks)) <= 3
    assert "do not differ by more than the noise" in choice.why
    assert choice.settings != NO_SETTINGS


def test_a_probe_that_fails_is_worse_than_any_other():
    blocks, choice = conduct(bowl(0.9), failing=lambda value: SLICE.coded(value) > 0.1)
    assert blocks[1][1] == pytest.approx(-0.236, abs=1e-3)
    assert SLICE.coded(dict(choice.settings.values)["slice"]) <= 0.1


def test_the_number_of_places_is_an_option():
    blocks, choice = conduct(bowl(0.5), probes=4)
    assert len({place for block in blocks for place in block}) == 4
    assert "limit of 4 places" in choice.why


def test_whole_numbers_with_nothing_between_them_end_it():
    few = Space((), factors=(Factor("slice", 1e5, 1e5 + 3, whole=True),))
    blocks, choice = conduct(lambda value: 1.0 if value is None else 0.8 + (value - 1e5) / 100, space=few)
    assert blocks
    assert "no value lies between" in choice.why
    assert dict(choice.settings.values)["slice"] == 100_001


def test_runs_that_are_used_up_end_it():
    _, choice = conduct(bowl(0.5), rule=TrialDesign(loops=2, runs=1, warmups=0, objective="time", most_runs=13))
    assert "limit of 13 runs" in choice.why


def test_runs_that_do_not_even_suffice_for_two_places_are_too_few():
    blocks, choice = conduct(bowl(0.5), rule=TrialDesign(loops=2, runs=1, warmups=0, objective="time", most_runs=5))
    assert blocks == []
    assert choice.settings == NO_SETTINGS
    assert "limit of 5 runs is too low" in choice.why


def test_when_its_time_is_over_it_chooses_what_is_best_so_far():
    search = SearchRun(golden, SPACE, RULE, 0)
    seconds = {None: 1.0}
    for _ in range(3):
        search.tell(
            [
                Sample(arm, tuple(np.array([1e9 * seconds.get(dict(arm.values).get("slice"), 0.8)]) for _ in range(2)))
                for arm in search.ask.arms
            ]
        )
    search.stop()
    assert search.ask is None
    assert search.choice.settings != NO_SETTINGS
    assert "the time for the search was over" in search.choice.why


def test_several_factors_need_a_line():
    wide = Space((), factors=(SLICE, Factor("batch", 1.0, 64.0, whole=True)))
    with pytest.raises(UsageError, match=r"there are 2 factors\. Name a line: --path diagonal, slice, batch"):
        conduct(bowl(0), space=wide)
