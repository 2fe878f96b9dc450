"""Ratios and rates of a suite of programs, as SPEC defines them, and the nouns that carry them.

ratio = reference time / run time; rate = copies x (reference / longest reference of the suite) x 86400 s / elapsed time
of all copies, from the start of the first to the end of the last. Several runs give the median, several programs the
geometric mean (SPEC CPU95 and CPU2017 run and reporting rules; the rate is CPU95's, in runs of the longest program per
day). Unknown is None: without all references there is no mean.

A program may be rated by a number that it prints in place of its time: reference / median, or median / reference where
larger is better.

Public: ratio, rate, geometric_mean, rate_program, rate_by_metric, tuning.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from becalm.nouns.codec import Json
from becalm.nouns.metric import Metric
from becalm.results.suite import Rated, Tuning

DAY_NS = 86_400 * 10**9


def ratio(reference_ns: float, time_ns: float) -> float:
    """Return how many times as fast as the reference a program is."""
    return reference_ns / time_ns


def rate(copies: int, reference_ns: float, longest_ns: float, elapsed_ns: float) -> float:
    """Return the work per day, in runs of the suite's longest reference; `elapsed_ns` is the time of all copies."""
    return copies * (reference_ns / longest_ns) * DAY_NS / elapsed_ns


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Return the geometric mean; None for no values, or when one is unknown."""
    numbers = list(values)
    if not numbers or any(value is None for value in numbers):
        return None
    return math.exp(statistics.fmean(math.log(value) for value in numbers if value is not None))


def rate_program(
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
    """Return one program's figures from its times.

    `contaminated`: number of runs of one copy during which the machine had other load; if there are any and all CPU
    times are known, the ratio from CPU time is given in addition to that from wall time.
    """
    times, rates = tuple(times_ns), tuple(rate_times_ns)
    single_ns = float(statistics.median(times)) if times else None
    copies_ns = float(statistics.median(rates)) if rates else None
    has_references = reference_ns is not None and longest_ns is not None
    cpu_times = list(cpu_times_ns) if contaminated else []
    cpu_ns = (
        statistics.median(cpu_time for cpu_time in cpu_times if cpu_time is not None)
        if cpu_times and all(cpu_times)
        else None
    )
    return Rated(
        name=name,
        reference_ns=reference_ns,
        times_ns=times,
        rate_times_ns=rates,
        median_ns=single_ns,
        ratio=None if reference_ns is None or single_ns is None else ratio(reference_ns, single_ns),
        rate_median_ns=copies_ns,
        rate=rate(copies, reference_ns, longest_ns, copies_ns)  # type: ignore[arg-type]
        if has_references and copies is not None and copies_ns is not None
        else None,
        delay=None if single_ns is None or copies_ns is None else copies_ns / single_ns,
        failed=failed,
        contaminated=contaminated,
        cpu_ratio=None if reference_ns is None or cpu_ns is None else ratio(reference_ns, cpu_ns),
    )


def rate_by_metric(metric: Metric, program: Rated, reference: float | None, values: Iterable[float]) -> Rated:
    """Return the figures of a program rated by a metric, one value for each good run, in place of its time."""
    numbers = tuple(values)
    median = float(statistics.median(numbers)) if numbers else None
    ratio = None
    if reference is not None and median is not None:
        ratio = median / reference if metric.higher else reference / median
    return replace(
        program,
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        reference=reference,
        values=numbers,
        median=median,
        ratio=ratio,
        rate=None,
        cpu_ratio=None,
    )


def tuning(name: str, settings: Mapping[str, Json], programs: Iterable[Rated]) -> Tuning:
    """Return a tuning with the geometric means of its programs."""
    rated_programs = tuple(programs)
    ratios = geometric_mean(program.ratio for program in rated_programs)
    return Tuning(name, settings, rated_programs, ratios, geometric_mean(program.rate for program in rated_programs))
