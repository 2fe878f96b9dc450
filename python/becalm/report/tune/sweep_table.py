"""The curve of a sweep as a table: the spread at each value, with its interval and a bar."""

from __future__ import annotations

import math

from scipy.special import chdtri

from becalm.nouns.tune_verdict import Trial, TuneVerdict
from becalm.nouns.tuned_arm import SWEEP
from becalm.report.table import Table
from becalm.wording.tune import share, value_text

WIDTH = 20
"""Characters of the longest bar."""


def curve(found: TuneVerdict) -> Table:
    """Return the curve; without rows where nothing was swept."""
    trials = [each for each in found.trials if each.spread is not None] if found.method == SWEEP else []
    most = max((each.spread or 0.0 for each in trials), default=0.0)
    rows = tuple(
        (
            _value(each),
            share(each.spread or 0.0),
            _interval(each, 1 - found.confidence),
            "█" * max(1, round(WIDTH * (each.spread or 0.0) / most)) if most else "",
        )
        for each in trials
    )
    name = next((knob for each in trials for knob in each.settings), "")
    note = (
        "Spread at each value, of the runs of the sweep, which chose by it; the interval is that of normal values. "
        "What is recommended was confirmed on fresh runs."
    )
    return Table(f"Along {name}", ("value", "spread", f"{100 * found.confidence:g} %", ""), rows, (1, 2), note)


def _value(trial: Trial) -> str:
    return next((value_text(value) for value in trial.settings.values()), "as it is")


def _interval(trial: Trial, alpha: float) -> str:
    """Return the interval of a standard deviation (chi-square); about a run a loop goes into its mean."""
    freedom = max(1, trial.runs - max(1, trial.runs // 6))
    spread = trial.spread or 0.0
    low, high = (spread * math.sqrt(freedom / float(chdtri(freedom, at))) for at in (alpha / 2, 1 - alpha / 2))
    return f"{share(low)} to {share(high)}"
