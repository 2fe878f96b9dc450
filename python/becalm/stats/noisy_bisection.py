"""The search for a step between good and bad when every look at a place is noisy.

Places are 0 (good) to n (bad); the first bad one is k, any of 1 to n with equal probability before anything is
measured. A look at place m gives differences from the good place, in logarithms: normal around the size of the step
where k leads to m (in a history without merges: from k on), else around 0. The posterior of k (Horstein 1963, IEEE
Trans. Inf. Theory 9:136; Waeber, Frazier & Henderson 2013, SIAM J. Control Optim. 51:2261) determines where to look
next, at its median, and when to stop. It uses every run, also those at places that were left early. In a history with
merges the first-parent line is searched first, then the branch that the merge added (`next_place`).

The likelihood ratio of a place is that of Student's t, since the scatter is estimated, and includes the uncertainty of
the step's size. No place is trusted beyond `DOUBT`, since a build may be fast or slow by its layout alone.

`looks` and `is_known` judge the difference of good and bad before that, in looks that share a probability of error
(each next one has half of the remainder).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import msgspec
import numpy as np
from scipy.special import gammaln, stdtr

from becalm.stats.ancestry import Ancestry
from becalm.stats.arrays import Floats

DOUBT = 0.002
"""The probability that a place shows the other side, however often it was measured."""

SURE = 2.2
"""The logarithm of the likelihood ratio that one visit of a place should give: 9 to 1."""

FEWEST, MOST = 3, 40
"""The fewest and the most differences of one visit."""

FIRST = 6
"""The number of differences of good and bad before their first look."""

GROWTH = 1.5
"""The factor on the number of differences from one look at good and bad to the next."""

PRECISE = 4.0
"""The size of a step, in standard errors, from which it is known well enough."""

MIDDLE = (0.3, 0.7)
"""The range of the posterior before a place in which a place that is built already is preferred to the median."""

WINSOR = 3.0

UNLIKE = 2.0
"""The ratio of a place's scatter to the usual from which only its own scatter is used."""


class BisectionStep(msgspec.Struct, frozen=True):
    """The step from good to bad, a difference of logarithms: its estimate, standard error, and p-value of none."""

    size: float
    error: float
    p_value: float


def step(differences: Sequence[float]) -> BisectionStep:
    """Return the step from good to bad, from at least two log differences, shape (n,). Raises ValueError for fewer."""
    if len(differences) < 2:
        raise ValueError(f"A difference needs two values, not {len(differences)}.")
    d = np.asarray(differences)
    sigma, freedom = scatter([differences])
    error = sigma / math.sqrt(len(d))
    size = _centre(d, sigma)
    p = 2 * float(stdtr(freedom, -abs(size) / error)) if error > 0 else float(size == 0)
    return BisectionStep(size, error, p)


def looks(most: int) -> list[int]:
    """Return the numbers of differences at which good and bad are compared; the last one is `most`."""
    counts, count = [], float(FIRST)
    while count < most:
        counts.append(math.ceil(count))
        count *= GROWTH
    return [*counts, most]


def is_known(estimate: BisectionStep, look: int, error: float) -> bool:
    """Return whether there is a step, at the look of this number from 0 on, whose size is known well enough.

    `error`: probability, over all looks together, that a step is seen where there is none.
    """
    return estimate.p_value <= error / 2 ** (look + 1) and abs(estimate.size) >= PRECISE * estimate.error


def scatter(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the standard deviation of differences around those of their own place, and its degrees of freedom."""
    residuals = [np.asarray(group) - np.median(group) for group in groups if len(group) > 1]
    if not residuals:
        return math.inf, 1.0
    all_residuals = np.concatenate(residuals)
    scale = float(np.median(np.abs(all_residuals))) / 0.6745
    bound = WINSOR * scale if scale > 0 else math.inf
    freedom = float(sum(len(group_residuals) - 1 for group_residuals in residuals))
    return math.sqrt(float(np.square(np.clip(all_residuals, -bound, bound)).sum()) / freedom), freedom


def log_ratio(
    differences: Sequence[float], of: BisectionStep, sigma: float, freedom: float, apart: float = 0.0
) -> float:
    """Return the log likelihood ratio of differences behind the step to before it, limited by `DOUBT`.

    `differences`: shape (n,), of one place; `apart`: standard deviation of the difference of two builds before the
    step.
    """
    if not len(differences) or not math.isfinite(sigma):
        return 0.0
    d = np.asarray(differences, np.float64)
    own_scatter, _ = scatter([differences])
    if math.isfinite(own_scatter) and own_scatter > UNLIKE * sigma:
        # Something disturbed the measurement of this place.
        sigma = own_scatter
    mean_error = max(sigma, 1e-12) / math.sqrt(len(d))
    centre = _centre(d, sigma)
    behind_error, before_error = math.hypot(mean_error, of.error), math.hypot(mean_error, apart)
    ratio = _log_t(centre - of.size, behind_error, freedom) - _log_t(centre, before_error, freedom)
    limit = math.log((1 - DOUBT) / DOUBT)
    if abs(ratio) > 50:
        return math.copysign(limit, ratio)
    likelihood_ratio = math.exp(ratio)
    return math.log(((1 - DOUBT) * likelihood_ratio + DOUBT) / ((1 - DOUBT) + DOUBT * likelihood_ratio))


def posterior(ancestry: Ancestry, ratios: Mapping[int, float]) -> Floats:
    """Return the probability of each place from 1 on being the first bad one, shape (places,).

    `ratios`: the `log_ratio` by place.
    """
    score = np.zeros(len(ancestry.parents))
    for place, ratio in ratios.items():
        # A place has the change when one of its ancestors brought it.
        score[ancestry.ancestors(place)] += ratio
    weight = np.exp(score - score.max())
    return np.asarray(weight / weight.sum())


def next_place(
    before: Floats,
    depth: Sequence[int],
    ratios: Mapping[int, float],
    built: Collection[int],
    unusable: Collection[int],
    unsure: float = 0.01,
) -> int | None:
    """Return the next place to measure, from 1 to n - 1; None where no place can tell more.

    `before`: for each place from 1 on, the probability that it has the change, shape (places,). `depth`: number of
    merges between it and the first-parent line; deeper places wait until no shallower one has a probability between
    `unsure` and 1 - `unsure`. `built`: places that cost no build; `unusable`: those that cannot be built.
    """
    trusted = 0.95 * math.log((1 - DOUBT) / DOUBT)
    open_places = [
        place
        for place in range(1, len(before))
        if place not in unusable and abs(ratios.get(place, 0.0)) < trusted and 1e-6 < before[place - 1] < 1 - 1e-6
    ]
    if not open_places:
        return None
    if informative := [place for place in open_places if unsure < before[place - 1] < 1 - unsure]:
        level = min(depth[place - 1] for place in informative)
        open_places = [place for place in informative if depth[place - 1] == level]
    cheap = [place for place in open_places if place in built and MIDDLE[0] < before[place - 1] < MIDDLE[1]]
    return min(cheap or open_places, key=lambda place: abs(float(before[place - 1]) - 0.5))


def visit(of: BisectionStep, sigma: float) -> int:
    """Return the number of differences for an informative visit of a place."""
    if not of.size or not math.isfinite(sigma):
        return FEWEST
    return int(np.clip(math.ceil(2 * SURE * (sigma / of.size) ** 2), FEWEST, MOST))


def _centre(differences: Floats, sigma: float) -> float:
    middle = float(np.median(differences))
    if not math.isfinite(sigma):
        return middle
    return float(np.clip(differences, middle - WINSOR * sigma, middle + WINSOR * sigma).mean())


def _log_t(x: float, scale: float, freedom: float) -> float:
    """Return the logarithm of the density of Student's t."""
    half = (freedom + 1) / 2
    shape = float(gammaln(half) - gammaln(freedom / 2)) - 0.5 * math.log(freedom * math.pi)
    return shape - math.log(scale) - half * math.log1p((x / scale) ** 2 / freedom)
