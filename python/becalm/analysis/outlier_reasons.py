"""The reason why one run took longer or less than the median run of its series.

`outlier_reason` examines the bars of a waterfall (`becalm.load.waterfall`) where the load of that run was recorded, and
otherwise the run's own record. Pure: numbers out; the sentences are in `becalm.wording.series_findings`.

Public: OutlierReason, outlier_reason, CAUSE_COLUMNS.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from becalm.load.own_loads import OwnLoads
from becalm.load.time_accounting import Times, middle, of
from becalm.load.waterfall import SLOWER, waterfall
from becalm.nouns.codec import Json
from becalm.nouns.run import COLUMNS, Run
from becalm.stats.arrays import Floats, among, median_of

SAMPLE = 1000
"""The most runs from which a typical run with load is taken."""

CAUSE_COLUMNS = ("seq", "wall_ns", "user_ns", "system_ns", "wait_ns", "major_faults", "involuntary")


class OutlierReason(msgspec.Struct, frozen=True):
    """The reason why a run is an outlier; `bar` and `bar_ns` are the bar of its waterfall with most of the excess, if
    any.

    `kind`: the name of that bar, "kernel", or a reason from the record alone: "no_cpu_time", "kernel_alike" (kernel
    time differs by as much), "cpu_alike", "waited", "page_reads", "no_cause". `numbers`: in the units of their names.
    """

    kind: str
    numbers: Mapping[str, Json] = msgspec.field(default_factory=dict)
    bar: str | None = None
    bar_ns: float | None = None

    def to_json(self) -> dict[str, Json]:
        """Return kind and numbers as one object."""
        return {"kind": self.kind, **self.numbers}


def outlier_reason(record: dict[str, Any], index: int, loads: OwnLoads) -> OutlierReason:
    """Return the reason why a run took longer than the median run.

    For a run that took less, and where the bars do not explain the excess, the reason comes from the record alone,
    without a bar.
    """
    median = median_of(record["wall_ns"])
    excess = float(record["wall_ns"][index]) - median
    if excess <= 0:
        return _reason_from_record(record, index)
    seq = int(record["seq"][index])
    load = loads.read([seq])[seq] if seq in loads.seqs else None
    fall = waterfall(of([_run(record, index)], load), _median_run(record, OwnLoads.of() if load is None else loads))
    bar = None if fall is None else fall.largest
    if bar is None or bar.ns is None or bar.ns < 0.3 * excess:
        return _reason_from_record(record, index)
    system = _excess(record["system_ns"], index)
    kernel = bar.name == SLOWER and system > 0.5 * bar.ns
    quota = next((piece.ns for piece in bar.parts if piece.name == "quota"), 0.0)
    numbers = {"part_ns": min(bar.ns, excess), "excess_ns": excess, "quota": quota > 0.5 * bar.ns}
    return OutlierReason("kernel" if kernel else bar.name, numbers, bar.name, bar.ns)


def _run(record: dict[str, Any], index: int) -> Run:
    """Return the run, with the fields that CAUSE_COLUMNS has."""

    def whole(column: str) -> int | None:
        value = float(record[column][index])
        return None if np.isnan(value) else int(value)

    seq, wall, user, system, wait = (whole(column) for column in CAUSE_COLUMNS[:5])
    empty = Run._make([None] * len(COLUMNS))
    return empty._replace(seq=seq or 0, wall_ns=wall or 0, user_ns=user, system_ns=system, wait_ns=wait)


def _median_run(record: dict[str, Any], loads: OwnLoads) -> Times:
    """Return the median run; where there are loads, that of at most SAMPLE runs that have one."""
    indices = np.flatnonzero(among(record["seq"], loads.seqs)) if len(loads.seqs) else np.empty(0, np.int64)
    if len(indices):
        runs = [_run(record, index) for index in indices[:: -(-len(indices) // SAMPLE)]]
        run_loads = loads.read([run.seq for run in runs])
        median_times = middle(of([run], run_loads[run.seq]) for run in runs)
        assert median_times is not None
        return replace(median_times, wall_ns=median_of(record["wall_ns"]))

    def median(values: Floats) -> float | None:
        return None if np.isnan(values).any() else median_of(values)

    cpu, wait = median(record["user_ns"] + record["system_ns"]), median(record["wait_ns"])
    return Times(len(record["seq"]), median_of(record["wall_ns"]), cpu_ns=cpu, wait_ns=wait)


def _excess(values: Floats, index: int) -> float:
    """Return the excess of a run over the median of the known values; NaN where the run's own value is unknown."""
    value = float(values[index])
    return math.nan if math.isnan(value) else value - median_of(values[~np.isnan(values)])


def _reason_from_record(record: dict[str, Any], index: int) -> OutlierReason:
    """Return the reason in the record of one run why it took longer or less than the median run."""

    def excess(values: Floats) -> float:
        return _excess(values, index)

    wall = excess(record["wall_ns"])
    cpu = excess(record["user_ns"] + record["system_ns"])
    if np.isnan(cpu) or wall == 0:
        return OutlierReason("no_cpu_time")
    if cpu / wall > 0.5:
        return OutlierReason("kernel_alike" if excess(record["system_ns"]) / cpu > 0.5 else "cpu_alike")
    if excess(record["wait_ns"]) / wall > 0.5:
        return OutlierReason("waited", {"wait_ns": float(record["wait_ns"][index])})
    if excess(record["major_faults"]) > 0:
        return OutlierReason("page_reads", {"pages": int(record["major_faults"][index])})
    return OutlierReason("no_cause")
