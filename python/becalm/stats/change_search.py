"""A search for changes that can be continued: rows in, changes out, and its state as arrays that can be stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats
from becalm.stats.common_mode import SUITE, CommonMode
from becalm.stats.exceedance import Residuals
from becalm.stats.step_evidence import ANY_DRIFT, LITTLE_DRIFT
from becalm.stats.step_places import interval_of_step
from becalm.stats.step_scan import Scan, SeriesStep, SuitePeers, due, suite_peers

VERSION = 3
"""The version of the rule and of its state; the state of another version cannot be used."""

Arrays = Mapping[str, npt.NDArray[Any]]


class ChangePoint(msgspec.Struct, frozen=True):
    """A step in one series. Positions are rows; `series` is a column, or -1 for the common movement of all.

    - `at`: the first row after it
    - `found`: the row with which it was detected
    - `size`, `low`, `high`: the difference of logarithms and its interval (95 %)
    - `chance`: the expected number of equally clear steps, per commit, in a suite that does not change
    """

    series: int
    at: int
    detected_at: int
    size: float
    low: float
    high: float
    chance: float


class ChangePoints(msgspec.Struct, frozen=True):
    """All changes in the order of their detection.

    - `common`: the common movement of sessions, shape (rows,)
    - `noise`: the standard deviation of a session's value around the common movement, shape (columns,); NaN where
      unknown
    - `lacking`: the rows that a column needs until changes in it can be detected, shape (columns,)
    - `visible`: the smallest step that would be detected within ten rows if it came with the next one, shape
      (columns,); NaN where none would be
    - `strays`: pairs of a row and a column whose value is far from those on both sides of it, which is not a change
    """

    changes: tuple[ChangePoint, ...]
    common: Floats
    noise: Floats
    lacking: npt.NDArray[np.int64]
    visible: Floats
    strays: tuple[tuple[int, int], ...] = ()


class Search:
    """A search over the rows so far. `rate`: false alarms per commit over all columns."""

    _SCAN = (*Scan.TABLES, "counts", "first", "steps", "learned", "core", "white", "stray", "unsure")
    _MODE = ("answer", "share", "base", "last", "latest", "moves", "values", "counts")

    def __init__(self, columns: int, rate: float) -> None:
        self.columns, self.rate = columns, rate
        self.series = columns + (columns >= SUITE)
        self.scan = Scan(columns, LITTLE_DRIFT if columns >= SUITE else ANY_DRIFT)
        self.machine, self.mode = Scan(1), CommonMode(columns)
        self.common: list[float] = []
        self.steps: list[tuple[int, int, SeriesStep]] = []
        self.peers = SuitePeers()

    @property
    def rows(self) -> int:
        """The number of rows so far."""
        return len(self.common)

    @property
    def _share(self) -> float:
        return self.rate / max(1, self.series)

    def take(self, mark: float, values: Floats, errors: Floats) -> None:
        """Add the next row, that of a commit, with values and errors of shape (columns,), as for `change_points`."""
        row = self.rows
        measured = np.flatnonzero(~np.isnan(values))
        has_suite = len(measured) >= SUITE
        if has_suite:
            self.mode.take(values, self.scan, measured)
            self.machine.take(row, mark, np.array([self.mode.now]), np.zeros(1), self.peers.stray)
        self.common.append(self.mode.now)
        self.scan.take(row, mark, values - self.mode.share, errors, self.peers.stray, self.mode.now)
        if due(row):
            self.peers = suite_peers(self.scan, range(self.columns))
        self.steps += [(step.series, row, step) for step in self.scan.look(self.peers, self._share)]
        if has_suite:
            self.steps += [(-1, row, step) for step in self.machine.look(SuitePeers(), self._share)]

    def changes(self) -> ChangePoints:
        """Return the changes in the rows so far."""
        return ChangePoints(
            tuple(self._change_point(column, row, step) for column, row, step in self.steps),
            np.array(self.common),
            self.scan.white,
            self.scan.values_needed(),
            self.scan.visible(self.peers, self._share),
            self.scan.strays(),
        )

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the state as arrays."""
        arrays = {f"scan_{name}": getattr(self.scan, name) for name in self._SCAN}
        arrays |= {f"machine_{name}": getattr(self.machine, name) for name in self._SCAN}
        arrays |= {f"mode_{name}": getattr(self.mode, name) for name in self._MODE}
        steps = [(column, row, step.series, step.place, step.chance) for column, row, step in self.steps]
        return arrays | {
            "kind": np.array([VERSION, self.columns, self.rate, self.mode.now, self.mode.sessions, self.peers.stray]),
            "common": np.array(self.common),
            "found": np.array(steps, np.float64).reshape(-1, 5),
            "residuals": self.peers.residuals.ordered,
        }

    @classmethod
    def of(cls, arrays: Arrays) -> Search:
        """Return the search with this state. Raises KeyError or ValueError for an invalid state."""
        version, columns, rate, now, sessions, stray = arrays["kind"].tolist()
        if version != VERSION:
            raise ValueError(f"The state has version {version:g}, not {VERSION}.")
        search = cls(int(columns), rate)
        for prefix, target, names in (
            ("scan", search.scan, cls._SCAN),
            ("machine", search.machine, cls._SCAN),
            ("mode", search.mode, cls._MODE),
        ):
            for name in names:
                setattr(target, name, arrays[f"{prefix}_{name}"])
        search.mode.now, search.mode.sessions = now, int(sessions)
        search.common = arrays["common"].tolist()
        search.steps = [
            (int(column), int(row), SeriesStep(int(series), int(place), chance))
            for column, row, series, place, chance in arrays["found"].tolist()
        ]
        search.peers = SuitePeers(stray, Residuals(arrays["residuals"]))
        return search

    def _change_point(self, column: int, row: int, step: SeriesStep) -> ChangePoint:
        scan = self.machine if column < 0 else self.scan
        index, place, last = step.series, step.place, int(scan.counts[step.series])
        places = [other.place for index, _, other in self.steps if index == column]
        begin = max((other for other in places if other < place), default=0)
        end = min((other for other in places if other > place), default=last)
        values = scan.values[index]
        size, low, high = interval_of_step(values[begin:place], values[place:end], float(scan.core[index]))
        at = int(scan.rows[index, place])
        return ChangePoint(column, at, row, size, low, high, min(1.0, step.chance * self.series))


def resume_search(values: Floats, marks: Floats, errors: Floats, rate: float, state: Arrays | None = None) -> Search:
    """Return the search over all rows, shape (rows, columns), continued from a state that has processed the first of
    them."""
    search = Search(values.shape[1], rate) if state is None else Search.of(state)
    for row in range(search.rows, len(values)):
        search.take(float(marks[row]), values[row], errors[row])
    return search
