"""Bayesian optimisation by Optuna (Akiba et al. 2019; MIT licence), for those who have it: the extra `becalm[bayes]`.

Optuna proposes places, becalm measures them: each block has the default as control, the best place again, and new ones.
Before each block Optuna's history is made again from all runs, each place with the mean of its repeats relative to the
default and with drift removed (`becalm.methods.log_times`); so its sampler is a function of seed and history, and never
sees one lucky run as a value. A place that failed is handed on as failed, one that was ended early as pruned, both
without a value.

`tpe` is the tree-structured Parzen estimator (Bergstra et al. 2011). `gp` is Optuna's Gaussian process, with a noisy
objective; it needs PyTorch, of hundreds of megabytes, and is therefore for those who ask for it.
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
"""Trials in all, of places that are measured again included."""

FIRST, BATCH = 10, 4
"""Places that are scattered over the space before anything is proposed, and those of each block after that."""

SAMPLERS = ("tpe", "gp")


def bayes(space: Space, rule: TrialDesign, rng: np.random.Generator, *, sampler: str = SAMPLERS[0]) -> SearchGenerator:
    """Search by Bayesian optimisation; see the module. Raises UsageError where Optuna, or what it needs, is missing."""
    proposer = _Proposer(space, sampler, int(rng.integers(2**31)))
    blocks = Blocks(rule, EVALUATIONS)
    if not space.factors or blocks.room() < 1:
        return Choice(NO_SETTINGS, "There is nothing to vary, or no runs to compare it with.")
    places = Places(space)
    count = min(FIRST, max(2, blocks.planned // 3))
    seen = [places.settings(at) for at in places.scattered(count, rng)]
    with suppress(TimeOver):
        yield from blocks.ask(seen, "places scattered over the space", NO_SETTINGS)
        while blocks.left:
            before = blocks.trials
            yield from blocks.go_on(1, proposer.next(blocks, BATCH), "what Optuna proposes, and the best again")
            if blocks.trials == before:
                break
        yield from blocks.final()
    return blocks.choice(
        some=f"Chosen is the best of what Optuna proposed in {blocks.spent()}.",
        none=f"Optuna's proposals had nothing that is faster than the default in {blocks.spent()}.",
    )


class _Proposer:
    """Optuna as a function of what was measured."""

    def __init__(self, space: Space, sampler: str, seed: int) -> None:
        try:
            import optuna
        except ImportError:
            raise UsageError(
                f"--method bayes needs Optuna, which is not installed: {install('optuna')}. The other methods need "
                "nothing more."
            ) from None
        # Optuna makes a Gaussian process without it, and fails when that is asked.
        if sampler == "gp" and not _there("torch"):
            raise UsageError(
                f"--sampler gp needs PyTorch, which is not installed: {install('torch')} (hundreds of megabytes). Or "
                "take --sampler tpe, which is the usual one."
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
        """Return a study that has every place once, with its result."""
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
                    # The Parzen estimator takes what was ended early for worse than every value.
                    state=state.COMPLETE if arm in values else state.PRUNED if blocks.times.slow(arm) else state.FAIL,
                    params={
                        factor.name: levels[factor.name]
                        if factor.categorical
                        else _inside(factor.coded(levels[factor.name]))
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
            # What Optuna calls experimental is what its own documents recommend for these.
            warnings.simplefilter("ignore")
            if self._name == "gp":
                return samplers.GPSampler(seed=seed, n_startup_trials=2, deterministic_objective=False)
            return samplers.TPESampler(seed=seed, n_startup_trials=2, multivariate=True, constant_liar=True)


def _there(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def _level(factor: Factor, found: Any) -> Any:
    return str(found) if factor.categorical else factor.natural(float(found))


def _inside(coded: float) -> float:
    return min(1.0, max(-1.0, coded))
