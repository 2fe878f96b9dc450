"""Summaries of programs and of their metrics, from runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from becalm.nouns.finding import Finding, Interval
from becalm.nouns.metric import Metric
from becalm.nouns.run import Averages
from becalm.nouns.workload import Workload
from becalm.plans.history import History
from becalm.results.compare import MetricSummary, Summary, Throughput
from becalm.stats.arrays import Floats
from becalm.stats.describe import describe
from becalm.stats.histogram import histogram
from becalm.stats.thinned import course, quantiles
from becalm.wording.findings import finding


def summarise(
    name: str,
    history: History,
    program: int,
    averages: Averages,
    confidence: float,
    *,
    workload: Workload | None = None,
    printed: Floats | None = None,
    memory: tuple[tuple[float, float], ...] = (),
) -> Summary | None:
    """Return the summary of one program; None without a complete round.

    `workload`: the source of its metrics and tasks; `printed`: all its metrics, shape (runs, metrics), by default the
    one in the history; `memory`: the memory of one run over its time (`becalm.analysis.run_memory`).
    """
    wall = history.wall_ns(program)
    if len(wall) == 0:
        return None
    response = np.asarray(wall if history.metric is None else history.printed(program), dtype=np.float64)
    timed = history.timed
    description = describe(wall if timed else response, confidence)
    mean = Interval(description.mean, *description.mean_interval) if timed else None
    return Summary(
        name=name,
        runs=len(wall),
        failed=history.bad[program],
        mean_ns=mean,
        median_ns=Interval(description.median, *description.median_interval) if timed else None,
        cv=Interval(description.cv, *description.cv_interval) if timed else None,
        sd_ns=description.sd if timed else None,
        min_ns=int(description.minimum) if timed else None,
        max_ns=int(description.maximum) if timed else None,
        user_ns=averages.user_ns,
        system_ns=averages.system_ns,
        wait_ns=averages.wait_ns,
        max_rss_bytes=averages.max_rss_bytes,
        effective_runs=description.effective_n,
        runs_for_one_percent=description.runs_for(0.01) if timed else None,
        histogram=histogram(wall) if timed else None,
        metrics=_metrics(history, program, workload, printed, confidence),
        throughput=throughput(workload, mean),
        quantiles=quantiles(response),
        course=course(response),
        memory=memory,
    )


def _metrics(
    history: History, program: int, workload: Workload | None, printed: Floats | None, confidence: float
) -> tuple[MetricSummary, ...]:
    if workload is None or not workload.metrics or history.metric is None:
        return ()
    columns = history.printed(program)[:, None] if printed is None else printed
    return tuple(
        metric_summary(metric, columns[:, place], confidence)
        for place, metric in enumerate(workload.metrics[: columns.shape[1]])
        if len(columns)
    )


def metric_summary(metric: Metric, values: Floats, confidence: float) -> MetricSummary:
    """Return the summary of a metric of one program over its runs: `values` has shape (runs,), at least one."""
    description = describe(values, confidence)
    return MetricSummary(
        name=metric.name,
        unit=metric.unit,
        better=metric.better,
        runs=len(values),
        mean=Interval(description.mean, *description.mean_interval),
        median=Interval(description.median, *description.median_interval),
        # A metric that is 0 in all runs does not vary.
        cv=Interval(description.cv, *description.cv_interval) if description.mean else Interval(0.0, 0.0, 0.0),
        sd=description.sd,
        minimum=description.minimum,
        maximum=description.maximum,
        histogram=histogram(values),
    )


def throughput(workload: Workload | None, mean_ns: Interval | None) -> Throughput | None:
    """Return the tasks that a program completes in a second of its mean time; the ends of the interval are swapped."""
    if workload is None or workload.tasks is None or mean_ns is None or mean_ns.value <= 0:
        return None
    tasks_ns = workload.tasks.count * 1e9
    low = 0.0 if not math.isfinite(mean_ns.high) else tasks_ns / mean_ns.high
    high = tasks_ns / mean_ns.low if mean_ns.low > 0 else math.inf
    return Throughput(workload.tasks.what, Interval(tasks_ns / mean_ns.value, low, high))


def averages(columns: Mapping[str, Floats]) -> Averages:
    """Return the means of `user_ns`, `system_ns` and `wait_ns`, None if unknown (NaN) in any run, and the largest
    `max_rss_bytes`, None if unknown in all runs."""
    memory = columns["max_rss_bytes"]
    means = {
        name: float(columns[name].mean()) if len(columns[name]) and not np.isnan(columns[name]).any() else None
        for name in ("user_ns", "system_ns", "wait_ns")
    }
    largest = int(np.nanmax(memory)) if len(memory) and not np.isnan(memory).all() else None
    return Averages(**means, max_rss_bytes=largest)


def left_behind(names: Sequence[str], history: History) -> tuple[Finding, ...]:
    """Return a finding for each program whose descendants outlived it."""
    return tuple(
        finding("left_behind", {"runs": count}, name)
        for name, count in zip(names, history.left_behind, strict=True)
        if count
    )
