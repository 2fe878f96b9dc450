"""How much a series that drifts as much as it can seem to step: what is supposed of drift while none was observed."""

from __future__ import annotations


def step_factor(after: int, before: int) -> float:
    """Variance of the mean of values after a place less that of values before it, where all of the differences of
    successive values are a random walk's, as a multiple of what white noise of the same differences has.

    A difference has the variance s^2: of white noise that of a value is s^2 / 2. In the walk an increment counts by the
    share of values that it moves apart. Noise beside the walk makes it less. So does a trend: over 3 and 6 values it
    steps by 2.6 of the standard deviations that this gives, where one in 100,000 steps of a walk is of 4.4.
    """
    walk = 1 + (after - 1) * (2 * after - 1) / (6 * after) + (before - 1) * (2 * before - 1) / (6 * before)
    return walk / (0.5 * (1 / after + 1 / before))
