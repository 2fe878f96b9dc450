"""The slowdown of programs that run at the same time, from successive groups of runs in turns and at once."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from becalm.stats.arrays import Floats
from becalm.stats.huber import location


def slowdown(levels: Floats, at_once: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Return the slowdown at the same time and its standard error, in log units; NaN while they are not known.

    `levels`: mean natural logarithm of the times of each group, programs counting equally; `at_once`: its kind; both of
    shape (groups,), in order of time. Each group of the rarer kind is compared with its nearest neighbours of the other
    kind, before and after it, so that slow drift is not a slowdown; the result is Huber's location of these
    differences.
    """
    mostly_at_once = 2 * int(at_once.sum()) > len(at_once)
    rare = ~at_once if mostly_at_once else at_once
    places, others = np.flatnonzero(rare), np.flatnonzero(~rare)
    if len(places) < 2 or len(others) == 0:
        return math.nan, math.nan
    after = np.searchsorted(others, places)
    nearest = (levels[others[np.maximum(after - 1, 0)]] + levels[others[np.minimum(after, len(others) - 1)]]) / 2
    centre = location(levels[places] - nearest)
    error = float(centre.influence.std(ddof=1)) / math.sqrt(len(places))
    return (-centre.estimate if mostly_at_once else centre.estimate), error
