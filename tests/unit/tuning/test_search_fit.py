"""The trials of a search as a designed experiment."""

import numpy as np
import pytest

from becalm.methods.protocol import NO_SETTINGS, Ask, Sample
from becalm.nouns.factor import Factor
from becalm.nouns.search_space import Space
from becalm.report.design.html import page
from becalm.tuning.search_fit import search_fit


def searched(factors, runs, seed=1):
    """Return trials at random places, each next to the baseline; the first factor counts, and a little the second."""
    rng, space = np.random.default_rng(seed), Space((), factors=factors)
    tried = []
    for number in range(runs):
        coded = [
            float(rng.integers(len(factor.choices))) if factor.choices else rng.uniform(-1, 1) for factor in factors
        ]
        arm = space.at({factor.name: factor.natural(at) for factor, at in zip(factors, coded, strict=True)})
        size = 1 + 0.2 * coded[0] + 0.05 * coded[1]
        ask = Ask((NO_SETTINGS, arm), 1, 1, 0, "anywhere", block=number // 10)
        values = (1.1, size)
        for settings, value in zip(ask.arms, values, strict=True):
            loop = np.array([1e9 * value * (1 + 0.01 * rng.standard_normal())])
            tried.append((number + 1, ask, Sample(settings, (loop,))))
    return search_fit(space, tried, "time", 0.95, 1)


def ranges(count):
    return tuple(Factor(f"x{number:02}", 0.0, 1000.0, "ms") for number in range(count))


@pytest.mark.parametrize(
    "factors",
    [
        ranges(8),
        (*ranges(2), *(Factor(f"c{number}", choices=("a", "b", "c")) for number in range(4))),
        (*ranges(4), *(Factor(f"c{number}", choices=("no", "yes")) for number in range(5))),
    ],
    ids=["ranges", "choices", "both"],
)
def test_many_factors_are_fitted_by_what_each_adds(factors):
    fit, _ = searched(factors, 30)
    (response,) = fit.responses
    assert response.model == "linear"
    first = next(coefficient for coefficient in response.coefficients if coefficient.term == "x00")
    assert first.p_value < 1e-9
    assert response.best.at.levels[0] == 0.0
    assert len(response.curves) == len(factors)


def test_the_page_has_factors_of_all_kinds():
    factors = (*ranges(2), Factor("c0", choices=("a", "b", "c")), Factor("c1", choices=("no", "yes")))
    fit, _ = searched(factors, 12)
    (response,) = fit.responses
    assert response.model == "linear"
    text = page(fit)
    assert all(factor.name in text for factor in factors)


def test_too_few_runs_for_so_many_factors_are_reported():
    fit, (noticed,) = searched(ranges(20), 22)
    assert fit is None
    assert "20 settings were varied in 22 runs, too few for a polynomial" in noticed.sentence


def test_findings_of_a_search_know_that_they_are():
    fit, _ = searched(ranges(3), 30)
    assert fit.findings
    assert all(finding.numbers["search"] for finding in fit.findings)
    border = next(finding for finding in fit.findings if finding.kind == "at_border")
    assert "Next: a --factor whose range goes on there" in border.sentence


def test_trials_that_failed_are_reported_also_where_nothing_can_be_fitted():
    """The program fails under most settings, and comes to one value under the others."""
    space = Space((), factors=ranges(1))
    arms = [space.at({"x00": at}) for at in (1.0, 2.0, 3.0, 4.0)]
    ask = Ask((NO_SETTINGS, *arms), 1, 1, 0, "anywhere", block=0)
    good = [Sample(arm, (np.array([1e9]),)) for arm in (NO_SETTINGS, *arms[:2])]
    tried = [
        (number, ask, factor) for number, factor in enumerate([*good, *(Sample(arm, (), 1) for arm in arms[2:])], 1)
    ]
    fit, (noticed,) = search_fit(space, tried, "time", 0.95, 1)
    assert fit is None
    assert noticed.kind == "censored"
    assert noticed.sentence.startswith("2 trials of 4 failed")
