"""Particle swarm: particles that move through the space of factors, attracted to their own best place and that of all.

v <- omega v + phi_p r_p (p - x) + phi_g r_g (g - x), x <- x + v, with r_p and r_g uniform in each coordinate (Kennedy &
Eberhart 1995; Shi & Eberhart 1998); a place is clipped to the space, and the velocity to the resulting move. The
parameters are those of Anderson 2013, chapter 5, who found them by a Box-Behnken design, as `becalm design swarm` does.

Our additions, because times are noisy: every block has the default as control, and drift is removed
(`becalm.methods.log_times`); the best places are measured again in every block, and p and g follow from all runs, so
that the place of a single lucky run is given up; the last fifth of the trials decides between the three best places. A
failed place is censored: no particle is attracted to it.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from becalm.methods.blocks import Asking, Blocks
from becalm.methods.places import Places
from becalm.methods.protocol import NO_SETTINGS, Choice, Forecast, SearchGenerator, TimeOver, TrialDesign
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.nouns.swarm import SwarmParameters
from becalm.stats.arrays import Floats

USUAL = SwarmParameters()

SWEEPS, FEWEST = 5, 4
"""The least number of moves, for which a swarm may have fewer particles; and the least number of particles."""

AGAIN = 2
"""The number of best places that are measured again in every block."""


def advance(
    at: Floats, velocity: Floats, own: Floats, best: Floats, parameters: SwarmParameters, draws: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Return the places and velocities after one step; all of shape (particles, coordinates). `draws`: r_p and r_g."""
    pull = parameters.phi_p * draws[0] * (own - at) + parameters.phi_g * draws[1] * (best - at)
    to = np.clip(at + parameters.omega * velocity + pull, -1.0, 1.0)
    return to, to - at


def swarm(
    space: Space, rule: TrialDesign, rng: np.random.Generator, *, parameters: SwarmParameters = USUAL
) -> SearchGenerator:
    """Search by a particle swarm; see the module."""
    here = _Swarm(space, rule, rng, parameters)
    if not space.factors or here.blocks.room() < 1:
        return Choice(NO_SETTINGS, "There is nothing to vary, or the limit of runs is too low for one trial.")
    with suppress(TimeOver):
        yield from here.measure("a swarm scattered over the space")
        for number in range(1, parameters.iterations):
            if not here.blocks.left or here.settled():
                break
            here.move()
            yield from here.measure(f"step {number} of the swarm, and the best so far again")
        yield from here.blocks.final()
    return here.choice()


def forecast(space: Space, rule: TrialDesign, *, parameters: SwarmParameters = USUAL) -> Forecast | None:
    """Return the forecast; None if there are only choices, whose few places may let a swarm settle early."""
    blocks = Blocks(rule, parameters.evaluations)
    if all(factor.categorical for factor in space.factors):
        return None
    return blocks.forecast(_size(parameters, blocks), AGAIN, parameters.iterations)


def _size(parameters: SwarmParameters, blocks: Blocks) -> int:
    """Return the number of particles."""
    return min(parameters.particles, max(FEWEST, blocks.planned // SWEEPS))


class _Swarm:
    """A swarm: the present and past places of its particles, and their results."""

    def __init__(self, space: Space, rule: TrialDesign, rng: np.random.Generator, parameters: SwarmParameters) -> None:
        self.blocks = Blocks(rule, parameters.evaluations)
        self.parameters = parameters
        self._rng = rng
        self._places = Places(space)
        count = _size(parameters, self.blocks)
        self._at = self._places.scatter(count, rng)
        self._velocity = (self._places.scatter(count, rng) - self._at) / 2
        self._been: list[list[tuple[Settings, Floats]]] = [[] for _ in range(count)]

    def measure(self, why: str) -> Asking:
        """Measure the places of the particles, and the best places again."""
        here = [self._places.settings(at) for at in self._at]
        for been, settings, at in zip(self._been, here, self._at, strict=True):
            been.append((settings, at))
        yield from self.blocks.proceed(AGAIN, here, why)

    def settled(self) -> bool:
        """Return whether all particles have the settings of the best place, so that nothing new would be measured."""
        return {self._places.settings(at) for at in self._at} <= set(self.blocks.leaders(1))

    def move(self) -> None:
        """Move all particles one step."""
        expected = self.blocks.times.expected()
        own = self._at.copy()
        for index, been in enumerate(self._been):
            levels = [(expected[settings], order) for order, (settings, _) in enumerate(been) if settings in expected]
            if levels:
                own[index] = been[min(levels)[1]][1]
        everywhere = [(settings, at) for been in self._been for settings, at in been if settings in expected]
        best = min(everywhere, key=lambda visit: expected[visit[0]])[1] if everywhere else self._at
        draws = self._rng.random(self._at.shape), self._rng.random(self._at.shape)
        self._at, self._velocity = advance(
            self._at, self._velocity, own, np.broadcast_to(best, self._at.shape), self.parameters, draws
        )

    def choice(self) -> Choice:
        """Return the choice: the best place, or no settings if none is faster than the default."""
        spent = self.blocks.spent()
        return self.blocks.choice(
            some=f"The swarm of {len(self._at)} particles chose its best place after {spent}.",
            none=f"The swarm found nothing faster than the default in {spent}.",
        )
