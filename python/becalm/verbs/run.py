"""`becalm run`: one program, and how far its run time can be trusted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from becalm.analysis.comparison import summarise
from becalm.analysis.diagnostics import of_series
from becalm.nouns.history import History
from becalm.nouns.run import Averages
from becalm.nouns.verdict import Finding, Summary, Verdict
from becalm.nouns.workload import Workload
from becalm.study.interleaved import Extras, Kept, measure_interleaved
from becalm.study.options import options as sort_options

DEFAULT_BUDGET = 10.0
"""Seconds of measuring when neither a budget nor a number of runs is given."""


def run(command: str | Iterable[str] | Workload, **options: Any) -> Verdict:
    """Measure one program: mean, median and spread with intervals, drift, modes, outliers.

    Arguments:
        command: a command line (split as a shell would, not given to one), an argument list, or a Workload.
        options: those of `Measuring` (runs, budget, precision, warmup, seed, settings, confidence, host, store,
            user, sudo, title, listener) and of `Workload` (shell, name, directory, environment, input, prepare,
            cleanup, timeout, expect, output, cold).

    Returns a Verdict whose one summary has times in ns. Stops at `precision` (half width of the interval of the
    mean, as a fraction), `runs` or `budget` (10 s by default), whatever comes first.

    Raises UsageError, WorkloadError (the program cannot be run or fails at once), MachineError, StoreError.
    """
    measuring, workload = sort_options(options)
    made = Workload.of(command, **workload)
    goal = measuring.goal(DEFAULT_BUDGET)

    def interim(history: History) -> Summary | None:
        return summarise(made.name, history, 0, Averages(), measuring.confidence)

    def analyse(history: History, kept: Kept) -> tuple[Finding, ...]:
        return of_series(made.name, history, kept.columns, loads=kept.loads())

    return measure_interleaved("run", [made], measuring, goal, extras=Extras(analyse, interim))
