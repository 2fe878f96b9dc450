"""The comparison of two programs over several layouts of each, from the history of their runs.

Public: compare_builds, noise_is_small, LEAST (the fewest rounds).
"""

from __future__ import annotations

import math

import numpy as np

from becalm.analysis.compare import difference
from becalm.analysis.limit import gate
from becalm.nouns.options.layouts import MOST, LayoutOptions
from becalm.plans.history import History
from becalm.results.compare import Difference, Gate, Stopped
from becalm.results.layouts import Layout, LayoutComparison, LayoutSide
from becalm.stats.arrays import median_of
from becalm.stats.layouts import LayoutEstimate, LayoutSample, center_by_rounds, compare_layouts, layout_sample
from becalm.stats.power import pairs_for
from becalm.stats.student import stdtrit

SMALL = 0.1
"""The share of noise in the squared standard error up to which it is small: without it the interval would be 5 %
narrower."""

FEWEST = 5
"""The fewest rounds from which the noise of the layouts is known well enough to judge it."""

LEAST = 2
"""The fewest rounds, whatever the budget: from a single round, layout and noise cannot be separated."""


def noise_is_small(history: History, options: LayoutOptions) -> bool:
    """Return whether more rounds would hardly narrow the interval.

    The difference itself is not used, so that the interval holds although measuring ends by this rule.
    """
    if history.rounds < FEWEST:
        return False
    _, _, estimate, _ = _estimate(history, options)
    return estimate.noise_share <= SMALL


def compare_builds(
    history: History, options: LayoutOptions, *, study: int | None, host: str, stopped: Stopped, seed: int
) -> LayoutComparison:
    """Return the comparison of a history of at least one round, without its sentences.

    The programs of the history are the layouts of the old one, then those of the new one.
    """
    old, new, estimate, middle = _estimate(history, options)
    metric, rounds = history.metric, history.rounds
    layout_difference = difference(
        options.names[1],
        options.names[0],
        (estimate.estimate, estimate.low, estimate.high),
        confidence=options.confidence,
        pairs=rounds,
        detectable=estimate.detectable,
        p_value=estimate.p_value,
        standard_error=estimate.standard_error,
        metric=metric,
    )
    gaps = new.means[:, np.newaxis] - old.means
    result = gate((layout_difference,), options.fail_above)
    sides = [
        LayoutSide(
            name=options.names[place],
            command=options.commands[place],
            build=(options.old_build, options.new_build)[place],
            typical=math.exp(middle + sample.mean),
            layouts=_layouts(sample, options.seeds[place], middle, old.mean),
            layout_sd=math.expm1(sample.layout),
            noise_sd=math.expm1(sample.noise),
            equal=options.equal[place],
        )
        for place, sample in enumerate((old, new))
    ]
    return LayoutComparison(
        study=study,
        host=host,
        elapsed_ns=history.elapsed_ns,
        stopped=stopped,
        rounds=rounds,
        old=sides[0],
        new=sides[1],
        difference=layout_difference,
        layout_sd=math.expm1(_pooled_layout_sd(old, new)),
        pair_low=math.expm1(float(gaps.min())),
        pair_high=math.expm1(float(gaps.max())),
        called=estimate.called,
        noise_share=estimate.noise_share,
        seed=seed,
        fail_above=options.fail_above,
        gate=result,
        undecided=options.undecided,
        layouts_needed=_layouts_needed(layout_difference, estimate, options, (old, new))
        if result is Gate.UNDECIDED
        else None,
        metric=metric,
    )


def _estimate(history: History, options: LayoutOptions) -> tuple[LayoutSample, LayoutSample, LayoutEstimate, float]:
    """Return both samples, their difference, and the log of the value typical of all layouts, as it was measured."""
    sign = -1.0 if history.metric is not None and history.metric.higher else 1.0
    logs = np.array([sign * values for values in history.pairs().log_wall])
    first, second, middles = center_by_rounds(logs[: len(options.seeds[0])], logs[len(options.seeds[0]) :])
    old, new = layout_sample(first), layout_sample(second)
    return old, new, compare_layouts(old, new, history.rounds, 1 - options.confidence), median_of(middles)


def _layouts(sample: LayoutSample, seeds: tuple[int, ...], middle: float, reference: float) -> tuple[Layout, ...]:
    rows = zip(seeds, sample.means.tolist(), sample.errors.tolist(), strict=True)
    return tuple(
        Layout(seed, math.exp(middle + mean), math.expm1(mean - reference), error) for seed, mean, error in rows
    )


def _pooled_layout_sd(old: LayoutSample, new: LayoutSample) -> float:
    """Return the standard deviation between layouts: the root of both sides' mean variance, weighted by degrees of
    freedom."""
    if not (math.isfinite(old.noise) and math.isfinite(new.noise)):
        return math.nan
    degrees = [len(side.means) - 1 for side in (old, new)]
    layout_variances = [side.variance - side.noise**2 for side in (old, new)]
    pooled = math.fsum(count * value for count, value in zip(degrees, layout_variances, strict=True)) / sum(degrees)
    return math.sqrt(max(0.0, pooled))


def _layouts_needed(
    layout_difference: Difference,
    estimate: LayoutEstimate,
    options: LayoutOptions,
    sides: tuple[LayoutSample, LayoutSample],
) -> int | None:
    """Return the number of layouts of each program that would decide the limit with a probability of 80 %.

    The prediction assumes that the estimate holds, at a distance from the limit of at least a standard error. None
    where that is too many, or not known.
    """
    limit = options.fail_above or 0.0
    if not 0 < estimate.standard_error < math.inf:
        return None
    harm = math.log1p(max(layout_difference.harm[0], -0.999))
    distance = max(abs(harm - math.log1p(limit)), estimate.standard_error)
    layouts = min(len(side.means) for side in sides)
    critical = stdtrit(estimate.freedom, 1 - (1 - options.confidence) / 2)
    needed = pairs_for(distance, estimate.standard_error, layouts, critical)
    return needed if layouts < needed <= MOST else None
