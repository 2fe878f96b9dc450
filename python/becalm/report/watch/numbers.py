"""Numbers of measures as text, and sparklines that show a measure over time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from becalm.load.metrics import Unit

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII = "_.:-=+*#"
"""Marks of eight levels, by the height of a value; an unknown value is blank."""

Value = float | None


def number(value: Value, unit: Unit) -> str:
    """Return a value with its unit in at most ten characters; "?" where it is unknown."""
    if value is None:
        return "?"
    match unit:
        case Unit.SHARE:
            return f"{100 * value:.1f} %"
        case Unit.TASKS:
            return f"{value:.2f}".rstrip("0").rstrip(".")
        case Unit.BYTES:
            return f"{size(value)}/s"
        case Unit.SIZE:
            return size(value)
        case Unit.RATE:
            return f"{_scaled(value)}/s"
        case Unit.HERTZ:
            return f"{value / 1e9:.2f} GHz"


def size(value: float) -> str:
    """Return a number of bytes in binary units with three digits."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 999.5 or unit == "GiB":
            digits = 0 if unit == "B" or value >= 99.95 else 1
            return f"{value:.{digits}f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def _scaled(value: float) -> str:
    for unit in ("", "k", "M"):
        if value < 999.5 or unit == "M":
            digits = 1 if 0 < value < 9.95 else 0
            return f"{value:.{digits}f} {unit}".rstrip() if unit else f"{value:.{digits}f}"
        value /= 1000
    raise AssertionError("unreachable")


def sparkline(values: Sequence[Value], width: int, unit: Unit, *, least: float = 0.0, plain: bool = False) -> str:
    """Return the values from left to right in at most `width` characters, from zero to the largest of them.

    Where there are more values than characters, neighbours are joined by their largest, so that peaks stay. Shares
    reach up to 1, and frequencies begin at their smallest; `least`: the least value of the full height. Zero has the
    lowest mark, an unknown value none.
    """
    marks = ASCII if plain else BLOCKS
    fewer = _fewer(values, max(1, width))
    known = [value for value in fewer if value is not None]
    if not known:
        return " " * len(fewer)
    low = min(known) if unit is Unit.HERTZ else 0.0
    high = max(max(known), 1.0 if unit is Unit.SHARE else least)
    scale = high - low
    top = len(marks) - 1

    def mark(value: Value) -> str:
        if value is None:
            return " "
        return marks[
            top if scale <= 0 and value > 0 else 0 if scale <= 0 else min(top, _level(value - low, scale, top))
        ]

    return "".join(map(mark, fewer))


def _level(value: float, scale: float, top: int) -> int:
    """Return the level of a value: zero is at the bottom, any value above it is visible."""
    return 0 if value <= 0 else max(1, round(value / scale * top))


def _fewer(values: Sequence[Value], width: int) -> list[Value]:
    if len(values) <= width:
        return list(values)
    edges = [round(index * len(values) / width) for index in range(width + 1)]
    groups = (values[start:end] for start, end in itertools.pairwise(edges))
    return [max((value for value in group if value is not None), default=None) for group in groups]


def stretched(ends: Sequence[float], values: Sequence[Value], whole: float, width: int) -> list[Value]:
    """Return samples on a time axis of `width` columns from 0 to `whole`; a column has the largest of its samples.

    `ends`: when each sample ended, ascending; it began when the one before ended.
    """
    columns: list[Value] = [None] * width
    if whole <= 0:
        return columns
    begin = 0.0
    for end, value in zip(ends, values, strict=True):
        first, last = begin / whole * width, end / whole * width
        begin = end
        if value is None:
            continue
        # A sample narrower than a column belongs to the column of its middle.
        cells = range(round(first), round(last)) or (int((first + last) / 2),)
        for place in cells:
            if 0 <= place < width:
                columns[place] = max(value, columns[place] or 0.0)
    return columns


def mean(values: Sequence[Value]) -> Value:
    """Return the mean of the known values; None where none is known."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def peak(values: Sequence[Value]) -> tuple[float, int] | None:
    """Return the largest known value with its index; None where none is known."""
    known = [(value, -index) for index, value in enumerate(values) if value is not None]
    if not known:
        return None
    value, place = max(known)
    return value, -place
