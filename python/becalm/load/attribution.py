"""The attribution of slow runs to load: shares with intervals, and a cause or the reason why none can be named.

The response is the delay factor; the predictors are measures of others' load (`becalm.load.background_load`). Load does
not speed programs up, so the fit is non-negative. The run queue enters as Mund's expectation, so its coefficient is the
share of the expected delay that occurred: 1 is all of it. A cause is named only when

1. there is an effect at all: delays permuted over the runs fit as well in at most FALSE_NAMING of all cases; if load
   was not drawn at random, delays are also shifted in time, since delay and load may both drift;
2. its share of R squared leads in at least LEAD of the bootstrap resamples;
3. it can be told apart from the others: variance inflation below SEPARABLE;
4. the bars of the runs' waterfalls, which are counted and do not depend on correlation, add up and agree.

Public: Attribution, CauseShare, CauseSearch, attribute, AttributedRuns, FALSE_NAMING.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec
import numpy as np
import numpy.typing as npt

from becalm.load.background_load import CAUSES, MEASURES
from becalm.stats import relative_importance
from becalm.stats.huber import NORMAL_MAD
from becalm.stats.response_shape import ResponseShape, shape

Floats = npt.NDArray[np.float64]

FALSE_NAMING = 0.05
"""The highest rate at which a cause is named where there is none."""

LEAD = 0.95
SEPARABLE = 5.0
"""Variance inflation above which two loads cannot be told apart (Sheather 2009, A Modern Approach to Regression with R,
6.4: "exceeding 5")."""

FEWEST = 8
"""Runs below which nothing is attributed."""

MATERIAL = 0.01
"""The delay over the whole range of load below which there is no effect: 1 %."""

REFUSED = 0.1
"""The share of runs with more waits than wall time above which the waits are not trusted and no cause is named."""

WILD = 3.0
"""Standard deviations (by the median absolute deviation) from the median; delays beyond are moved to this distance."""

RESAMPLES, PERMUTATIONS = 1000, 1999

_CAUSE_OF = {measure.name: measure.cause for measure in MEASURES}

BATCH = 2_000_000
"""Numbers in memory at the same time."""


class CauseSearch(StrEnum):
    """The answer of the search for a cause."""

    NAMED = "named"
    NOT_SEPARABLE = "not separable"
    NONE = "no effect of load"
    DISAGREES = "counted waits disagree"
    REFUSED = "waits do not add up"
    FEW = "too few runs"
    NO_LOAD = "no load varied"


class CauseShare(msgspec.Struct, frozen=True):
    """A cause and its share of the effect.

    - `share`: its share of R squared, with `low` and `high` at 95 %
    - `leads`: the share of resamples in which it was the largest
    - `coefficient`: delay per unit, by measure
    - `inflation`: variance inflation of its leading measure
    - `carried`: the share of the variation of delay in the bars of this cause; None where these are unknown
    """

    cause: str
    share: float
    low: float
    high: float
    leads: float
    coefficients: Mapping[str, float]
    inflation: float
    carried: float | None


class Attribution(msgspec.Struct, frozen=True):
    """The attribution of the runs of one program on one machine.

    - `cause`: None unless `answer` is NAMED
    - `shares`: the largest first; they add up to `r_squared`
    - `shapes`: by measure
    - `together`: the causes that cannot be told apart
    - `more_runs`: the number of runs with each of these alone that would separate them
    - `still`: measures that hardly varied; `missing`: unknown ones
    - `followed`: causes outside the plan that rose with causes in it, and because of them
    """

    runs: int
    answer: CauseSearch
    cause: str | None
    r_squared: float
    p_value: float | None
    largest_delay: float
    shares: tuple[CauseShare, ...] = ()
    shapes: Mapping[str, ResponseShape] | None = None
    together: tuple[str, ...] = ()
    more_runs: int | None = None
    still: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    followed: tuple[str, ...] = ()


class AttributedRuns(msgspec.Struct, frozen=True):
    """The runs to attribute, each with its delay, the measures of load, and the bars of its waterfall.

    - `delay`: the delay of each run, shape (n,).
    - `measures`: the measures of load by name, None where unknown.
    - `bars`: the bars by name, on top of the reference, shape (n,) in units of delay, NaN where the kernel does not
      count them.
    - `designed`: whether the loads were drawn at random.
    """

    delay: Floats
    measures: Mapping[str, Sequence[float | None]]
    bars: Mapping[str, Floats]
    designed: bool = False
    refused: float = 0.0
    """The share of runs whose waterfall adds up to more than their wall time."""
    injected: frozenset[str] = frozenset()
    """Causes whose loads a plan drew at random, if all runs belong to plans. They explain what rises with them."""


def attribute(
    rows: AttributedRuns, *, seed: int = 0, resamples: int = RESAMPLES, permutations: int = PERMUTATIONS
) -> Attribution:
    """Return the attribution of some runs. The seed makes bootstrap and permutations repeatable."""
    rng = np.random.default_rng(seed)
    y = np.asarray(rows.delay, dtype=np.float64)
    used, still, missing = _columns(rows.measures, len(y))
    used, followed = _without_followers(used, rows.injected)
    largest = float(y.max()) if len(y) else 1.0
    if len(y) < FEWEST or not used:
        answer = CauseSearch.FEW if len(y) < FEWEST else CauseSearch.NO_LOAD
        return Attribution(len(y), answer, None, 0.0, None, largest, still=still, missing=missing, followed=followed)
    names = tuple(used)
    x = np.column_stack([used[name] for name in names])
    floors = {measure.name: measure.floor for measure in MEASURES}
    causes = tuple(dict.fromkeys(_CAUSE_OF[name] for name in names))
    groups = tuple(tuple(i for i, name in enumerate(names) if _CAUSE_OF[name] == cause) for cause in causes)
    weights = relative_importance.robust_weights(x, y)
    covariance = relative_importance.moments(x, y, weights[np.newaxis])
    fitted = relative_importance.r_squared(covariance, positive=True)
    shares = relative_importance.shapley(fitted, groups)[0]
    coefficients = relative_importance.non_negative(covariance)[0] / x.std(axis=0)
    p_value = _p_value(x, y, rng, permutations, rows.designed)
    many = relative_importance.shapley(_resampled(x, y, weights, rng, resamples), groups)
    first = many.argmax(axis=1)
    cause_shares = []
    for index, cause in enumerate(causes):
        leading = max(groups[index], key=lambda i: coefficients[i] * x[:, i].std())
        outside = tuple(i for i in range(len(names)) if i not in groups[index])
        low, high = (float(q) for q in np.quantile(many[:, index], (0.025, 0.975)))
        cause_shares.append(
            CauseShare(
                cause=cause,
                share=float(shares[index]),
                low=low,
                high=high,
                leads=float((first == index).mean()),
                coefficients={names[i]: float(coefficients[i]) for i in groups[index]},
                inflation=relative_importance.inflation(x, leading, outside),
                carried=_carried(cause, y, rows.bars, weights),
            )
        )
    cause_shares.sort(key=lambda cause_share: -cause_share.share)
    effect = float(sum(coefficients[i] * np.ptp(x[:, i]) for i in range(len(names))))
    answer, together = _decide(cause_shares, p_value, effect, x, names)
    if answer is CauseSearch.NAMED and rows.refused > REFUSED:
        answer = CauseSearch.REFUSED
    more = None
    if answer is CauseSearch.NOT_SEPARABLE and len(together) == 2:
        more = _more_runs(x, [names.index(_leading(cause_shares, cause)) for cause in together])
    return Attribution(
        runs=len(y),
        answer=answer,
        cause=cause_shares[0].cause if answer is CauseSearch.NAMED else None,
        r_squared=float(fitted[0, -1]),
        p_value=p_value,
        largest_delay=largest,
        shares=tuple(cause_shares),
        shapes={names[i]: _shape(group, i, x, y, coefficients, floors[names[i]]) for group in groups for i in group},
        together=together,
        more_runs=more,
        still=still,
        missing=missing,
        followed=followed,
    )


def _without_followers(used: dict[str, Floats], injected: frozenset[str]) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """Return the measures without those that follow the loads drawn by a plan, and the causes of those left out.

    If such a measure cannot be told apart from a drawn load, the plan made both rise. The bars show which of them the
    program waits for.
    """
    drawn = [name for name in used if _CAUSE_OF[name] in injected]
    if not drawn:
        return used, ()
    known = np.column_stack([used[name] for name in drawn])

    def follows(name: str) -> bool:
        both = np.column_stack([used[name], known])
        return relative_importance.inflation(both, 0, tuple(range(1, both.shape[1]))) >= SEPARABLE

    followers = [name for name in used if name not in drawn and follows(name)]
    remaining = {name: values for name, values in used.items() if name not in followers}
    return remaining, tuple(dict.fromkeys(_CAUSE_OF[name] for name in followers))


def _columns(
    measures: Mapping[str, Sequence[float | None]], count: int
) -> tuple[dict[str, Floats], tuple[str, ...], tuple[str, ...]]:
    """Return the measures that varied, those that hardly varied, and those that are unknown in some run."""
    used, still, missing = {}, [], []
    for measure in MEASURES:
        values = measures.get(measure.name, ())
        known = [value for value in values if value is not None]
        if len(known) < count or not known:
            missing.append(measure.name)
        elif max(known) - min(known) < measure.floor:
            still.append(measure.name)
        else:
            used[measure.name] = np.array(known, dtype=np.float64)
    return used, tuple(still), tuple(missing)


def _p_value(x: Floats, y: Floats, rng: np.random.Generator, count: int, designed: bool) -> float:
    """Return the share of permuted delays that fit as well, including the real order (Phipson & Smyth 2010).

    All runs have the same weight here, so that the rate holds for any distribution. Extreme delays are clipped before
    the loads are looked at: otherwise a cause would be hidden where one run in twenty was slowed by something else.
    """
    middle = float(np.median(y))
    reach = WILD * NORMAL_MAD * float(np.median(np.abs(y - middle)))
    if reach > 0:
        y = np.clip(y, middle - reach, middle + reach)
    seen = float(relative_importance.best_fit(x, y[np.newaxis])[0])

    def rate(batches: Iterator[Floats]) -> float:
        fits = np.concatenate([relative_importance.best_fit(x, batch) for batch in batches])
        return float((1 + (fits >= seen - 1e-9).sum()) / (1 + len(fits)))

    shuffled = rate(rng.permuted(np.tile(y, (size, 1)), axis=1) for size in _batches(x, count))
    if designed:
        return shuffled
    # Where loads and delays drift, neighbouring runs are alike; shifting one against the other preserves that.
    shifts = rng.permutation(np.arange(1, len(y)))[:count]
    parts = np.array_split(shifts, len(list(_batches(x, len(shifts)))))
    return max(shuffled, rate(np.array([np.roll(y, shift) for shift in part]) for part in parts))


def _resampled(x: Floats, y: Floats, weights: Floats, rng: np.random.Generator, count: int) -> Floats:
    """Return R squared of all subsets in bootstrap resamples of the runs, each counted by its weight."""
    even = np.full(len(y), 1 / len(y))
    results = []
    for size in _batches(x, count):
        drawn = weights * rng.multinomial(len(y), even, size)
        results.append(relative_importance.r_squared(relative_importance.moments(x, y, drawn), positive=True))
    return np.concatenate(results)


def _batches(x: Floats, count: int) -> Iterator[int]:
    """Yield batch sizes for `count` resamples; each batch needs some tens of megabytes."""
    size = max(1, BATCH // (x.shape[0] * (x.shape[1] + 1)))
    while count > 0:
        yield min(size, count)
        count -= size


def _carried(cause: str, y: Floats, bars: Mapping[str, Floats], weights: Floats) -> float | None:
    """Return the share of the variation of delay in the bars of a cause: slopes of bars over delay add up to 1.

    A run has the weight that it has in the fit: waits of a run that something else slowed are not due to the load.
    """

    def together(values: Floats) -> float:
        return float((weights * (values - np.average(values, weights=weights)) * from_mean).sum())

    from_mean = y - np.average(y, weights=weights)
    variation = together(y)
    if not bars or variation == 0:
        return None
    total, unknown = 0.0, False
    for name in CAUSES[cause]:
        values = bars.get(name)
        if values is None or np.isnan(values).any():
            unknown = True
        else:
            total += together(values) / variation
    rest = bars.get("unexplained")
    if unknown and "unexplained" not in CAUSES[cause] and rest is not None and not np.isnan(rest).any():
        # Waits that the kernel does not count are in the rest.
        total += together(rest) / variation
    return total


def _decide(
    shares: Sequence[CauseShare],
    p_value: float,
    effect: float,
    x: Floats,
    names: Sequence[str],
) -> tuple[CauseSearch, tuple[str, ...]]:
    first = shares[0]
    if p_value > FALSE_NAMING or effect < MATERIAL or first.share <= 0:
        return CauseSearch.NONE, ()
    if first.inflation >= SEPARABLE:
        index = names.index(_leading(shares, first.cause))
        rivals = [i for i, name in enumerate(names) if _CAUSE_OF[name] != first.cause]
        rival = max(rivals, key=lambda i: abs(float(np.corrcoef(x[:, index], x[:, i])[0, 1])))
        return CauseSearch.NOT_SEPARABLE, (first.cause, _CAUSE_OF[names[rival]])
    if first.leads < LEAD:
        second = max(shares[1:], key=lambda share: share.leads, default=None)
        return CauseSearch.NOT_SEPARABLE, (first.cause, second.cause) if second else (first.cause,)
    if first.carried is not None and first.carried < 0.5:
        return CauseSearch.DISAGREES, ()
    return CauseSearch.NAMED, ()


def _leading(shares: Sequence[CauseShare], cause: str) -> str:
    coefficients = next(share.coefficients for share in shares if share.cause == cause)
    return max(coefficients, key=lambda name: coefficients[name])


def _more_runs(x: Floats, pair: Sequence[int], most: int = 100) -> int | None:
    """Return the number of runs with each of the two loads alone, at the observed level, that would bring the inflation
    below SEPARABLE."""
    others = tuple(i for i in range(x.shape[1]) if i != pair[0])
    rows = []
    for alone in pair:
        row = x.min(axis=0).copy()
        row[alone] = x[:, alone].max()
        rows.append(row)
    for count in range(1, most + 1):
        if relative_importance.inflation(np.vstack([x, *([row] * count for row in rows)]), pair[0], others) < SEPARABLE:
            return count
    return None


def _shape(
    group: tuple[int, ...], index: int, x: Floats, y: Floats, coefficients: Floats, floor: float
) -> ResponseShape:
    """Return the shape, over one measure, of the delay that other causes leave; measures of the same cause are kept."""
    rest = x @ coefficients - x[:, list(group)] @ coefficients[list(group)]
    return shape(x[:, index], y - rest, floor)
