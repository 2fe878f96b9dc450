"""Sentences on the end of a search by a surface, for composite and for sequential designs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from becalm.nouns.factor import Factor
from becalm.units import join_names

SURE = 1.0
"""The lead, in standard errors, from which settings are chosen and so confirmed with fresh runs."""


def at_ends(factors: Sequence[Factor], place: Sequence[float]) -> str:
    """Return a sentence on the factors at an end of their range, with a trailing space; empty for none."""
    held = [
        factor.name for factor, at in zip(factors, place, strict=True) if not factor.categorical and abs(at) > 1 - 1e-6
    ]
    if not held:
        return ""
    return f"The best place lies at the end of the range of {', '.join(held)}: beyond it there may be a better one. "


def step_sentence(factor: Factor, edge: float, places: Sequence[float], size: float, *, share: bool) -> str:
    """Return a sentence on the step of a surface in a factor, with a leading space.

    `edge`: the place of the step; `places`: all measured levels; both in coded units. `size`: the response above the
    edge minus that below; `share`: whether it is a difference of logarithms.
    """
    low = max(at for at in places if at <= edge)
    high = min(at for at in places if at > edge)
    between = f"{factor.worded(factor.natural(low))} and {factor.worded(factor.natural(high))}"
    side = "above" if size > 0 else "below"
    slower = (
        f"{side} it, runs are {100 * math.expm1(abs(size)):.2g} % slower"
        if share
        else f"{side} it, the value is higher"
    )
    return f" The surface has a step in {factor.name} between {between}: {slower}."


def lost_trials(failed: int, slow: int = 0) -> str:
    """Return a part of a sentence on failed trials, of which `slow` were ended early; empty for none."""
    parts = [f"{failed - slow} that failed"] if failed > slow else []
    parts += [f"{slow} that {'was' if slow == 1 else 'were'} ended early as too slow"] if slow else []
    return f", including {join_names(parts)}" if parts else ""


def too_short(runs: int | None) -> str:
    """Return the sentence on a limit of runs that is too small for the first step of a search."""
    limit = f"{runs} run" if runs == 1 else f"{runs} runs"
    return (
        f"The limit of {limit} is too low for a search: the first step takes more. Allow more runs, or vary fewer "
        "settings."
    )


def without_model(values: Sequence[float], trials: int, failed: int, *, varied: bool) -> str:
    """Return the sentence on why there is no surface.

    `values`: the values of all good runs; `varied`: whether a run other than those of the machine as it is ended well.
    """
    if not varied:
        return f"Nothing could be compared: none of {trials} combinations ended well."
    if len(values) >= 3 and min(values) == max(values):
        if failed:
            return (
                f"All {len(values)} successful runs gave the same value, and {failed} of {trials} combinations "
                "failed: the effect of these combinations is not known."
            )
        return (
            f"All {len(values)} runs gave the same value: none of the varied settings changes it, or it is measured "
            "too coarsely."
        )
    return f"Too few runs succeeded to fit a surface: {len(values)}, and {failed} combinations failed."


def nothing_found(detectable: float, basis: str) -> str:
    """Return the sentence on a search that found no faster settings. `detectable`: the detectable share, or NaN."""
    could = f"; a difference of {100 * detectable:.2g} % would have been seen" if math.isfinite(detectable) else ""
    return f"Nothing faster than the machine as it is was found{could}, after {basis}."
