"""The response of a search for the best mean, as text: the time of a run, or a metric of the programs."""

from __future__ import annotations

import math

from becalm.nouns.finding import Interval
from becalm.results.tune import Arm, ArmComparison, TuneVerdict
from becalm.wording import tune_metric, tune_time
from becalm.wording.metric import quantity
from becalm.wording.numbers import duration
from becalm.wording.tune import change as signed


def name(verdict: TuneVerdict) -> str:
    """Return the name of the response: "time", or that of the metric."""
    return "time" if verdict.metric is None else verdict.metric.name


def trials(verdict: TuneVerdict) -> str:
    """Return the heading of the surface fitted to the trials; a metric that should be large was fitted inverted."""
    unit, quantity_name = "seconds", "time"
    if verdict.metric is not None:
        turned, unit = verdict.metric.higher, "" if verdict.metric.higher else verdict.metric.unit
        quantity_name = f"1/{verdict.metric.name}" if turned else verdict.metric.name
    return f"What the trials of the search say ({quantity_name}{f' in {unit}' if unit else ''})"


def axis(verdict: TuneVerdict, unit: str) -> str:
    """Return the label of an axis of the response."""
    return f"{name(verdict)}, {unit}" if unit else name(verdict)


def level(verdict: TuneVerdict, arm: Arm) -> Interval:
    """Return the mean of the response in one arm, in ns or the unit of the metric."""
    return arm.mean_ns if verdict.metric is None or arm.metric is None else arm.metric


def shown(verdict: TuneVerdict, value: float) -> str:
    """Return a value of the response as text."""
    if not math.isfinite(value):
        return "unknown"
    return duration(value) if verdict.metric is None else quantity(value, verdict.metric.unit)


def gained(verdict: TuneVerdict) -> str:
    """Return the head of the column of gains."""
    return "time saved" if verdict.metric is None else "change"


def gain(verdict: TuneVerdict, comparison: ArmComparison) -> tuple[str, str]:
    """Return the time saved, or the change of the metric, and the ends of its interval."""
    if verdict.metric is None:
        saved = tune_time.gain(comparison.ratio)
        return tune_time.sized(saved), tune_time.between(saved)
    change = tune_metric.change(comparison.ratio, verdict.metric)
    return signed(change), tune_time.between(change)


def without(verdict: TuneVerdict) -> str:
    """Return the words for a ratio of the response without a setting over that with it."""
    return "times the time" if verdict.metric is None else f"times as bad in {verdict.metric.name}"


def deviation(verdict: TuneVerdict, arm: Arm) -> str:
    """Return the standard deviation of the runs of an arm."""
    return shown(verdict, arm.spread.value * level(verdict, arm).value)
