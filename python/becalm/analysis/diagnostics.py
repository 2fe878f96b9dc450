"""Findings on the runs of one program: warm-up, drift, levels, period, two modes, outliers, and disturbances.

Pure: arrays in, `Finding` values out. The tests are in `becalm.stats.time_series`, the causes of outliers in
`becalm.analysis.outlier_reasons`, the sentences in `becalm.wording.findings`.

Public: series_findings, outliers, contaminated, unknown, failure_numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from becalm.analysis.contamination import ContaminationRule
from becalm.analysis.outlier_reasons import CAUSE_COLUMNS, outlier_reason
from becalm.load.own_loads import OwnLoads
from becalm.nouns.finding import Finding
from becalm.nouns.run import Outcome, Run
from becalm.nouns.workload import Workload
from becalm.plans.history import History
from becalm.stats import time_series
from becalm.stats.arrays import Floats, among, median_of
from becalm.wording.findings import finding

FEWEST = 20
"""The fewest runs of a series about which findings are made."""

NAMED_OUTLIERS = 3

ColumnsOf = Callable[[int, Sequence[str]], dict[str, Any]]


def series_findings(
    name: str, history: History, columns_of: ColumnsOf, program: int = 0, loads: OwnLoads | None = None
) -> tuple[Finding, ...]:
    """Return findings on one program's counted good runs in their order; `loads` tell more about why a run was slow."""
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
    """Return the finding on the outliers of one program, with their causes; empty for fewer than FEWEST runs.

    `several`: it is one of several programs, so the finding names it.
    """
    wall = history.wall_ns(program).astype(np.float64)
    indices = time_series.outliers(wall).indices if len(wall) >= FEWEST else ()
    if len(indices) == 0:
        return ()
    record = columns_of(program, CAUSE_COLUMNS)
    counted = among(record["seq"], history.seqs(program))
    if not counted.all():
        record = {column: values[counted] for column, values in record.items()}
    return (_outliers(name, wall, indices, record, loads or OwnLoads.of(), several),)


def _shape(name: str, wall: Floats) -> list[Finding]:
    findings: list[Finding] = []
    warm = time_series.warmup(wall)
    if warm.detected:
        findings.append(finding("warmup", {"drop": warm.drop, "excess": warm.excess}, name))
    levels = time_series.levels(wall)
    if levels.detected:
        numbers = {"run": levels.start + 1, "runs": len(wall), "change": levels.change, "spread": levels.spread}
        findings.append(finding("levels", {**numbers, "levels": levels.late}, name))
    drift = time_series.drift(wall[warm.drop :] if warm.detected else wall)
    # A line through levels describes them worse.
    if drift.detected and not levels.detected:
        findings.append(finding("drift", {"change": drift.change, "p_value": drift.p_value}, name))
    period = time_series.period(wall)
    if period.detected:
        findings.append(finding("period", {"period": period.period, "p_value": period.p_value}, name))
    modes = time_series.bimodal(wall)
    if modes.detected:
        numbers = {"low_ns": modes.low, "high_ns": modes.high, "low_share": modes.low_share, "p_value": modes.p_value}
        findings.append(finding("bimodal", numbers, name))
    return findings


def _outliers(
    name: str, wall: Floats, indices: Sequence[int], record: dict[str, Any], loads: OwnLoads, several: bool
) -> Finding:
    median = median_of(wall)
    worst = sorted(indices, key=lambda index: -abs(wall[index] - median))[:NAMED_OUTLIERS]
    reasons = [outlier_reason(record, int(index), loads) for index in worst]
    numbers = {
        "count": len(indices),
        "runs": len(wall),
        "seqs": [int(record["seq"][index]) for index in worst],
        "changes": [float(wall[index] / median - 1) for index in worst],
        "causes": [reason.bar for reason in reasons],
        "cause_ns": [reason.bar_ns for reason in reasons],
        "reasons": [reason.to_json() for reason in reasons],
        **({"several": True} if several else {}),
    }
    return finding("outliers", numbers, name)


def contaminated(
    rounds: Sequence[int], measures: Mapping[str, int], rule: ContaminationRule, complete: int, dropped: bool
) -> tuple[Finding, ...]:
    """Return the finding on rounds, ascending, during which the machine was not quiet.

    `measures`: the number of these rounds in which each measure was beyond its limit; `dropped`: the rounds were left
    out, as requested in advance.
    """
    if not rounds:
        return ()
    numbers = {
        "rounds": list(rounds),
        "complete": complete,
        "rule": rule.text,
        "limits": {limit.measure: limit.most for limit in rule.limits},
        "dropped": dropped,
        "measures": dict(measures),
    }
    return (finding("contaminated", numbers),)


def unknown(
    rounds: Sequence[int], measures: Mapping[str, int], rule: ContaminationRule, complete: int, dropped: bool
) -> tuple[Finding, ...]:
    """Return the finding on rounds, ascending, on which the rule cannot decide.

    `measures`: the number of these rounds that lack each measure; `dropped`: contaminated rounds were to be left out.
    """
    if not rounds:
        return ()
    numbers = {"rounds": list(rounds), "complete": complete, "rule": rule.text, "dropped": dropped}
    return (finding("contamination_unknown", {**numbers, "measures": dict(measures)}),)


def failure_numbers(run: Run, stderr: str, done: int, workload: Workload | None = None) -> dict[str, Any]:
    """Return the numbers of the finding "failure" on one run, which `done` good runs precede.

    `unread`: the program ended well, but did not print the value to measure. `spoilt`: it ended well, but something
    around it failed.
    """
    codes = None if workload is None else workload.expect
    exited = run.outcome == Outcome.FAILED and run.status is not None and run.status >= 0
    succeeded = workload is not None and exited and (codes is None or run.status in codes)
    unread = succeeded and workload is not None and bool(workload.metrics)
    return {
        **({"unread": True} if unread else {"spoilt": True} if succeeded else {}),
        "seq": run.seq,
        "status": run.status,
        "outcome": str(run.outcome),
        "wall_ns": run.wall_ns,
        "warmup": run.warmup,
        "stderr": stderr,
        "done": done,
    }
