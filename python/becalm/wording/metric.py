"""The wording of numbers that programs print: values in, text and sentences out."""

from __future__ import annotations

import math
from typing import NamedTuple

from becalm.nouns.finding import Interval
from becalm.results.compare import Answer, Difference, MetricDifference, Summary
from becalm.wording.numbers import Writing, decimals, duration, factor, percent

BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
"""Binary units of bytes."""

LONGER = (("s", 1e9), ("ms", 1e6), ("µs", 1e3))
"""Units of many nanoseconds."""

SHORTER = (("ms", 1e3), ("µs", 1e6), ("ns", 1e9))
"""Units shorter than a second, and how many of them a second has."""

FACTOR_FROM = 0.5
"""The difference from which a factor reads better: "1.62 times that of A"."""

TOO_NOISY = 1.0
"""The width from which an interval is given as factors, with the advice to measure longer: beyond a doubling it bounds
no difference."""


def factors(d: Difference) -> str:
    """Return the ends of an interval as factors: "0.49 to 15.8"."""
    return f"{factor(d.low, 0.05)} to {factor(d.high, 0.05 if d.high < 10 else 1)}"


def binary(size: float) -> tuple[str, float]:
    """Return the binary unit that a number of bytes reads best in, and its size in bytes."""
    step = min(len(BINARY) - 1, int(math.log2(size) // 10) if size >= 1 else 0)
    return BINARY[step], 1024.0**step


def quantity(value: float, unit: str = "", step: float = 0.0) -> str:
    """Return a number with four digits and its unit; large ones with all digits before the point, in groups.

    Bytes are written in KiB and larger units, seconds below one in ms, µs or ns, nanoseconds from a thousand on in µs,
    ms or s. `step`: the smallest difference to show, in the unit; it may add digits.
    """
    if not math.isfinite(value):
        return "?"
    if unit == "bytes":
        name, size = binary(abs(value))
        return quantity(value / size, name, step / size)
    if unit == "ns" and abs(value) >= 1e3:
        name, size = next((name, size) for name, size in LONGER if abs(value) >= size)
        return quantity(value / size, name, step / size)
    if unit == "s" and 0 < abs(value) < 1:
        name, size = next((name, size) for name, size in SHORTER if abs(value) * size >= 1 or name == "ns")
        return quantity(value * size, name, step * size)
    if value and not 1e-4 <= abs(value) < 1e12:
        text = f"{value:.3e}"
    else:
        digits = max(0, 3 - math.floor(math.log10(abs(value)))) if value else 0
        text = f"{value:,.{max(min(digits, 7), decimals(step))}f}"
    return f"{text} {unit}".strip()


class ShownValues(NamedTuple):
    """The measured values of a program: its first metric, else its wall time; `shown` formats a value."""

    mean: Interval
    median: Interval
    cv: Interval
    shown: Writing


def measured(summary: Summary) -> ShownValues:
    """Return the measured values of a summary. Raises ValueError where it has neither times nor metrics."""
    if not summary.metrics:
        if summary.mean_ns is None or summary.median_ns is None or summary.cv is None:
            raise ValueError(f"{summary.name} has neither times nor metrics.")
        return ShownValues(summary.mean_ns, summary.median_ns, summary.cv, duration)
    first = summary.metrics[0]

    def shown(value: float, /, step: float = 0.0) -> str:
        return quantity(value, first.unit, step)

    return ShownValues(first.mean, first.median, first.cv, shown)


def further_cells(d: MetricDifference) -> tuple[str, str, str, str]:
    """Return the cells of a metric recorded next to the compared one: two means, their difference, its interval."""
    first, second = (quantity(value, d.unit) for value in d.means)
    half = (d.high - d.low) / 2
    if not math.isfinite(d.estimate):
        return first, second, "", "none in either" if d.means == (0.0, 0.0) else "no percentage of 0"
    if not math.isfinite(half):
        return first, second, f"{percent(d.estimate, sign=True)} %", "too few runs"
    ends = f"{percent(d.low, half, sign=True)} to {percent(d.high, half, sign=True)} %"
    return first, second, f"{percent(d.estimate, half, sign=True)} %", ends


def per_second(summary: Summary) -> str:
    """Return the work of a program per second; empty where it is unknown."""
    throughput = summary.throughput
    return "" if throughput is None else f"{quantity(throughput.per_second.value)} {throughput.what}/s"


def median_of(name: str) -> str:
    """Return the heading of medians of a metric, whose values may be medians already."""
    return name if name.startswith("median ") else f"median {name}"


def difference(d: Difference, basis: str, seen: str, weak: str) -> str:
    """Return the verdict on one comparison of a metric; `basis`, `seen` and `weak` end it as for wall times."""
    if d.varies is not None:
        return _of_counts(d, d.varies)
    level, half = f"{100 * d.confidence:g} %", (d.high - d.low) / 2
    if d.answer is Answer.UNKNOWN:
        return (
            f"Not yet known whether the {d.metric} of {d.name} differs from that of {d.reference}: {basis} "
            f"{'is' if d.pairs == 1 else 'are'} too few. Measure longer.{weak}"
        )
    if d.worse is None:
        bound = percent(max(abs(d.low), abs(d.high)), half)
        span = f"{percent(d.low, half, sign=True)} to {percent(d.high, half, sign=True)} %"
        names = f"{d.name} and {d.reference}"
        if max(abs(d.low), abs(d.high)) > TOO_NOISY:
            return (
                f"Too noisy to tell: the {d.metric} of {d.name} is {factors(d)} times that of {d.reference} ({level}), "
                f"{basis}. Measure longer.{weak}"
            )
        return f"No difference above {bound} % in {d.metric} between {names} ({level}: {span}), {basis}.{weak}"
    if d.estimate >= FACTOR_FROM:
        body = f"{factor(d.estimate, half)} times that of {d.reference}"
        span = f"{factor(d.low, half)} to {factor(d.high, half)}"
    else:
        low, high = sorted((abs(d.low), abs(d.high)))
        body = f"{percent(abs(d.estimate), half)} % {d.answer} than that of {d.reference}"
        span = f"{percent(low, half)} to {percent(high, half)} %"
    judged = "worse" if d.worse else "better"
    return f"The {d.metric} of {d.name} is {body}, which is {judged} ({level}: {span}), {basis}{seen}.{weak}"


def counts(summary: Summary) -> str:
    """Return the verdict on the exact counts of one program."""
    first = summary.metrics[0]
    count = f"{summary.name}: {first.name} {quantity(first.median.value)}"
    if first.runs == 1:
        return f"{count}, counted once; a second count is needed to see whether it repeats."
    times = "twice" if first.runs == 2 else f"{first.runs} times"
    varies = first.maximum / first.minimum - 1
    repeats = f"; the counts differ by {percent(varies)} %" if varies > 0 else ", with the same result"
    return f"{count}, counted {times}{repeats}."


def _of_counts(d: Difference, varies: float) -> str:
    """Return the verdict on one comparison of exact counts."""
    names = f"{d.name} and {d.reference}"
    if d.pairs < 2:
        return f"{d.metric.capitalize()} of {names}: each was counted once, and two counts are needed. Measure longer."
    if d.answer is Answer.UNKNOWN:
        return (
            f"The {d.metric}s of {names} cannot be compared: counts of one of them differ by {percent(varies)} % from "
            "run to run, so it does not do the same work each time. Fix what differs: random seeds, threads, the time "
            "of day."
        )
    times = "twice" if d.pairs == 2 else f"{d.pairs} times"
    repeats = f"counts of one program differ by {percent(varies)} %" if varies else "counts of one program are equal"
    basis = f"each counted {times}; {repeats}"
    if d.worse is None:
        bound = max(abs(d.low), abs(d.high))
        if bound == 0:
            return f"{d.name} has exactly the {d.metric} of {d.reference} ({basis})."
        return f"No difference above {percent(bound)} % in {d.metric} between {names} ({basis})."
    judged = "worse" if d.worse else "better"
    if d.estimate >= FACTOR_FROM:
        body = f"{factor(d.estimate, 0.005)} times that of {d.reference}"
    else:
        body = f"{percent(abs(d.estimate), d.half)} % {d.answer} than that of {d.reference}"
    return f"The {d.metric} of {d.name} is {body}, which is {judged} ({basis})."
