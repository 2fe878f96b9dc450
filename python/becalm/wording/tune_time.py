"""Sentences about a search for the fastest settings: how much faster they are, and how sure that is."""

from __future__ import annotations

import math

from becalm.nouns.finding import Interval
from becalm.results.tune import AblationEffect, Arm, ArmComparison
from becalm.wording.numbers import counted, duration, percent
from becalm.wording.tune import ends, factor, named, usefulness


def gain(ratio: Interval) -> Interval:
    """Return the share of time saved from a ratio of times, without settings over with them: 1.25 saves 20 %."""
    return Interval(1 - 1 / ratio.value, _saved(ratio.low), _saved(ratio.high))


def _saved(ratio: float) -> float:
    return 1 - 1 / ratio if ratio > 0 else -math.inf


def sized(change: Interval) -> str:
    """Return the size of a change, such as "12 %"."""
    half = (change.high - change.low) / 2
    return f"{percent(change.value, half if math.isfinite(half) else None)} %"


def between(change: Interval) -> str:
    """Return the ends of the interval of a change, such as "8 to 15 %", with signs where they differ."""
    half = (change.high - change.low) / 2
    if not math.isfinite(half):
        return "not known"
    signs = change.low < 0 < change.high
    return f"{percent(change.low, half, sign=signs)} to {percent(change.high, half, sign=signs)} %"


def comparison(arm_comparison: ArmComparison, baseline: Arm, arm: Arm, confidence: float) -> str:
    """Return the sentences on whether a program runs faster with an arm than with the baseline, and its deviation."""
    level = f"{100 * confidence:g} %"
    basis = f"{counted(arm_comparison.loops, 'loop')}, {counted(arm.runs, 'run')} each"
    times = f"{duration(arm.mean_ns.value)} instead of {duration(baseline.mean_ns.value)}"
    saved = gain(arm_comparison.ratio)
    if arm_comparison.ratio.low > 1:
        body = (
            f"With {named(arm.name)} {arm_comparison.program} takes {sized(saved)} less time ({level}: "
            f"{between(saved)}), {times}"
            f"; {basis}."
        )
    elif arm_comparison.ratio.high < 1:
        longer = Interval(
            1 / arm_comparison.ratio.value - 1,
            1 / arm_comparison.ratio.high - 1,
            1 / max(arm_comparison.ratio.low, 1e-9) - 1,
        )
        body = (
            f"With {named(arm.name)} {arm_comparison.program} takes {sized(longer)} longer ({level}: "
            f"{between(longer)}), {times}"
            f"; {basis}."
        )
    else:
        body = (
            f"No gain in the run time of {arm_comparison.program} is shown with {named(arm.name)}: {times} "
            f"({level}: {between(saved)} less); {basis}{seen(arm_comparison)}."
        )
    return f"{body}{_deviation(arm_comparison)}"


def seen(arm_comparison: ArmComparison) -> str:
    """Return the clause about the smallest gain that would have been seen."""
    if not math.isfinite(arm_comparison.detectable) or arm_comparison.detectable > 1000:
        return "; they are too few to see anything"
    return f"; {percent(1 - 1 / arm_comparison.detectable)} % would have been seen"


def _deviation(arm_comparison: ArmComparison) -> str:
    """Return the sentence about the standard deviation; empty where all runs are equal."""
    if arm_comparison.deviation is None or not 0 < arm_comparison.deviation.value < math.inf:
        return ""
    if arm_comparison.deviation.low == arm_comparison.deviation.high == 1:
        return ""
    if arm_comparison.deviation.low > 1:
        return (
            f" Its standard deviation falls {factor(arm_comparison.deviation)}-fold ({ends(arm_comparison.deviation)})."
        )
    worse = Interval(
        1 / arm_comparison.deviation.value,
        1 / arm_comparison.deviation.high,
        1 / max(arm_comparison.deviation.low, 1e-9),
    )
    if arm_comparison.deviation.high < 1:
        return f" Its standard deviation rises {factor(worse)}-fold ({ends(worse)})."
    return f" No change of its standard deviation is shown: {factor(worse)} times as large ({ends(worse)})."


def contribution(effect: AblationEffect, margin: float, confidence: float) -> str:
    """Return the sentence about the effect of one knob, and whether it can be left out."""
    level = f"{100 * confidence:g} %"
    longer = Interval(effect.ratio.value - 1, effect.ratio.low - 1, effect.ratio.high - 1)
    half = (longer.high - longer.low) / 2
    size = percent(longer.value, half if math.isfinite(half) else None, sign=True)
    without = f"without it the time changes by {size} % ({level}: {between(longer)})"
    return usefulness(effect, without, f"{percent(margin)} % more")
