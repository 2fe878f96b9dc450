"""The method `surface`: the fastest settings by a response surface fitted to few runs, which `--design` chooses.

Response surface methodology: Box & Wilson 1951 (J. R. Stat. Soc. B 13:1); Anderson 2013 for schedulers. `sequential`
learns the surface again after each run (`becalm.methods.sequential`). `composite` first measures a whole design, as the
source does (`becalm.methods.response_surface`); studies of becalm 0.1 continue with it.
"""

from __future__ import annotations

import numpy as np

from becalm.methods.protocol import NO_SETTINGS, Choice, Forecast, SearchGenerator, TrialDesign
from becalm.methods.response_surface import composite
from becalm.methods.sequential import count_requests, sequential
from becalm.nouns.options.tune import DESIGNS
from becalm.nouns.search_space import Space

SEARCHES = dict(zip(DESIGNS, (sequential, composite), strict=True))


def surface(space: Space, rule: TrialDesign, rng: np.random.Generator, *, design: str = DESIGNS[0]) -> SearchGenerator:
    """Return the search of the method; see the module."""
    if not space.factors:
        return Choice(NO_SETTINGS, "There is nothing to vary: no setting of this host has a range or choices.")
    return (yield from SEARCHES[design](space, rule, rng))


def forecast(space: Space, rule: TrialDesign, *, design: str = DESIGNS[0]) -> Forecast | None:
    """Return the forecast; None for a composite design, whose runs depend on its models, and if there are choices.

    With choices the first places may coincide.
    """
    if SEARCHES[design] is not sequential or any(factor.categorical for factor in space.factors):
        return None
    return count_requests(len(space.factors), rule)
