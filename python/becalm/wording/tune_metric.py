"""Sentences about a search for the best mean of a number that programs print."""

from __future__ import annotations

from becalm.nouns.finding import Interval
from becalm.nouns.metric import Metric
from becalm.results.tune import AblationEffect, Arm, ArmComparison, Transfer
from becalm.wording.compare import counted, percent
from becalm.wording.metric import quantity
from becalm.wording.tune import named, value_text
from becalm.wording.tune_time import between, seen, sized


def change(ratio: Interval, metric: Metric) -> Interval:
    """Change of what is printed, a fraction of it, from a ratio of turned values, without over with."""
    if metric.higher:
        return Interval(ratio.value - 1, ratio.low - 1, ratio.high - 1)
    ends = [1 / each - 1 if each > 0 else float("inf") for each in (ratio.value, ratio.high, ratio.low)]
    return Interval(*ends)


def _size(interval: Interval) -> str:
    """Return the size and interval of a change whose direction is stated next to it."""
    if interval.high < 0:
        interval = Interval(-interval.value, -interval.high, -interval.low)
    return f"{sized(interval)} ({{level}}: {between(interval)})"


def comparison(arm_comparison: ArmComparison, baseline: Arm, arm: Arm, confidence: float, metric: Metric) -> str:
    """Return whether the metric of a program is better with an arm than with the baseline, in a sentence."""
    level = f"{100 * confidence:g} %"
    basis = f"{counted(arm_comparison.loops, 'loop')}, {counted(arm.runs, 'run')} each"
    means = [quantity(one.metric.value, metric.unit) for one in (arm, baseline) if one.metric is not None]
    values, found = " instead of ".join(means), change(arm_comparison.ratio, metric)
    if arm_comparison.ratio.low > 1 or arm_comparison.ratio.high < 1:
        way = "higher" if found.value > 0 else "lower"
        judged = "better" if arm_comparison.ratio.low > 1 else "worse"
        size = _size(found).format(level=level)
        return (
            f"With {named(arm.name)} {metric.name} of {arm_comparison.program} is "
            f"{size.replace(' %', f' % {way}', 1)}, "
            f"which is {judged}: {values}; {basis}."
        )
    return (
        f"No gain in {metric.name} of {arm_comparison.program} is shown with {named(arm.name)}: {values} "
        f"({level}: {between(found)}); {basis}{seen(arm_comparison)}."
    )


def contribution(effect: AblationEffect, margin: float, confidence: float, metric: Metric) -> str:
    """Return the sentence about the effect of one knob, and whether it can be left out."""
    level, about = f"{100 * confidence:g} %", f"{effect.knob}={value_text(effect.value)}"
    worse = Interval(effect.ratio.value - 1, effect.ratio.low - 1, effect.ratio.high - 1)
    without = f"without it {metric.name} is {sized(worse)} worse ({level}: {between(worse)})"
    if effect.droppable:
        return f"{about} can be left out: {without}, less than {percent(margin)} %."
    if effect.ratio.low > 1:
        return f"{about} helps: {without}."
    loops = ""
    if effect.loops_needed is not None and effect.loops_needed <= 10_000:
        loops = f"; about {counted(effect.loops_needed, 'loop')} would decide"
    return f"{about} is undecided and kept: {without}{loops}."


def transfer(found: Transfer, level: str, metric: Metric) -> str:
    """Return the sentence about settings found on one host, as measured on another."""
    where, changed = f"On {found.row} with the settings of {found.column}", change(found.ratio, metric)
    if found.ratio.low > 1 or found.ratio.high < 1:
        way = "higher" if changed.value > 0 else "lower"
        judged = "better" if found.ratio.low > 1 else "worse"
        size = _size(changed).format(level=level).replace(" %", f" % {way}", 1)
        return f"{where} {metric.name} is {size}, which is {judged}."
    return f"{where} no change in {metric.name} is seen ({level}: {between(changed)})."
