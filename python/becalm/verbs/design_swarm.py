"""`becalm design swarm`: parameters of a particle swarm from a designed experiment on simulated searches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np
from msgspec.structs import replace

from becalm.analysis.design_fit import fit
from becalm.analysis.design_response import response_fit
from becalm.designs.sheet import read
from becalm.errors import UsageError
from becalm.hosts.simulated.responses import RESPONSES, TimeModel, model
from becalm.nouns.goal import Goal
from becalm.nouns.option import parse_keywords, refuse_unknown
from becalm.nouns.options.design import FitOptions, SwarmDesignOptions
from becalm.nouns.search_space import Space
from becalm.nouns.signature import takes
from becalm.nouns.swarm import SwarmParameters
from becalm.results.design_fit import DesignFit
from becalm.stats.arrays import Floats
from becalm.tuning.swarm_design import RESPONSE, Searching, better, fill_design, losses
from becalm.verbs.design import content
from becalm.wording.design import swarm_parameters

if TYPE_CHECKING:
    from becalm.verbs.keywords import DesignSwarmKeywords

CHECKED = 1_000_000
"""Seeds of the fresh searches that compare the fitted with the usual parameters; the design uses none of them."""


@takes(SwarmDesignOptions)
def design_swarm(file: str | Path | None = None, **keywords: Unpack[DesignSwarmKeywords]) -> DesignFit:
    """Find parameters of a particle swarm: a Box-Behnken design of them, whose runs are simulated searches.

    Arguments:
        file: comma-separated values of a completed design, whose fitted surface is searched; without it, the models.

    Returns a DesignFit of R* + I*: what searches miss of what could be gained, and the share of their trials after
    which they miss no more than a fifth. Its sentence has the parameters to use with `becalm tune --method swarm`.
    Raises UsageError for a file that cannot be read or a surface on which there is nothing to gain.
    """
    refuse_unknown(keywords, SwarmDesignOptions)
    options = SwarmDesignOptions(**parse_keywords(SwarmDesignOptions, keywords))
    searching = Searching(_worlds(file, options), options.noise, options.evaluations, options.searches)
    sheet = fill_design(searching, options.seed)
    fitting = FitOptions(model="quadratic", goals={RESPONSE: Goal()}, confidence=options.confidence, seed=options.seed)
    design_fit = fit(sheet, str(file) if file is not None else ", ".join(options.models or _names()), fitting)
    best = design_fit.responses[0].best
    if best is None:
        return design_fit
    omega, phi_p, phi_g = (round(float(level), 3) for level in best.at.levels)
    chosen = SwarmParameters(omega, phi_p, phi_g, evaluations=options.evaluations)
    usual = replace(SwarmParameters(), evaluations=options.evaluations)
    first = CHECKED + options.seed
    fresh = [losses(parameters, searching, first, first) for parameters in (chosen, usual)]
    means = [tuple(loss.mean(axis=0)) for loss in fresh]
    sentence = swarm_parameters(design_fit.sentence, chosen, *means, better=better(*fresh))
    return replace(design_fit, sentence=sentence)


def _names() -> tuple[str, ...]:
    return tuple(row.name for row in RESPONSES)


def _worlds(file: str | Path | None, options: SwarmDesignOptions) -> Callable[[int], TimeModel]:
    """Return the function that makes the model of a seed."""
    if file is not None:
        if options.models:
            raise UsageError("A file and --model contradict each other: the surface of the file is what is searched.")
        world = _surface(Path(file), options)
        return lambda _: world
    names = options.models or _names()
    for name in names:
        model(name, options.dimensions, 0)
    return lambda seed: model(names[seed % len(names)], options.dimensions, seed)


def _surface(file: Path, options: SwarmDesignOptions) -> TimeModel:
    """Return the surface of the first response of a completed design; its default is the centre of the ranges."""
    sheet = read(content(file), str(file), (), ())
    name = next(iter(sheet.responses))
    fitted, _, response = response_fit(sheet, name, Goal(), FitOptions(confidence=options.confidence))
    centre = np.array([0.0] * len(sheet.factors))

    def value(place: Floats) -> float:
        return float(response.back(response.surface.predict(place[None, :]))[0])

    lowest = fitted.best.at.value if fitted.best is not None else value(centre)
    most = 1 - lowest / value(centre)
    if not 0 < most < 1:
        raise UsageError(
            f"The surface of {name} in {file} is nowhere better than at its centre, or is not above 0, so a search "
            "cannot be tried on it."
        )
    return TimeModel(Space((), factors=sheet.factors), lambda place: value(place) - lowest, centre, most)
