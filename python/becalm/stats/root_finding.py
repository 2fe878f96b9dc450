"""The search for the place where a monotone function of one number changes its sign."""

from __future__ import annotations

import math
from collections.abc import Callable

Function = Callable[[float], float]

STEPS = 200


def root(function: Function, low: float, high: float, tolerance: float) -> float:
    """Return the place between `low` and `high` where `function` changes sign, to within `tolerance`.

    The Illinois variant of false position (Dowell & Jarratt 1971, BIT 11:168), with a bisection whenever three steps
    have not halved the bracket: the functions here have kinks and flat parts. Raises ValueError when both ends have the
    same sign.
    """
    at_low, at_high = function(low), function(high)
    if at_low == 0.0 or at_high == 0.0:
        return low if at_low == 0.0 else high
    if (at_low > 0.0) == (at_high > 0.0):
        raise ValueError(
            f"The function does not change its sign between {low} and {high}: its values are {at_low} and {at_high}."
        )
    side, before = 0, high - low
    for step in range(STEPS):
        if high - low <= tolerance:
            break
        place = low + (high - low) * at_low / (at_low - at_high)
        if step % 3 == 2:
            if high - low > before / 2:
                place = low + (high - low) / 2
            before = high - low
        if not low < place < high:
            place = low + (high - low) / 2
            if not low < place < high:
                break
        value = function(place)
        if value == 0.0:
            return place
        if (value > 0.0) == (at_low > 0.0):
            low, at_low = place, value
            at_high = at_high / 2 if side == 1 else at_high
            side = 1
        else:
            high, at_high = place, value
            at_low = at_low / 2 if side == -1 else at_low
            side = -1
    return low + (high - low) / 2


def outward(function: Function, start: float, step: float, limit: int = 60) -> float:
    """Return the first place start + step, start + 2 step, start + 4 step, … where `function` is positive.

    It is an infinity of the sign of `step` when there is none in `limit` places.
    """
    for _ in range(limit):
        place = start + step
        if function(place) > 0.0:
            return place
        step *= 2
    return math.copysign(math.inf, step)
