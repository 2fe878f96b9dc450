"""Ratios and rates of a suite of programs, as SPEC defines them, and the nouns that carry them.

ratio = reference time / run time; rate = copies x (reference / longest reference of the suite) x 86400 s / elapsed time
of all copies, from the start of the first to the end of the last; of several runs the median; of several programs the
geometric mean (SPEC CPU95 and CPU2017 run and reporting rules; the rate is CPU95's, which counts in a day's work of the
longest program). Unknown is None: without all references there is no mean.

A program may be rated by a number that it prints in place of its time: reference / median, or median / reference where
larger is better.

Public: Rated, Tuning, Ratings, ratio, rate, geometric_mean.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import replace

from becalm.nouns.codec import Json
from becalm.nouns.metric import Metric
from becalm.results.suite import Rated, Tuning

DAY_NS = 86_400 * 10**9


def ratio(reference_ns: float, time_ns: float) -> float:
    """How many times as fast as the reference."""
    return reference_ns / time_ns


def rate(copies: int, reference_ns: float, longest_ns: float, elapsed_ns: float) -> float:
    """How much work a day, in runs of the suite's longest reference: `elapsed_ns` is of all copies."""
    return copies * (reference_ns / longest_ns) * DAY_NS / elapsed_ns


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """The geometric mean; None of no values, or when one is unknown."""
    known = list(values)
    if not known or any(value is None for value in known):
        return None
    return math.exp(statistics.fmean(math.log(value) for value in known if value is not None))


def rated(
    name: str,
    reference_ns: int | None,
    longest_ns: int | None,
    times_ns: Iterable[int],
    rate_times_ns: Iterable[int],
    copies: int | None,
    failed: int = 0,
    *,
    cpu_times_ns: Iterable[int | None] = (),
    contaminated: int = 0,
) -> Rated:
    """One program's figures from its times. `contaminated`: so many of the runs of one copy had other load beside them;
    then the ratio from CPU time stands beside that from wall time, where all CPU times are known."""
    times, rates = tuple(times_ns), tuple(rate_times_ns)
    alone = float(statistics.median(times)) if times else None
    together = float(statistics.median(rates)) if rates else None
    known = reference_ns is not None and longest_ns is not None
    spent = list(cpu_times_ns) if contaminated else []
    cpu_ns = statistics.median(each for each in spent if each is not None) if spent and all(spent) else None
    return Rated(
        name=name,
        reference_ns=reference_ns,
        times_ns=times,
        rate_times_ns=rates,
        median_ns=alone,
        ratio=None if reference_ns is None or alone is None else ratio(reference_ns, alone),
        rate_median_ns=together,
        rate=rate(copies, reference_ns, longest_ns, together)  # type: ignore[arg-type]
        if known and copies is not None and together is not None
        else None,
        delay=None if alone is None or together is None else together / alone,
        failed=failed,
        contaminated=contaminated,
        cpu_ratio=None if reference_ns is None or cpu_ns is None else ratio(reference_ns, cpu_ns),
    )


def rated_by(metric: Metric, found: Rated, reference: float | None, values: Iterable[float]) -> Rated:
    """The same program rated by a number that it prints, one value a good run, in place of its time."""
    known = tuple(values)
    median = float(statistics.median(known)) if known else None
    ratio = None
    if reference is not None and median is not None:
        ratio = median / reference if metric.higher else reference / median
    return replace(
        found,
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        reference=reference,
        values=known,
        median=median,
        ratio=ratio,
        rate=None,
        cpu_ratio=None,
    )


def tuning(name: str, settings: Mapping[str, Json], programs: Iterable[Rated]) -> Tuning:
    """A tuning with the geometric means of its programs."""
    listed = tuple(programs)
    ratios = geometric_mean(each.ratio for each in listed)
    return Tuning(name, settings, listed, ratios, geometric_mean(each.rate for each in listed))
