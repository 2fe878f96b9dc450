"""Exact bounds for the number of events in a simulation whose rate is stated (the binomial distribution)."""

from scipy.stats import binom


def at_most(trials: int, rate: float, chance: float = 0.001) -> int:
    """Return the number of events that `trials` with this rate exceed with probability `chance` or less."""
    return int(binom.isf(chance, trials, rate))


def at_least(trials: int, rate: float, chance: float = 0.001) -> int:
    """Return the number of events that `trials` with this rate fall short of with probability `chance` or less."""
    return int(binom.ppf(chance, trials, rate))
