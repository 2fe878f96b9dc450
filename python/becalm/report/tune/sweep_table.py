"""The curve of a sweep as a table: the spread at each value, with its interval and a bar."""

from __future__ import annotations

import math

from scipy.special import chdtri

from becalm.report.table import Table
from becalm.results.tune import Trial, TuneVerdict
from becalm.results.tune_arms import SWEEP
from becalm.wording.tune import share, value_text

WIDTH = 20
"""The length of the longest bar in characters."""


def curve(verdict: TuneVerdict) -> Table:
    """Return the table of the curve; without rows where nothing was swept."""
    trials = [trial for trial in verdict.trials if trial.spread is not None] if verdict.method == SWEEP else []
    most = max((trial.spread or 0.0 for trial in trials), default=0.0)
    rows = tuple(
        (
            _value(trial),
            share(trial.spread or 0.0),
            _interval(trial, 1 - verdict.confidence),
            "█" * max(1, round(WIDTH * (trial.spread or 0.0) / most)) if most else "",
        )
        for trial in trials
    )
    name = next((knob for trial in trials for knob in trial.settings), "")
    note = (
        "Spread at each value in the runs of the sweep, which chose by it; the interval is that of normal values. "
        "What is recommended was confirmed on fresh runs."
    )
    return Table(f"Along {name}", ("value", "spread", f"{100 * verdict.confidence:g} %", ""), rows, (1, 2), note)


def _value(trial: Trial) -> str:
    return next((value_text(value) for value in trial.settings.values()), "as it is")


def _interval(trial: Trial, alpha: float) -> str:
    """Return the interval of a standard deviation (chi-square); one run per loop is used up by the loop's mean."""
    freedom = max(1, trial.runs - max(1, trial.runs // 6))
    spread = trial.spread or 0.0
    low, high = (spread * math.sqrt(freedom / float(chdtri(freedom, at))) for at in (alpha / 2, 1 - alpha / 2))
    return f"{share(low)} to {share(high)}"
