"""Sentences about a search for the fastest settings: how much faster, and how sure that is."""

from __future__ import annotations

import math

from becalm.nouns.tune_verdict import AblationEffect, Arm, ArmComparison
from becalm.nouns.verdict import Interval
from becalm.wording.measurement import counted, duration, percent
from becalm.wording.tune import ends, factor, named, value_text


def gain(ratio: Interval) -> Interval:
    """Return the share of time saved from a ratio of times (without over with): 1.25 is 20 % less."""
    return Interval(1 - 1 / ratio.value, _saved(ratio.low), _saved(ratio.high))


def _saved(ratio: float) -> float:
    return 1 - 1 / ratio if ratio > 0 else -math.inf


def sized(change: Interval) -> str:
    """Return the size of a change: "12 %"."""
    half = (change.high - change.low) / 2
    return f"{percent(change.value, half if math.isfinite(half) else None)} %"


def between(change: Interval) -> str:
    """Return the ends of a change: "8 to 15 %", with their signs where they differ."""
    half = (change.high - change.low) / 2
    if not math.isfinite(half):
        return "not known"
    signs = change.low < 0 < change.high
    return f"{percent(change.low, half, sign=signs)} to {percent(change.high, half, sign=signs)} %"


def comparison(each: ArmComparison, baseline: Arm, arm: Arm, confidence: float) -> str:
    """Return whether a program runs faster with an arm than with the baseline, and its deviation, in a sentence."""
    level = f"{100 * confidence:g} %"
    basis = f"{counted(each.loops, 'loop')}, {counted(arm.runs, 'run')} each"
    times = f"{duration(arm.mean_ns.value)} instead of {duration(baseline.mean_ns.value)}"
    saved = gain(each.ratio)
    if each.ratio.low > 1:
        body = (
            f"With {named(arm.name)} {each.program} takes {sized(saved)} less time ({level}: {between(saved)}), {times}"
            f"; {basis}."
        )
    elif each.ratio.high < 1:
        longer = Interval(1 / each.ratio.value - 1, 1 / each.ratio.high - 1, 1 / max(each.ratio.low, 1e-9) - 1)
        body = (
            f"With {named(arm.name)} {each.program} takes {sized(longer)} longer ({level}: {between(longer)}), {times}"
            f"; {basis}."
        )
    else:
        body = (
            f"No gain in the run time of {each.program} is shown with {named(arm.name)}: {times} "
            f"({level}: {between(saved)} less); {basis}{seen(each)}."
        )
    return f"{body}{_deviation(each)}"


def seen(each: ArmComparison) -> str:
    """Return the clause about the gain that would have been seen."""
    if not math.isfinite(each.detectable) or each.detectable > 1000:
        return "; they are too few to see anything"
    return f"; {percent(1 - 1 / each.detectable)} % would have been seen"


def _deviation(each: ArmComparison) -> str:
    """Return the sentence about the standard deviation; empty where no run differs from another."""
    if each.deviation is None or not 0 < each.deviation.value < math.inf:
        return ""
    if each.deviation.low == each.deviation.high == 1:
        return ""
    if each.deviation.low > 1:
        return f" Its standard deviation falls {factor(each.deviation)}-fold ({ends(each.deviation)})."
    worse = Interval(1 / each.deviation.value, 1 / each.deviation.high, 1 / max(each.deviation.low, 1e-9))
    if each.deviation.high < 1:
        return f" Its standard deviation rises {factor(worse)}-fold ({ends(worse)})."
    return f" No change of its standard deviation is shown: {factor(worse)} times as large ({ends(worse)})."


def contribution(each: AblationEffect, margin: float, confidence: float) -> str:
    """Return the sentence about the effect of one knob, and whether it can be left out."""
    level, about = f"{100 * confidence:g} %", f"{each.knob}={value_text(each.value)}"
    longer = Interval(each.ratio.value - 1, each.ratio.low - 1, each.ratio.high - 1)
    half = (longer.high - longer.low) / 2
    size = percent(longer.value, half if math.isfinite(half) else None, sign=True)
    without = f"without it the time changes by {size} % ({level}: {between(longer)})"
    if each.droppable:
        return f"{about} can be left out: {without}, less than {percent(margin)} % more."
    if each.ratio.low > 1:
        return f"{about} helps: {without}."
    loops = ""
    if each.loops_needed is not None and each.loops_needed <= 10_000:
        loops = f"; about {counted(each.loops_needed, 'loop')} would decide"
    return f"{about} is undecided and kept: {without}{loops}."
