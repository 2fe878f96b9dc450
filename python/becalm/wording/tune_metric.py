"""Sentences about a search for the best mean of a metric that programs print."""

from __future__ import annotations

from becalm.nouns.finding import Interval
from becalm.nouns.metric import Metric
from becalm.results.tune import AblationEffect, Arm, ArmComparison, Transfer
from becalm.wording.metric import quantity
from becalm.wording.numbers import counted, percent
from becalm.wording.tune import named, usefulness
from becalm.wording.tune_time import between, seen, sized


def change(ratio: Interval, metric: Metric) -> Interval:
    """Return the change of a metric, as a fraction of it; `ratio`: turned values without settings over with them."""
    if metric.higher:
        return Interval(ratio.value - 1, ratio.low - 1, ratio.high - 1)
    ends = [1 / ratio_end - 1 if ratio_end > 0 else float("inf") for ratio_end in (ratio.value, ratio.high, ratio.low)]
    return Interval(*ends)


def _size(interval: Interval) -> str:
    """Return the size and interval of a change whose direction is stated next to it."""
    if interval.high < 0:
        interval = Interval(-interval.value, -interval.high, -interval.low)
    return f"{sized(interval)} ({{level}}: {between(interval)})"


def comparison(arm_comparison: ArmComparison, baseline: Arm, arm: Arm, confidence: float, metric: Metric) -> str:
    """Return the sentence on whether the metric of a program is better with an arm than with the baseline."""
    level = f"{100 * confidence:g} %"
    basis = f"{counted(arm_comparison.loops, 'loop')}, {counted(arm.runs, 'run')} each"
    means = [quantity(row.metric.value, metric.unit) for row in (arm, baseline) if row.metric is not None]
    values, metric_change = " instead of ".join(means), change(arm_comparison.ratio, metric)
    if arm_comparison.ratio.low > 1 or arm_comparison.ratio.high < 1:
        way = "higher" if metric_change.value > 0 else "lower"
        judged = "better" if arm_comparison.ratio.low > 1 else "worse"
        size = _size(metric_change).format(level=level)
        return (
            f"With {named(arm.name)} {metric.name} of {arm_comparison.program} is "
            f"{size.replace(' %', f' % {way}', 1)}, "
            f"which is {judged}: {values}; {basis}."
        )
    return (
        f"No gain in {metric.name} of {arm_comparison.program} is shown with {named(arm.name)}: {values} "
        f"({level}: {between(metric_change)}); {basis}{seen(arm_comparison)}."
    )


def contribution(effect: AblationEffect, margin: float, confidence: float, metric: Metric) -> str:
    """Return the sentence about the effect of one knob, and whether it can be left out."""
    level = f"{100 * confidence:g} %"
    worse = Interval(effect.ratio.value - 1, effect.ratio.low - 1, effect.ratio.high - 1)
    without = f"without it {metric.name} is {sized(worse)} worse ({level}: {between(worse)})"
    return usefulness(effect, without, f"{percent(margin)} %")


def transfer(result: Transfer, level: str, metric: Metric) -> str:
    """Return the sentence about settings found on one host, as measured on another."""
    where, changed = f"On {result.row} with the settings of {result.column}", change(result.ratio, metric)
    if result.ratio.low > 1 or result.ratio.high < 1:
        way = "higher" if changed.value > 0 else "lower"
        judged = "better" if result.ratio.low > 1 else "worse"
        size = _size(changed).format(level=level).replace(" %", f" % {way}", 1)
        return f"{where} {metric.name} is {size}, which is {judged}."
    return f"{where} no change in {metric.name} is seen ({level}: {between(changed)})."
