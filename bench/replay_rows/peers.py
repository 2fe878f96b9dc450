"""Change-point rules of other projects; None in place of a result where the project is not installed.

Apache Otava (`apache-otava`, https://otava.apache.org) and ruptures (https://github.com/deepcharles/ruptures) come with
`pip install 'becalm[replay]'`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module, util

import numpy as np

from becalm.stats.arrays import Floats

Rule = Callable[[Floats], list[int]]
"""Positions of the first values after each change of a series, shape (n,)."""


def otava(level: float) -> Rule | None:
    """Return Otava's rule with this significance level (its default is 0.001)."""
    if util.find_spec("otava") is None:
        return None
    analysis = import_module("otava.analysis")

    def rule(values: Floats) -> list[int]:
        # Otava divides by a standard deviation: of constant values it makes a warning and no change.
        if len(values) < 4 or np.ptp(values) == 0:
            return []
        with np.errstate(all="ignore"):
            changes, _ = analysis.compute_change_points(values.tolist(), max_pvalue=level)
        return [int(change.index) for change in changes]

    return rule


def pelt(penalty: float, standardise: bool = False) -> Rule | None:
    """Return PELT for a normal mean (Killick et al. 2012) with this many times log n as its penalty.

    The scale is the standard deviation of the whole series when it is to be standardised, else that of white noise from
    the median of its successive differences.
    """
    if util.find_spec("ruptures") is None:
        return None
    ruptures = import_module("ruptures")

    def rule(values: Floats) -> list[int]:
        if len(values) < 4:
            return []
        noise = float(np.median(np.abs(np.diff(values)))) / 0.6745 / math.sqrt(2)
        scale = float(values.std()) if standardise else noise
        if not scale > 0:
            return []
        search = ruptures.Pelt(model="l2", min_size=2, jump=1).fit(values[:, None] / scale)
        return [int(end) for end in search.predict(pen=penalty * math.log(len(values)))[:-1]]

    return rule


def rules() -> Sequence[tuple[str, Rule | None]]:
    """Return the peers with their defaults and one tuned setting each."""
    return (
        ("Otava, p < 0.001 (default)", otava(0.001)),
        ("Otava, p < 0.00001 (tuned)", otava(1e-5)),
        ("PELT, penalty 2 log n (default)", pelt(2.0)),
        ("PELT, standardised, 3 log n (tuned)", pelt(3.0, standardise=True)),
    )
