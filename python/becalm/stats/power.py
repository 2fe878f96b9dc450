"""The number of runs that a test needs, and the difference that a number of runs could have shown."""

from __future__ import annotations

import math

from becalm.stats.arrays import level
from becalm.stats.normal import ndtr, ndtri
from becalm.stats.root_finding import root
from becalm.stats.student import stdtrit

MOST = 10**9


def t_power(effect: float, n: float, alpha: float = 0.05, samples: int = 2) -> float:
    """Return the probability that a two-sided t test detects a difference of `effect` standard deviations.

    `n`: number of values in each sample; `samples`: 2 for two samples of one variance, 1 for one sample or pairs (the
    standard deviation is then that of the differences). By the noncentral t distribution (Cohen 1988, Statistical Power
    Analysis, 2nd ed., ch. 2). Raises ValueError for a level outside 0…1 or fewer than two values.
    """
    from scipy.special import nctdtr  # It is slow to import, and no comparison needs it.

    level(alpha)
    if samples not in (1, 2) or n < 2:
        raise ValueError(f"A t test needs one or two samples of at least two values, not {samples} of {n}.")
    df = samples * (n - 1.0)
    shift = abs(effect) * math.sqrt(n / samples)
    critical = float(stdtrit(df, 1 - alpha / 2))
    return 1.0 - float(nctdtr(df, shift, critical)) + float(nctdtr(df, shift, -critical))


def t_sample_size(effect: float, power: float = 0.8, alpha: float = 0.05, samples: int = 2) -> int:
    """Return the number of values in each sample for a t test that detects `effect` standard deviations with this
    power.

    Raises ValueError when there is no effect to detect, or it would take more than 10^9 values.
    """
    level(power)
    high = 2
    while t_power(effect, high, alpha, samples) < power:
        high *= 2
        if high > MOST:
            raise ValueError(f"To detect {effect} standard deviations takes more than {MOST:,} values.")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if middle < 2 or t_power(effect, middle, alpha, samples) < power:
            low = middle
        else:
            high = middle
    return high


def detectable(standard_error: float, critical: float, power: float = 0.8) -> float:
    """Return the true difference that a test with this `critical` value detects with probability `power`."""
    return (critical + float(ndtri(level(power)))) * standard_error


def detectable_in_pairs(standard_error: float, critical: float, pairs: float, power: float = 0.8) -> float:
    """Return the true difference that S / sqrt(V) of so many pairs (`becalm.stats.paired`) detects with probability
    `power`; infinite where none can reach the critical value.

    V is computed under the tested difference and contains it. With n degrees of freedom, a difference of z standard
    errors moves the statistic only to z / sqrt(1 + z^2 / n), below the root of n, and its standard deviation falls to
    (1 + z^2 / n)^(-3/2), by the delta method. For many pairs that is `detectable`.
    """
    freedom = pairs - 1.0
    if not math.isfinite(standard_error) or freedom <= critical * critical:
        return math.inf
    root_n, quantile = math.sqrt(freedom), float(ndtri(level(power)))

    def beyond(share: float) -> float:
        """Return how far the statistic is beyond the critical value, by share = z / sqrt(n + z^2)."""
        return root_n * share - quantile * math.pow(1.0 - share * share, 1.5) - critical

    share = root(beyond, 0.0, 1.0, 1e-9)
    z = root_n * share / math.sqrt(1.0 - share * share)
    return z * math.sqrt(pairs / freedom) * standard_error


def pairs_for(difference: float, standard_error: float, pairs: int, critical: float = 2.2, power: float = 0.8) -> int:
    """Return the number of pairs that make `difference` detectable, when `pairs` of them gave `standard_error`.

    The error falls with the root of their number. `critical`: that of the last look; 2.2 is usual for
    `becalm.stats.sequential.ErrorSpending` at 5 %. Raises ValueError for a difference that is not positive.
    """
    if not difference > 0.0:
        raise ValueError(f"A difference to detect must be positive; {difference} is not.")
    return max(2, math.ceil(pairs * (detectable(standard_error, critical, power) / difference) ** 2))


def least_pairs(critical: float) -> int:
    """Return the fewest pairs for which an interval with this critical value can exist.

    All signs of n coins are alike with a probability of 2^(1 - n), and their standardised sum is at most the root of n.
    """
    return max(math.ceil(1 - math.log2(2 * float(ndtr(-critical)))), math.floor(critical**2) + 1)


def last_critical(alpha: float) -> float:
    """Return the approximate critical value of the last look of `becalm.stats.sequential.ErrorSpending`: 2.2 at 5 %.

    It is for planning: earlier looks make it 12 % larger than that of a single test, at any usual level.
    """
    return 2.2 / 1.96 * float(ndtri(1 - level(alpha) / 2))


def runs_for_mean(relative: float, cv: float, confidence: float = 0.95, correlation_time: float = 1.0) -> int:
    """Return the number of runs for a mean known to +-`relative`: (z cv / r)^2 (Jain 1991, eq. 13.3), times the
    correlation time.

    Raises ValueError for a precision that is not positive or a confidence outside 0…1.
    """
    if not relative > 0.0:
        raise ValueError(f"A precision must be positive; {relative} is not.")
    z = float(ndtri((1 + level(confidence)) / 2))
    return max(2, math.ceil((z * cv / relative) ** 2 * correlation_time))
