"""Functions in which two programs differ, from made-up profiles whose truth is known."""

import numpy as np
import pytest

from becalm.analysis.where import MOST, RATE, by_counts, by_samples
from becalm.results.where import Presence
from becalm.wording.where import cells, legend, rows, sentence

NAMES = ("old", "new")
FUNCTIONS = [(f"function{place}", "the program") for place in range(30)]
PERIOD_S = 0.001

MEANS = 400 / np.arange(1, 31)
"""Samples of a run in each function: few take most of the time."""


def samples(rng, rounds, factors=()):
    means = MEANS.copy()
    for place, factor in factors:
        means[place] *= factor
    return [dict(zip(FUNCTIONS, (rng.poisson(means) * PERIOD_S).tolist(), strict=True)) for _ in range(rounds)]


@pytest.mark.parametrize("place", [0, 3, 7])
def test_a_function_that_became_slower_is_named_first(place):
    rng = np.random.default_rng(place)
    where = by_samples(NAMES, samples(rng, 20), samples(rng, 20, [(place, 1.4)]), PERIOD_S)
    assert where.functions[0].name == f"function{place}"
    assert where.functions[0].low < 0.4 * MEANS[place] / MEANS.sum() < where.functions[0].high
    assert where.functions[0].old == pytest.approx(MEANS[place] * PERIOD_S, rel=0.1)
    assert len(where.functions) == MOST
    assert where.others[0] == 20


def test_equal_programs_rarely_have_a_named_function():
    rng = np.random.default_rng(1)
    named = sum(bool(by_samples(NAMES, samples(rng, 12), samples(rng, 12), PERIOD_S).named) for _ in range(200))
    assert named <= 200 * RATE + 3 * (200 * RATE * (1 - RATE)) ** 0.5


def test_slowdowns_of_two_functions_are_both_named():
    rng = np.random.default_rng(2)
    where = by_samples(NAMES, samples(rng, 20), samples(rng, 20, [(1, 1.3), (4, 0.6)]), PERIOD_S)
    assert {function.name for function in where.named} == {"function1", "function4"}
    assert {function.share > 0 for function in where.named} == {True, False}


def test_rare_functions_are_not_tested():
    old, new = [{("a", "p"): 0.1, ("b", "p"): 0.0}] * 10, [{("a", "p"): 0.1, ("b", "p"): 0.001}] * 10
    assert by_samples(NAMES, old, new, PERIOD_S).named == ()


def test_constant_samples_do_not_pass_for_certainty():
    old, new = [{("a", "p"): 0.01}] * 10, [{("a", "p"): 0.011}] * 10
    assert by_samples(NAMES, old, new, PERIOD_S).named == ()


def counts(**changes):
    return {(name, "p"): changes.get(name, 1_000_000) for name in ("scan", "hash", "parse")}


def test_one_changed_count_is_found_exactly():
    where = by_counts(NAMES, [counts()] * 2, [counts(scan=1_000_300)] * 2)
    (function,) = where.functions
    assert (function.name, function.named, function.share) == ("scan", True, pytest.approx(1e-4))
    assert function.low == function.high == function.share
    assert sentence(where) == (
        "The difference comes first from scan, which takes more (+0.0100 % of all instructions); exact counts."
    )
    assert rows(where) == (("scan", "p", "1,000,000", "1,000,300", "+0.0100 %"),)


def test_counts_within_the_scatter_of_any_function_are_not_named():
    old = [counts(), counts(hash=1_000_200)]
    where = by_counts(NAMES, old, [counts(scan=1_000_500)] * 2)
    assert where.named == ()
    assert "No function was shown to take more or less instructions in new than in old" in sentence(where)
    assert by_counts(NAMES, old, [counts(scan=1_001_500)] * 2).named[0].name == "scan"


def test_a_function_of_one_program_alone_has_appeared_or_gone():
    renamed = {("scan2" if name == "scan" else name, code): count for (name, code), count in counts().items()}
    where = by_counts(NAMES, [counts()] * 2, [renamed] * 2)
    assert {function.name: function.presence for function in where.named} == {
        "scan": Presence.DISAPPEARED,
        "scan2": Presence.APPEARED,
    }
    gone = next(function for function in where.named if function.name == "scan")
    assert cells(gone, where.source)[2:4] == ("1,000,000", "")
    assert "1 other function differs" in sentence(where)


def test_equal_counts_list_nothing():
    where = by_counts(NAMES, [counts()] * 2, [counts()] * 2)
    assert (where.functions, rows(where)) == ((), ())


def test_the_legend_states_the_rate_of_false_names():
    rng = np.random.default_rng(3)
    assert "at most 5 % of the functions that are named are false alarms" in legend(
        by_samples(NAMES, samples(rng, 3), samples(rng, 3), PERIOD_S)
    )
    assert "false" not in legend(by_counts(NAMES, [counts()] * 2, [counts()] * 2))
