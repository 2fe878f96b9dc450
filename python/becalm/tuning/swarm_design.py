"""The optimisation of a swarm's parameters by a designed experiment on its searches, as in Anderson 2013, chapter 5.

The factors are omega, phi_p and phi_g, the design is Box and Behnken's with 14 runs, and a run is a number of whole
searches with these parameters. The response R* + I*, a mean over all searches, is minimised: R* is the share of the
possible gain that the choice misses; I* is the share of the trials after which it permanently misses at most a fifth,
or 1 if it never does. The filled worksheet is fitted like that of any other experiment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import msgspec
import numpy as np

from becalm.designs.assemble import assemble
from becalm.designs.sheet import Sheet
from becalm.hosts.simulated.responses import TimeModel
from becalm.methods import method
from becalm.methods.protocol import NO_SETTINGS, Sample, SearchRun
from becalm.methods.swarm import swarm
from becalm.nouns.factor import Factor
from becalm.nouns.options.design import DesignOptions
from becalm.nouns.swarm import SwarmParameters
from becalm.stats.arrays import Floats

FACTORS = (Factor("omega", 0.0, 0.9), Factor("phi_p", 0.0, 4.0), Factor("phi_g", 0.0, 4.0))
"""The published levels: 0, 0.45, 0.9 and 0, 2, 4."""

CENTRE = 2
"""The number of centre points, for 14 runs in all."""

RESPONSE = "loss"

ENOUGH = 0.2
"""The share of the possible gain that a good choice may miss."""


class Searching(msgspec.Struct, frozen=True):
    """The searches of a run. `draw`: makes the model of a seed; `noise`: a share; `evaluations`: trials of each."""

    draw: Callable[[int], TimeModel]
    noise: float
    evaluations: int
    searches: int


def conduct(parameters: SwarmParameters, world: TimeModel, noise: float, seed: int) -> tuple[float, float]:
    """Return R* and I* of one search on a model."""
    search = SearchRun(
        lambda space, rule, rng: swarm(space, rule, rng, parameters=parameters), world.space, method("swarm").rule, seed
    )
    rng, trials, choices = np.random.default_rng([seed, 3]), 0, [(0, NO_SETTINGS)]
    while search.ask is not None:
        ask = search.ask
        errors = noise * rng.standard_normal((len(ask.arms), ask.loops, ask.runs))
        times = [
            1e9 * world.seconds(arm) * np.exp(factors_of_noise)
            for arm, factors_of_noise in zip(ask.arms, errors, strict=True)
        ]
        search.tell([Sample(arm, tuple(loops)) for arm, loops in zip(ask.arms, times, strict=True)])
        trials += len(ask.arms) - 1
        choices.append((trials, search.ask.best if search.ask is not None else NO_SETTINGS))
    assert search.choice is not None
    choices[-1] = (trials, search.choice.settings)
    missed = [1 - world.gain(chosen) / world.most for _, chosen in choices]
    bad = max(index for index, miss in enumerate(missed) if miss > ENOUGH)
    late = choices[bad + 1][0] / parameters.evaluations if bad + 1 < len(choices) else 1.0
    return missed[-1], late


def losses(parameters: SwarmParameters, searching: Searching, first: int, worlds: int = 0) -> Floats:
    """Return R* and I* of all searches, shape (searches, 2).

    `first`: the seed of the first search; `worlds`: the seed of its model.
    """
    return np.array(
        [
            conduct(parameters, searching.draw(worlds + number), searching.noise, first + number)
            for number in range(searching.searches)
        ]
    )


def better(own: Floats, usual: Floats) -> bool:
    """Return whether R* + I* is smaller than usual by two standard errors, by pairs of searches on the same models."""
    saved = usual.sum(axis=1) - own.sum(axis=1)
    return float(saved.mean()) > 2 * float(saved.std(ddof=1)) / math.sqrt(len(saved)) if len(saved) > 1 else False


def fill_design(searching: Searching, seed: int) -> Sheet:
    """Return the design with the response of each of its runs."""
    design = assemble("box-behnken", FACTORS, replace(DesignOptions(), centre=(CENTRE, None)), seed)
    values = []
    for run in design.runs:
        omega, phi_p, phi_g = (float(level) for level in run.levels)
        parameters = SwarmParameters(omega, phi_p, phi_g, evaluations=searching.evaluations)
        # All runs have the same models, so that they differ by their parameters, but seeds of their own.
        run_losses = losses(parameters, searching, seed + run.run * searching.searches)
        values.append(float(run_losses.sum(axis=1).mean()))
    return Sheet(
        factors=FACTORS,
        coded=tuple(run.coded for run in design.runs),
        blocks=tuple(run.block for run in design.runs),
        order=tuple(run.run for run in design.runs),
        responses={RESPONSE: tuple(values)},
    )
