"""A sweep: one setting at values over its whole range, each in the same loops as the machine as it is.

The answer is a curve of the spread over the values (as in Jung 2020, appendix A.1, for stat_interval from 1 to 1,000
s). The value with the least spread is chosen if it is below that of the machine as it is, and then confirmed like any
other choice.
"""

from __future__ import annotations

import numpy as np

from becalm.methods.protocol import NO_SETTINGS, Ask, Choice, SearchGenerator, TrialDesign
from becalm.nouns.factor import Factor
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings

PLACES = 9
"""The number of values of a range, both ends included, at equal distances on its scale."""

FEWEST_LOOPS, MOST_LOOPS = 2, 12
"""The bounds of the number of loops; a single loop estimates a spread only to about a third."""


def places(factor: Factor, space: Space) -> tuple[Settings, ...]:
    """Return the settings of a sweep, each once; a range of few whole numbers has fewer than PLACES."""
    if factor.categorical:
        return tuple(Settings.of({factor.name: choice}) for choice in factor.choices)
    levels = (factor.natural(float(at)) for at in np.linspace(-1, 1, PLACES))
    return tuple(dict.fromkeys(space.at({factor.name: level}) for level in levels))


def sweep(space: Space, rule: TrialDesign, rng: np.random.Generator) -> SearchGenerator:
    """Sweep the only factor of a space."""
    del rng
    (factor,) = space.factors
    arms = (NO_SETTINGS, *places(factor, space))
    loops = MOST_LOOPS
    if rule.most_runs is not None:
        loops = min(MOST_LOOPS, (rule.most_runs // len(arms) - rule.warmup_runs) // rule.runs)
    if loops < FEWEST_LOOPS:
        return Choice(NO_SETTINGS, f"There was too little time for a sweep of {factor.name}. Raise --budget.")
    samples = yield Ask(arms, loops, rule.runs, rule.warmup_runs, f"a sweep of {factor.name}")
    spreads = [sample.value(rule.objective) for sample in samples]
    best = int(np.argmin(spreads))
    basis = f"a sweep of {factor.name} over {len(arms) - 1} values, {loops} loops each"
    if not spreads[best] < spreads[0]:
        return Choice(NO_SETTINGS, f"No value varies less than the machine as it is in {basis}.")
    return Choice(arms[best], f"The value with the least spread in {basis}.")
