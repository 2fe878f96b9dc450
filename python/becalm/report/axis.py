"""Lines of characters on one axis of fractions, with zero marked and its ends labelled in percent."""

from __future__ import annotations

import math
from collections.abc import Iterable

from becalm.wording.numbers import percent


class Axis:
    """An axis that has zero and all of `values`, with a margin at both ends, over `width` columns."""

    def __init__(self, values: Iterable[float], width: int, *, plain: bool, margin: float = 0.05) -> None:
        values = [value for value in values if math.isfinite(value)]
        self._low, self._high = min((0.0, *values)), max((0.0, *values))
        margin = margin * (self._high - self._low) or 0.001
        self._low, self._high = self._low - margin, self._high + margin
        self._width, self._plain = width, plain

    def points(self, values: Iterable[float]) -> str:
        """Return a line with a mark at each value."""
        cells = self._empty()
        for value in values:
            cells[self._at(value)] = "o" if self._plain else "●"
        return "".join(cells).rstrip()

    def interval(self, low: float, estimate: float, high: float, mark: str) -> str:
        """Return a line with an interval and a mark at its estimate."""
        cells = self._empty()
        line, left, right = ("-", "|", "|") if self._plain else ("─", "├", "┤")
        for place in range(self._at(low), self._at(high) + 1):
            cells[place] = line
        cells[self._at(low)], cells[self._at(high)] = left, right
        cells[self._at(estimate)] = mark
        return "".join(cells).rstrip()

    def labels(self, spare: int = 0) -> str:
        """Return the line below: the values of zero and of both ends, where there is room; `spare` columns more."""
        cells = [" "] * (self._width + spare)
        ends = (self._low, self._high)
        for value, label in ((0.0, "0"), *((end, f"{percent(end, ends[1] - ends[0], sign=True)} %") for end in ends)):
            start = min(max(0, self._at(value) - len(label) // 2), len(cells) - len(label))
            if all(cell == " " for cell in cells[max(0, start - 1) : start + len(label) + 1]):
                cells[start : start + len(label)] = label
        return "".join(cells).rstrip()

    def _empty(self) -> list[str]:
        cells = [" "] * self._width
        cells[self._at(0.0)] = ":" if self._plain else "┊"
        return cells

    def _at(self, value: float) -> int:
        return round((value - self._low) / (self._high - self._low) * (self._width - 1))
