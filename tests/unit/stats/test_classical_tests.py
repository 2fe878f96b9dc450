"""The classical tests against scipy and against published digits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as reference
from scipy.special import fdtri

from becalm.stats import classical_tests as own
from becalm.stats.multiplicity import bonferroni, holm, simultaneous_alpha
from becalm.stats.power import pairs_for, runs_for_mean, t_power, t_sample_size

SEEDS = range(40)


def pair(seed: int, *, ties: bool = False, equal: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 40, size=2)
    x, y = rng.standard_t(3, n), 0.3 + 2 * rng.standard_normal(n if equal else m)
    return (np.round(x), np.round(y)) if ties else (x, y)


def agree(mine: own.TestResult, statistic: float, p_value: float) -> None:
    assert mine.statistic == pytest.approx(statistic, rel=1e-10, abs=1e-12)
    assert mine.p_value == pytest.approx(p_value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_parametric_tests_agree_with_scipy(seed: int) -> None:
    x, y = pair(seed)
    agree(own.student_t(x, y), *reference.ttest_ind(x, y))
    welch = reference.ttest_ind(x, y, equal_var=False)
    agree(own.welch_t(x, y), *welch)
    assert own.welch_t(x, y).df[0] == pytest.approx(welch.df, rel=1e-10)
    agree(own.levene(x, y, x + y[0]), *reference.levene(x, y, x + y[0], center="mean"))
    agree(own.brown_forsythe(x, y), *reference.levene(x, y, center="median"))
    ratio = x.var(ddof=1) / y.var(ddof=1)
    law = reference.f(len(x) - 1, len(y) - 1)
    agree(own.f_test(x, y), ratio, 2 * min(law.cdf(ratio), law.sf(ratio)))
    a, b = pair(seed, equal=True)
    agree(own.paired_t(a, b), *reference.ttest_rel(a, b))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("ties", [False, True])
def test_rank_tests_agree_with_scipy(seed: int, ties: bool) -> None:
    x, y = pair(seed, ties=ties)
    method = "exact" if not ties and min(len(x), len(y)) <= own.EXACT_SMALLER else "asymptotic"
    agree(own.mann_whitney(x, y), *reference.mannwhitneyu(x, y, method=method))
    a, b = pair(seed, ties=ties, equal=True)
    if (a != b).any():
        kind = {"method": "approx"} if ties else {"method": "exact"}
        if ties and len(set(np.abs(a - b))) == len(a) and (a != b).all():
            kind = {"method": "exact"}
        agree(own.wilcoxon(a, b), *reference.wilcoxon(a, b, correction=False, **kind)[:2])


def test_published_digits() -> None:
    assert fdtri(14, 14, 0.95) == pytest.approx(2.4837, abs=5e-5)
    assert fdtri(40, 40, 0.999) == pytest.approx(2.73, abs=5e-3)
    # Student's sleep data (1908): paired t = -4.0621, df 9, p = 0.002833; Welch t = -1.8608, df 17.776, p = 0.07939.
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    two = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    paired, welch = own.paired_t(first, two), own.welch_t(first, two)
    assert (paired.statistic, paired.p_value) == pytest.approx((-4.0621, 0.002833), abs=5e-5)
    assert (welch.statistic, welch.df[0], welch.p_value) == pytest.approx((-1.8608, 17.776, 0.07939), abs=5e-4)
    # Hollander & Wolfe (1973), depression scores: the sum of positive ranks is 40, of negative ones 5.
    before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    signed = own.wilcoxon(before, after)
    assert signed.statistic == 5
    assert signed.p_value == pytest.approx(0.0390625)


def test_samples_without_spread_have_an_answer() -> None:
    same, other = [2.0, 2.0, 2.0], [3.0, 3.0, 3.0]
    for test in (own.student_t, own.welch_t, own.paired_t):
        assert test(same, same).p_value == 1.0
        assert test(same, other).p_value == 0.0
    assert own.f_test(same, same).p_value == 1.0
    assert own.levene(same, other).p_value == 1.0
    assert own.mann_whitney(same, same).p_value == 1.0
    assert own.wilcoxon(same, same).p_value == 1.0


@pytest.mark.parametrize("test", [own.f_test, own.student_t, own.welch_t, own.paired_t, own.mann_whitney, own.wilcoxon])
def test_bad_samples_are_refused_with_a_sentence(test) -> None:
    with pytest.raises(ValueError, match=r"nan at position 1"):
        test([1.0, float("nan"), 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"values|samples|pairs"):
        test([], [1.0, 2.0])


def test_power_agrees_with_published_tables() -> None:
    # Cohen (1988), table 2.4.1: 64 in each group find d = 0.5 with power 0.80, 26 find 0.8, 393 find 0.2.
    assert [t_sample_size(d) for d in (0.2, 0.5, 0.8)] == [394, 64, 26]
    assert t_power(0.5, 64) == pytest.approx(0.801, abs=1e-3)
    assert t_sample_size(0.5, samples=1) == 34
    assert t_power(0.0, 10) == pytest.approx(0.05, abs=1e-9)
    # Jain (1991), example 13.6: mean 20, standard deviation 5, 95 %, +-5 %: 97 repetitions.
    assert runs_for_mean(0.05, 5 / 20) == 97
    assert pairs_for(0.01, 0.01, 100, critical=2.0) == 100 * (2.0 + 0.8416212) ** 2 // 1 + 1
    with pytest.raises(ValueError, match="more than"):
        t_sample_size(0.0)


def test_several_comparisons() -> None:
    p = [0.01, 0.04, 0.03, 0.005]
    assert holm(p) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert bonferroni(p) == pytest.approx([0.04, 0.16, 0.12, 0.02])
    assert simultaneous_alpha(0.05, 4) == 0.0125
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, 1.5])
