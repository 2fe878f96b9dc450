"""The response of a search for the best mean, as text: the time of a run, or what the programs print."""

from __future__ import annotations

import math

from becalm.nouns.tune_verdict import Arm, ArmComparison, TuneVerdict
from becalm.nouns.verdict import Interval
from becalm.wording import tune_metric, tune_time
from becalm.wording.measurement import duration
from becalm.wording.metric import quantity
from becalm.wording.tune import change as signed


def name(found: TuneVerdict) -> str:
    """Return its name: "time", or that of the metric."""
    return "time" if found.metric is None else found.metric.name


def trials(found: TuneVerdict) -> str:
    """Return the head of what was fitted to the trials of the search; a metric that is to be large was fitted
    turned."""
    unit, what = "seconds", "time"
    if found.metric is not None:
        turned, unit = found.metric.higher, "" if found.metric.higher else found.metric.unit
        what = f"1/{found.metric.name}" if turned else found.metric.name
    return f"What the trials of the search say ({what}{f' in {unit}' if unit else ''})"


def axis(found: TuneVerdict, unit: str) -> str:
    """Return the label of its axis."""
    return f"{name(found)}, {unit}" if unit else name(found)


def level(found: TuneVerdict, arm: Arm) -> Interval:
    """Return its mean in one arm, in ns or the unit of the metric."""
    return arm.mean_ns if found.metric is None or arm.metric is None else arm.metric


def shown(found: TuneVerdict, value: float) -> str:
    """Return a value of it as text."""
    if not math.isfinite(value):
        return "unknown"
    return duration(value) if found.metric is None else quantity(value, found.metric.unit)


def gained(found: TuneVerdict) -> str:
    """Return the head of the column of gains."""
    return "time saved" if found.metric is None else "change"


def gain(found: TuneVerdict, each: ArmComparison) -> tuple[str, str]:
    """Return the time saved, or the change of the metric, and the ends of its interval."""
    if found.metric is None:
        saved = tune_time.gain(each.ratio)
        return tune_time.sized(saved), tune_time.between(saved)
    change = tune_metric.change(each.ratio, found.metric)
    return signed(change), tune_time.between(change)


def without(found: TuneVerdict) -> str:
    """Return the meaning of a ratio of it without a setting over with it."""
    return "times the time" if found.metric is None else f"times as bad in {found.metric.name}"


def deviation(found: TuneVerdict, arm: Arm) -> str:
    """Return the standard deviation of an arm's runs."""
    return shown(found, arm.spread.value * level(found, arm).value)
