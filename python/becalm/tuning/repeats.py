"""Repeats of each trial of a search for times: by the noise of single runs, and by the runs that there are.

A trial of r runs has the error noise / sqrt(r). A surface learns from many rough trials about as much as from few
precise ones, as long as each tells something: so trials are repeated until they do, but no more often than leaves the
search the trials that it makes where nothing limits it. What runs are left beyond `MOST` trials makes them more
precise. Where runs hardly differ, those trials are enough, whatever time there is.
"""

from __future__ import annotations

import math
from dataclasses import replace

from scipy.special import chdtri

from becalm.methods import method as method_row
from becalm.methods.protocol import TrialDesign
from becalm.methods.sequential import MOST
from becalm.nouns.options.tune import TuneOptions

TELLING = 0.3
"""The error of a trial that tells something, a share of its mean."""

ENOUGH = 0.02
"""Noise of single runs with which the trials of an unlimited search are enough; more noise takes more of them, by the
square."""

UNLIMITED = 10
"""Runs of a trial, at most, where nothing limits the search."""


UNSURE = 0.2
"""The chance that noise is larger than it is taken to be: of few runs it is often seen too small."""


def at_most(noise: float, freedom: int) -> float:
    """Return the noise that is not exceeded but with a chance of `UNSURE`, from that seen with so many degrees of
    freedom (chi-square; normal values)."""
    if freedom < 1 or not noise > 0:
        return noise
    return noise * math.sqrt(freedom / float(chdtri(freedom, 1 - UNSURE)))


def repeated(rule: TrialDesign, options: TuneOptions, noise: float) -> TrialDesign:
    """Return the rule with as many runs a trial as the noise of single runs asks for, a share of their mean.

    Other runs and loops than the method's own, which a person asked for, stay; so does a search for something else than
    times.
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
