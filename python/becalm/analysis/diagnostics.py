"""What the runs of one program show: warm-up, drift, levels, period, two modes, outliers; and what disturbed them.

Pure: arrays in, `Finding` values out. The tests are in `becalm.stats.time_series`, the causes of outliers in
`becalm.analysis.outlier_reasons`, the sentences in `becalm.wording.findings`.

Public: of_series, outliers, contaminated, unknown, failure_numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from becalm.analysis.contamination import ContaminationRule
from becalm.analysis.outlier_reasons import CAUSE_COLUMNS, reason
from becalm.load.own_loads import OwnLoads
from becalm.nouns.finding import Finding
from becalm.nouns.run import Outcome, Run
from becalm.nouns.workload import Workload
from becalm.plans.history import History
from becalm.stats import time_series
from becalm.stats.arrays import Floats, among, median_of
from becalm.wording.findings import finding

FEWEST = 20
"""Runs below which nothing is said about a series."""

NAMED_OUTLIERS = 3

ColumnsOf = Callable[[int, Sequence[str]], dict[str, Any]]


def of_series(
    name: str, history: History, columns_of: ColumnsOf, program: int = 0, loads: OwnLoads | None = None
) -> tuple[Finding, ...]:
    """Findings on one program's counted good runs in their order; `loads` tell more of why a run was slow."""
    wall = history.wall_ns(program).astype(np.float64)
    findings: list[Finding] = []
    if len(wall) and median_of(wall) < 1e6:
        findings.append(finding("short", {"median_ns": median_of(wall)}, name))
    if len(wall) < FEWEST:
        return tuple(findings)
    findings += _shape(name, wall)
    return (*findings, *outliers(name, history, columns_of, program, loads))


def outliers(
    name: str,
    history: History,
    columns_of: ColumnsOf,
    program: int = 0,
    loads: OwnLoads | None = None,
    *,
    several: bool = False,
) -> tuple[Finding, ...]:
    """The finding on one program's runs that stand out, with their causes; none of fewer than FEWEST runs.

    `several`: it is one of several programs, so it is named.
    """
    wall = history.wall_ns(program).astype(np.float64)
    indices = time_series.outliers(wall).indices if len(wall) >= FEWEST else ()
    if len(indices) == 0:
        return ()
    record = columns_of(program, CAUSE_COLUMNS)
    kept = among(record["seq"], history.seqs(program))
    if not kept.all():
        record = {column: values[kept] for column, values in record.items()}
    return (_outliers(name, wall, indices, record, loads or OwnLoads.of(), several),)


def _shape(name: str, wall: Floats) -> list[Finding]:
    findings: list[Finding] = []
    warm = time_series.warmup(wall)
    if warm.found:
        findings.append(finding("warmup", {"drop": warm.drop, "excess": warm.excess}, name))
    levels = time_series.levels(wall)
    if levels.found:
        numbers = {"run": levels.start + 1, "runs": len(wall), "change": levels.change, "spread": levels.spread}
        findings.append(finding("levels", {**numbers, "levels": levels.late}, name))
    drift = time_series.drift(wall[warm.drop :] if warm.found else wall)
    # A line through levels says less than they do.
    if drift.found and not levels.found:
        findings.append(finding("drift", {"change": drift.change, "p_value": drift.p_value}, name))
    period = time_series.period(wall)
    if period.found:
        findings.append(finding("period", {"period": period.period, "p_value": period.p_value}, name))
    modes = time_series.bimodal(wall)
    if modes.found:
        numbers = {"low_ns": modes.low, "high_ns": modes.high, "low_share": modes.low_share, "p_value": modes.p_value}
        findings.append(finding("bimodal", numbers, name))
    return findings


def _outliers(
    name: str, wall: Floats, indices: Sequence[int], record: dict[str, Any], loads: OwnLoads, several: bool
) -> Finding:
    median = median_of(wall)
    worst = sorted(indices, key=lambda index: -abs(wall[index] - median))[:NAMED_OUTLIERS]
    reasons = [reason(record, int(index), loads) for index in worst]
    numbers = {
        "count": len(indices),
        "runs": len(wall),
        "seqs": [int(record["seq"][index]) for index in worst],
        "changes": [float(wall[index] / median - 1) for index in worst],
        "causes": [each.bar for each in reasons],
        "cause_ns": [each.bar_ns for each in reasons],
        "reasons": [each.to_json() for each in reasons],
        **({"several": True} if several else {}),
    }
    return finding("outliers", numbers, name)


def contaminated(
    rounds: Sequence[int], measures: Mapping[str, int], by: ContaminationRule, complete: int, dropped: bool
) -> tuple[Finding, ...]:
    """Rounds, ascending, during which the machine was not quiet, and how many of them each measure shows.

    `dropped`: they were left out, as was asked for beforehand.
    """
    if not rounds:
        return ()
    numbers = {
        "rounds": list(rounds),
        "complete": complete,
        "rule": by.text,
        "limits": {limit.measure: limit.most for limit in by.limits},
        "dropped": dropped,
        "measures": dict(measures),
    }
    return (finding("contaminated", numbers),)


def unknown(
    rounds: Sequence[int], measures: Mapping[str, int], by: ContaminationRule, complete: int, dropped: bool
) -> tuple[Finding, ...]:
    """Rounds, ascending, of which the rule that was asked for cannot say it, and how many of them lack each measure."""
    if not rounds:
        return ()
    numbers = {"rounds": list(rounds), "complete": complete, "rule": by.text, "dropped": dropped}
    return (finding("contamination_unknown", {**numbers, "measures": dict(measures)}),)


def failure_numbers(run: Run, stderr: str, done: int, workload: Workload | None = None) -> dict[str, Any]:
    """Numbers of the finding "failure" on one run, `done` good ones before it.

    `unread`: it ended well, but did not print what was to be measured. `spoilt`: it ended well, and what happened
    around it did not.
    """
    codes = None if workload is None else workload.expect
    well = run.outcome == Outcome.FAILED and run.status is not None and run.status >= 0
    fine = workload is not None and well and (codes is None or run.status in codes)
    unread = fine and workload is not None and bool(workload.metrics)
    return {
        **({"unread": True} if unread else {"spoilt": True} if fine else {}),
        "seq": run.seq,
        "status": run.status,
        "outcome": str(run.outcome),
        "wall_ns": run.wall_ns,
        "warmup": run.warmup,
        "stderr": stderr,
        "done": done,
    }
