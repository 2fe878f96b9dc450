"""Steps in series of sessions: when a benchmark changed, with a rate of false alarms over a whole suite.

Values are logarithms of times, one row for each session, in the order of the commits; NaN where a benchmark was not
measured. `change_points` processes them in the order of arrival and never uses later rows, so that a change once
detected stays detected:

1. The common movement of all benchmarks of a session (a warmer room, a busier neighbour) is subtracted where at least
   `SUITE` of them were measured, and is a series itself (`becalm.stats.common_mode`).
2. A step at row k is the level of 3, 4, 6, 10 or 20 values from k on (`LOOKS`) against that of up to 30 before it. The
   evidence for it is the likelihood ratio of such values with a step and without, whatever noise and drift may be
   (`becalm.stats.step_evidence`). In a suite drift is only what remains of the machine's, and small; further changes
   of a benchmark are caused by commits.
3. Values that stray are bounded before (`Scan.bounded`), and a step's successive values must all lie where few past
   values did, whatever their distribution is (`becalm.stats.exceedance`). So single bad sessions never make a step, nor
   hide one.
4. A step lies where the values fit two levels best, and its interval is of bounded values (`becalm.stats.step_places`).
5. `rate` false alarms per commit are spent in equal parts on the benchmarks (Bonferroni).

`bench/history.py` measures this rate on noisy and drifting machines, `bench/replay.py` tries it on public data.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats
from becalm.stats.arrays import level as checked
from becalm.stats.change_search import ChangePoint, ChangePoints, resume_search

__all__ = ["RATE", "ChangePoint", "ChangePoints", "change_points"]

RATE = 5e-4
"""The default rate of false alarms per commit, over all benchmarks: half of one in a thousand."""


def change_points(
    values: npt.ArrayLike,
    commits: npt.ArrayLike | None = None,
    errors: npt.ArrayLike | None = None,
    rate: float = RATE,
) -> ChangePoints:
    """Return the steps of all columns.

    Arguments:
        values: logarithms, shape (rows, columns) or (rows,); NaN for sessions without a measurement.
        commits: the commit of each row, equal for rows of one commit; a step lies between two commits. Shape (rows,).
        errors: standard errors within each session, as `values`; sessions that are known worse count less.
        rate: false alarms per commit over all columns.

    Raises ValueError for shapes that do not fit, infinite values, negative errors, or a rate outside 0…1.
    """
    y, session_errors, marks = _checked_arrays(values, commits, errors)
    return resume_search(y, marks, session_errors, checked(rate)).changes()


def _checked_arrays(values: object, commits: object, errors: object) -> tuple[Floats, Floats, Floats]:
    y = np.asarray(values, np.float64)
    y = y[:, None] if y.ndim == 1 else y
    session_errors = np.zeros_like(y) if errors is None else np.asarray(errors, np.float64)
    session_errors = np.nan_to_num(session_errors[:, None] if session_errors.ndim == 1 else session_errors)
    marks = np.arange(len(y), dtype=np.float64) if commits is None else np.asarray(commits, np.float64)
    if y.ndim != 2 or marks.shape != y.shape[:1] or session_errors.shape != y.shape:
        raise ValueError(
            f"Values of shape {y.shape} need errors of the same shape, not {session_errors.shape}, and one commit "
            f"for each row, not {marks.shape}."
        )
    if np.isinf(y).any() or np.isinf(session_errors).any() or (session_errors < 0).any():
        raise ValueError("Only finite values, and errors that are not negative, can be analysed.")
    return y, session_errors, marks
