"""When did a benchmark change? Steps in series of sessions, with a rate of false alarms over a whole suite.

Values are logarithms of times, one row a session, in the order of the commits; NaN where a benchmark was not measured.
`change_points` goes through them as they came in and looks at nothing later, so that a change once found stays found:

1. What all benchmarks of a session have in common (a warmer room, a busier neighbour) is taken away where at least
   `SUITE` of them were measured, and is a series itself (`becalm.stats.common_mode`).
2. A step at row k is the level of 3, 4, 6, 10 or 20 values from k on (`LOOKS`) against that of up to 30 before it. The
   evidence for it is how much likelier such values are with a step than without, whatever noise and drift may be
   (`becalm.stats.step_evidence`). In a suite drift is what remains of the machine's, and small; what a benchmark does
   beyond that by itself is what commits do.
3. Values that stray are bounded before (`Scan.bounded`), and a step's values must lie in a row where few of the past
   did, whatever their distribution (`becalm.stats.exceedance`): so single bad sessions never make a step, nor hide one.
4. A step lies where the values fit two levels best, and its interval is of bounded values (`becalm.stats.step_places`).
5. `rate` false alarms per commit are spent in equal parts on the benchmarks (Bonferroni).

`bench/history.py` holds it to its rate on noisy and drifting machines, `bench/replay.py` tries it on public data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats
from becalm.stats.arrays import level as checked
from becalm.stats.common_mode import SUITE, CommonMode
from becalm.stats.step_evidence import ANY_DRIFT, LITTLE_DRIFT
from becalm.stats.step_places import interval_of_step
from becalm.stats.step_scan import Peers, Scan, Step, due, shared

RATE = 5e-4
"""False alarms per commit that are aimed at, over all benchmarks: half of one in a thousand."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A step in one series. Positions are rows; `series` is a column, -1 is what all have in common.

    `at`: first row after it; `found`: the row with which it was seen. `size`, `low`, `high`: difference of logarithms
    and its interval (95 %). `chance`: as clear steps per commit in a suite that does not change.
    """

    series: int
    at: int
    found: int
    size: float
    low: float
    high: float
    chance: float


@dataclass(frozen=True, slots=True)
class ChangePoints:
    """All changes in the order in which they were found. `common`: what sittings had in common, shape (rows,).

    `noise`: standard deviation of a sitting's value beside that, shape (columns,); NaN where unknown. `lacking`: rows
    that a column needs until changes in it can be seen, shape (columns,). `visible`: the least step that would be seen
    within ten rows if it came with the next one, shape (columns,); NaN where none would be.
    """

    changes: tuple[ChangePoint, ...]
    common: Floats
    noise: Floats
    lacking: npt.NDArray[np.int64]
    visible: Floats


def change_points(
    values: npt.ArrayLike,
    commits: npt.ArrayLike | None = None,
    errors: npt.ArrayLike | None = None,
    rate: float = RATE,
) -> ChangePoints:
    """Find the steps of all columns.

    Arguments:
        values: logarithms, shape (rows, columns) or (rows,); NaN for what was not measured.
        commits: which commit each row is of, equal for rows of one; a step lies between two commits. Shape (rows,).
        errors: standard errors within each sitting, as `values`; sittings that are known worse count as such.
        rate: false alarms per commit over all columns.

    Raises ValueError for shapes that do not fit, infinite values, negative errors, or a rate that is none.
    """
    y, own, marks = _given(values, commits, errors)
    rows, columns = y.shape
    series = columns + (columns >= SUITE)
    share = checked(rate) / max(1, series)
    scan = Scan(columns, LITTLE_DRIFT if columns >= SUITE else ANY_DRIFT)
    machine, mode = Scan(1), CommonMode(columns)
    common = np.zeros(rows)
    found: list[tuple[int, int, Step]] = []
    peers, alone = Peers(), Peers()
    for row in range(rows):
        there = np.flatnonzero(~np.isnan(y[row]))
        together = len(there) >= SUITE
        mark = float(marks[row])
        if together:
            mode.take(y[row], scan, there)
            machine.take(row, mark, np.array([mode.now]), np.zeros(1), peers.stray)
        common[row] = mode.now
        scan.take(row, mark, y[row] - mode.share, own[row], peers.stray, mode.now)
        if due(row):
            peers = shared(scan, range(columns))
        found += [(step.series, row, step) for step in scan.look(peers, share)]
        if together:
            found += [(-1, row, step) for step in machine.look(alone, share)]
    return ChangePoints(
        tuple(_sized(machine if column < 0 else scan, column, row, step, found, series) for column, row, step in found),
        common,
        scan.white,
        scan.lacking(),
        scan.visible(peers, share),
    )


def _given(values: object, commits: object, errors: object) -> tuple[Floats, Floats, Floats]:
    y = np.asarray(values, np.float64)
    y = y[:, None] if y.ndim == 1 else y
    own = np.zeros_like(y) if errors is None else np.asarray(errors, np.float64)
    own = np.nan_to_num(own[:, None] if own.ndim == 1 else own)
    marks = np.arange(len(y), dtype=np.float64) if commits is None else np.asarray(commits, np.float64)
    if y.ndim != 2 or marks.shape != y.shape[:1] or own.shape != y.shape:
        raise ValueError(
            f"Values of the shape {y.shape} need as many errors, not {own.shape}, and a commit for each row, not "
            f"{marks.shape}."
        )
    if np.isinf(y).any() or np.isinf(own).any() or (own < 0).any():
        raise ValueError("Only finite values, and errors that are not negative, can be analysed.")
    return y, own, marks


def _sized(
    scan: Scan, column: int, row: int, step: Step, found: Sequence[tuple[int, int, Step]], series: int
) -> ChangePoint:
    own, place, last = step.series, step.place, int(scan.counts[step.series])
    places = [other.place for index, _, other in found if index == column]
    begin = max((other for other in places if other < place), default=0)
    end = min((other for other in places if other > place), default=last)
    values = scan.values[own]
    size, low, high = interval_of_step(values[begin:place], values[place:end], float(scan.core[own]))
    return ChangePoint(column, int(scan.rows[own, place]), row, size, low, high, min(1.0, step.chance * series))
