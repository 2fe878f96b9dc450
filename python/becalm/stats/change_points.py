"""When did a benchmark change? Steps in series of sittings, with a rate of false alarms over a whole suite.

Values are logarithms of times, one row a sitting, in the order of the commits; NaN where a benchmark was not measured.
`change_points` goes through them as they came in and looks at nothing later, so that a change once found stays found:

1. What all benchmarks of a sitting have in common (a warmer room, a busier neighbour) is taken away where at least
   `SUITE` of them were measured, and is a series itself (`becalm.stats.common_mode`).
2. A step at row k is the level of 3, 4, 6 or 10 values from k on (`LOOKS`) against that of up to 6, 12 or 30 before it:
   of these the reach with which such steps varied least in the past. Of five values after it at least four must lie
   beyond a third of it.
3. Three things must be unlikely without it. Its size, against its standard deviation (Student's t). The likelihood of
   one level instead of two, where values are normal but for a share that strays (`becalm.stats.contaminated`): so
   single bad sittings never make a step, nor hide one. And that so many values lie in a row where few of the past did,
   whatever their distribution (`becalm.stats.exceedance`).
4. The standard deviation is that of white noise, from successive differences, times a factor: how much more such
   steps varied in the past of the same series. Drift of any kind raises it. It rests on few independent windows, so
   that the other benchmarks moderate it (`becalm.stats.moderation`). A move of the machine that is larger than usual
   adds what is not known of how far the benchmark answers to it.
5. While little is known of drift, as much of it is supposed as differences allow (`becalm.stats.random_walk`): what is
   larger is a step from the tenth value on. And a series that has shown none yet is looked back at a few times
   (`BACK`), since a step among its first values was there before its noise was known; only steps that have nothing to
   do with that one say what is noise then.
6. `rate` false alarms per commit are spent in equal parts on the benchmarks, and by `SHARES` on the looks (Bonferroni).

`bench/history.py` holds it to its rate on noisy and drifting machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats
from becalm.stats.arrays import level as checked
from becalm.stats.common_mode import SUITE, CommonMode
from becalm.stats.exceedance import Residuals
from becalm.stats.moderation import Prior, prior_of
from becalm.stats.step_scan import EVERY, LOOKS, REACHES, SETTLED, Peers, Scan

RATE = 5e-4
"""False alarms per commit that are aimed at, over all benchmarks: half of one in a thousand."""

_ALONE = Peers()


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
    suite, shared, mode = [Scan() for _ in range(columns)], Scan(), CommonMode(columns)
    common = np.zeros(rows)
    found: list[tuple[int, int, int, float]] = []
    peers = _ALONE
    for row in range(rows):
        there = np.flatnonzero(~np.isnan(y[row])).tolist()
        together = len(there) >= SUITE
        if together:
            mode.take(y[row], suite, there)
            shared.take(row, float(marks[row]), mode.now, 0.0, peers.stray)
        common[row] = mode.now
        for i in there:
            suite[i].take(
                row, float(marks[row]), float(y[row, i]) - mode.share(i), float(own[row, i]), peers.stray, mode.now
            )
        if row % (EVERY if row <= SETTLED else 3 * EVERY) == 0:
            peers = Peers(_priors(suite), _stray(suite), _residuals(suite))
        for i in there:
            if (step := suite[i].look(peers, share) or suite[i].look_back(peers, share)) is not None:
                found.append((i, row, *step))
        if together and (step := shared.look(_ALONE, share) or shared.look_back(_ALONE, share)) is not None:
            found.append((-1, row, *step))
    return ChangePoints(
        tuple(_sized(shared if each[0] < 0 else suite[each[0]], each, found, series) for each in found),
        common,
        np.array([each.white for each in suite]),
        np.array([each.lacking for each in suite], np.int64),
        np.array([each.visible(peers, share) for each in suite]),
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


def _priors(suite: Sequence[Scan]) -> Sequence[Sequence[Prior]]:
    """What the benchmarks say of each other's factors, for each look and reach."""
    return [[_prior(suite, index, reach) for reach in range(len(REACHES))] for index in range(len(LOOKS))]


def _prior(suite: Sequence[Scan], index: int, reach: int) -> Prior:
    factors = [each.factors[index][reach] for each in suite]
    known = [each for each in factors if each[1] and each[0] > 0]
    return prior_of([value for value, _ in known], [freedom for _, freedom in known])


def _stray(suite: Sequence[Scan]) -> float:
    """Share of stray values in the suite; the usual one while nothing is known."""
    known = [each.noise.stray for each in suite if each.white > 0 and each.noise.core > 0]
    return sum(known) / len(known) if known else _ALONE.stray


def _residuals(suite: Sequence[Scan]) -> Residuals:
    """Distances of all past values from the levels before them."""
    return Residuals.of([each.residuals() for each in suite if each.white > 0 and each.noise.core > 0])


def _sized(
    scan: Scan, step: tuple[int, int, int, float], steps: Sequence[tuple[int, int, int, float]], series: int
) -> ChangePoint:
    column, row, place, p = step
    ends = [each[2] for each in steps if each[0] == column and each[2] > place]
    begins = [each[2] for each in steps if each[0] == column and each[2] < place]
    size, low, high = scan.interval(place, max(begins, default=0), min(ends, default=len(scan.values)))
    return ChangePoint(column, scan.rows[place], row, size, low, high, min(1.0, p * series))
