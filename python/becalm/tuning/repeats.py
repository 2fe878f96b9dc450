"""The number of runs in each trial of a search for times, by the noise of single runs and the available runs.

A trial of r runs has the error noise / sqrt(r). A surface learns about as much from many rough trials as from few
precise ones, as long as each trial is informative. So trials are repeated until they are, but not so often that the
search would have fewer trials than without a limit. Runs beyond `MOST` trials make the trials more precise. If runs
hardly differ, these trials are enough, even if there is more time.
"""

from __future__ import annotations

import math

from msgspec.structs import replace
from scipy.special import chdtri

from becalm.methods import method as method_row
from becalm.methods.protocol import TrialDesign
from becalm.methods.sequential import MOST
from becalm.nouns.options.tune import TuneOptions

TELLING = 0.3
"""The largest error of an informative trial, a share of its mean."""

ENOUGH = 0.02
"""The noise of single runs up to which the trials of an unlimited search are enough; above it, their number grows with
its square."""

UNLIMITED = 10
"""The largest number of runs of a trial in a search without a limit."""


UNSURE = 0.2
"""The chance that noise is larger than the upper bound, which is used because few runs often underestimate it."""


def upper_noise(noise: float, freedom: int) -> float:
    """Return the upper bound of noise, exceeded with a chance of `UNSURE` (chi-squared; normal values).

    `noise`: the estimate, with `freedom` degrees of freedom.
    """
    if freedom < 1 or not noise > 0:
        return noise
    return noise * math.sqrt(freedom / float(chdtri(freedom, 1 - UNSURE)))


def with_repeats(rule: TrialDesign, options: TuneOptions, noise: float) -> TrialDesign:
    """Return the rule with the number of runs in a trial that the noise of single runs requires.

    `noise`: a share of the mean. Numbers of runs and loops that the options set are kept, and so are all rules of
    searches for anything but times.
    """
    row = method_row(options.method)
    own = options.runs in (None, row.rule.runs) and options.loops in (None, row.rule.loops)
    if options.minimize != "time" or not own or not noise > 0:
        return rule
    base, more = row.trials
    wanted = math.ceil((noise / TELLING) ** 2)
    if rule.most_runs is None:
        return replace(rule, runs=max(rule.runs, min(wanted, UNLIMITED)))
    trials = min(base + more * len(options.allowed.space.factors), MOST)
    most = min(rule.most_runs, math.ceil(trials * max(1.0, noise / ENOUGH) ** 2))
    runs = max(math.ceil(most / MOST), min(wanted, most // trials))
    return replace(rule, runs=max(rule.runs, runs), most_runs=most)
