"""Numbers as text: percentages, times, factors, sizes and counts, with as many digits as they are worth."""

from __future__ import annotations

import math
from typing import Protocol

LARGEST_PERCENTAGE = 999_999
LARGEST_FACTOR = 999_999_999
LARGEST_MINUTES = 999_999
"""Largest numbers that are written out; a larger one only shows that nothing is known: `>999,999`."""


def percent(value: float, uncertainty: float | None = None, *, sign: bool = False) -> str:
    """Return a fraction as a percentage, with as many digits as its uncertainty (also a fraction) supports."""
    number = 100 * value
    if not abs(number) <= LARGEST_PERCENTAGE:
        return _beyond(number, LARGEST_PERCENTAGE)
    scale = abs(100 * uncertainty) if uncertainty else abs(number)
    digits = 2 if scale == 0 or not math.isfinite(scale) else min(4, max(0, 1 - math.floor(math.log10(scale))))
    text = f"{number:+.{digits}f}" if sign else f"{number:.{digits}f}"
    return text if float(text) != 0 else text.lstrip("+-")


def _beyond(number: float, largest: int) -> str:
    """Return the text for a number too large to mean anything."""
    if math.isnan(number):
        return "?"
    return f">{largest:,}" if number > 0 else f"<-{largest:,}"


class Writing(Protocol):
    """A function that formats a value; `step`, in its unit, is the smallest difference to show and may add digits."""

    def __call__(self, value: float, /, step: float = 0.0) -> str:
        """Return the value as text."""


UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
"""Units of time that a user may ask for, in ns."""


class _Chosen:
    unit = ""


def time_unit(name: str) -> None:
    """Set the unit of all times from now on, in the whole process; empty: a fitting unit for each time."""
    _Chosen.unit = name


def duration(ns: float, step: float = 0.0) -> str:
    """Return a time with four digits, in the unit that was asked for, else in a fitting one.

    `step`: the smallest difference to show, in ns; it may add digits.
    """
    if not abs(ns) <= LARGEST_MINUTES * 60e9:
        return f"{_beyond(ns, LARGEST_MINUTES)} min".replace("? min", "?")
    if _Chosen.unit:
        value, name = ns / UNITS[_Chosen.unit], _Chosen.unit.replace("us", "µs")
        digits = max(0, 3 - math.floor(math.log10(abs(value)))) if value else 0
        digits = max(min(digits, 6), decimals(step / UNITS[_Chosen.unit]))
        text = f"{value:,.{digits}f}" if abs(value) < 1e12 else f"{value:.3e}"
        return f"{text} {name}"
    for unit, size in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6)):
        if abs(ns) < 999.95 * size:
            return f"{_four(ns / size, step / size)} {unit}" if size > 1 else f"{round(ns)} ns"
    if abs(ns) < 120e9:
        return f"{_four(ns / 1e9, step / 1e9)} s"
    return f"{ns / 60e9:.1f} min"


def _four(value: float, step: float) -> str:
    digits = max(0, 3 - math.floor(math.log10(abs(value)))) if value else 1
    return f"{value:.{max(min(digits, 3), decimals(step))}f}"


def decimals(step: float) -> int:
    """Return the number of decimals needed to show a difference of `step`; 0 for a step of 0."""
    return min(9, max(0, math.ceil(-math.log10(step)))) if step > 0 else 0


def factor(estimate: float, half: float) -> str:
    """Return a difference as a factor, with as many digits as its uncertainty (a fraction) supports."""
    if not abs(1 + estimate) <= LARGEST_FACTOR:
        return _beyond(1 + estimate, LARGEST_FACTOR)
    if 1 + estimate >= 1000:
        return f"{float(f'{1 + estimate:.3g}'):,.0f}"
    digits = 2 if not 0 < half < math.inf else min(4, max(1, -math.floor(math.log10(half))))
    return f"{1 + estimate:.{digits}f}"


def memory(size: float) -> str:
    """Return a number of bytes in binary units."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError("unreachable")


def spent(ns: float) -> str:
    """Return a time of measuring as text."""
    seconds = ns / 1e9
    if seconds < 0.1:
        return f"{seconds * 1e3:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def about(ns: int) -> int:
    """Return an estimated time rounded up to two digits, ns."""
    unit = int("1" + "0" * max(0, len(str(ns)) - 2))
    return -(-ns // unit) * unit


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 pair", "212 pairs"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def are(number: int) -> str:
    """Return "is" for 1, "are" for other numbers."""
    return "is" if number == 1 else "are"


def budget(ns: int) -> str:
    """Return the option for a time budget of this length, or a little more."""
    seconds = ns / 1e9
    if seconds < 120:
        return f"--budget {math.ceil(seconds)}s"
    return f"--budget {math.ceil(seconds / 60)}min" if seconds < 7200 else f"--budget {math.ceil(seconds / 3600)}h"
