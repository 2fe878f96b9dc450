"""Logarithms of ratios as relative differences."""

from __future__ import annotations

import math

LARGEST = 700.0
"""The largest logarithm whose exponential a float surely holds (its limit is 709.78)."""


def relative_difference(log_ratio: float) -> float:
    """Return a logarithm of a ratio as a relative difference; infinite above LARGEST."""
    return math.expm1(log_ratio) if log_ratio < LARGEST else math.inf
