"""Bayesian optimisation by Optuna (Akiba et al. 2019; MIT licence), which the extra `bayes` installs.

Optuna proposes places and becalm measures them: each block has the default as control, the best place again, and new
places. Before each block Optuna's history is rebuilt from all runs, each place with the mean of its repeats relative to
the default and with drift removed (`becalm.methods.log_times`). So its sampler is a function of seed and history, and a
single lucky run is never a value. A failed place is reported as failed, one that was ended early as pruned; both have
no value.

`tpe` is the tree-structured Parzen estimator (Bergstra et al. 2011). `gp` is Optuna's Gaussian process with a noisy
objective; it needs PyTorch, hundreds of megabytes, and is therefore not the default.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from becalm.errors import UsageError, install
from becalm.methods.blocks import Blocks
from becalm.methods.places import Places
from becalm.methods.protocol import NO_SETTINGS, Choice, SearchGenerator, TimeOver, TrialDesign
from becalm.nouns.factor import Factor
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings

if TYPE_CHECKING:
    from optuna.study import Study

EVALUATIONS = 60
"""The number of trials of a search, repeated places included."""

FIRST, BATCH = 10, 4
"""The number of places scattered over the space before the first proposal, and of proposals in each later block."""

SAMPLERS = ("tpe", "gp")


def bayes(space: Space, rule: TrialDesign, rng: np.random.Generator, *, sampler: str = SAMPLERS[0]) -> SearchGenerator:
    """Search by Bayesian optimisation; see the module. Raises UsageError if Optuna or one of its needs is missing."""
    proposer = _Proposer(space, sampler, int(rng.integers(2**31)))
    blocks = Blocks(rule, EVALUATIONS)
    if not space.factors or blocks.room() < 1:
        return Choice(NO_SETTINGS, "There is nothing to vary, or the limit of runs is too low for one trial.")
    places = Places(space)
    count = min(FIRST, max(2, blocks.planned // 3))
    seen = [places.settings(at) for at in places.scatter(count, rng)]
    with suppress(TimeOver):
        yield from blocks.ask(seen, "places scattered over the space", NO_SETTINGS)
        while blocks.left:
            before = blocks.trials
            yield from blocks.proceed(
                1, proposer.next(blocks, BATCH), "a proposal of Optuna, and the best so far again"
            )
            if blocks.trials == before:
                break
        yield from blocks.final()
    return blocks.choice(
        some=f"Optuna's best proposal was chosen after {blocks.spent()}.",
        none=f"None of Optuna's proposals was faster than the default in {blocks.spent()}.",
    )


class _Proposer:
    """Optuna as a function of the measured places."""

    def __init__(self, space: Space, sampler: str, seed: int) -> None:
        try:
            import optuna
        except ImportError:
            raise UsageError(
                f"--method bayes needs Optuna, which is not installed: {install('optuna')}. The other methods do "
                "not need it."
            ) from None
        # Without PyTorch Optuna makes a Gaussian process that fails at its first proposal.
        if sampler == "gp" and not _is_installed("torch"):
            raise UsageError(
                f"--sampler gp needs PyTorch, which is not installed: {install('torch')} (hundreds of megabytes). "
                "Or take --sampler tpe, the default."
            )
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._optuna: Any = optuna
        self._space = space
        self._name, self._seed = sampler, seed
        self._distributions: dict[str, Any] = {
            factor.name: optuna.distributions.CategoricalDistribution(factor.choices)
            if factor.categorical
            else optuna.distributions.FloatDistribution(-1.0, 1.0)
            for factor in space.factors
        }

    def next(self, blocks: Blocks, count: int) -> list[Settings]:
        """Return `count` new places."""
        study = self._study(blocks)
        settingses = []
        for _ in range(count):
            trial = study.ask(self._distributions)
            settingses.append(
                self._space.at(
                    {factor.name: _level(factor, trial.params[factor.name]) for factor in self._space.factors}
                )
            )
        return settingses

    def _study(self, blocks: Blocks) -> Study:
        """Return an Optuna study that has every place once, with its result."""
        optuna = self._optuna
        study: Study = optuna.create_study(direction="minimize", sampler=self._sampler(blocks.trials))
        state = optuna.trial.TrialState
        values = {arm: blocks.times.level(arm) for arm in blocks.times.good if arm != NO_SETTINGS}
        arms: Sequence[Settings] = [*values, *blocks.times.bad]
        for arm in arms:
            levels = dict(arm.values)
            if len(levels) != len(self._distributions):
                continue
            study.add_trial(
                optuna.trial.create_trial(
                    # The Parzen estimator treats pruned places as worse than every value.
                    state=state.COMPLETE if arm in values else state.PRUNED if blocks.times.slow(arm) else state.FAIL,
                    params={
                        factor.name: levels[factor.name]
                        if factor.categorical
                        else _clamp(factor.coded(levels[factor.name]))
                        for factor in self._space.factors
                    },
                    distributions=self._distributions,
                    value=values.get(arm),
                )
            )
        return study

    def _sampler(self, number: int) -> Any:
        samplers, seed = self._optuna.samplers, self._seed + number
        with warnings.catch_warnings():
            # Optuna warns of experimental options that its own documentation recommends here.
            warnings.simplefilter("ignore")
            if self._name == "gp":
                return samplers.GPSampler(seed=seed, n_startup_trials=2, deterministic_objective=False)
            return samplers.TPESampler(seed=seed, n_startup_trials=2, multivariate=True, constant_liar=True)


def _is_installed(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def _level(factor: Factor, value: Any) -> Any:
    return str(value) if factor.categorical else factor.natural(float(value))


def _clamp(coded: float) -> float:
    return min(1.0, max(-1.0, coded))
