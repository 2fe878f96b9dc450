"""The values of a program for another tool's file: wall times, or values per iteration where only these are known.

A program whose values the file cannot hold is left out; `unwritten` returns which and why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec

from becalm.errors import UsageError
from becalm.nouns.run import Run
from becalm.nouns.workload import Workload
from becalm.report.document import Document, by_program
from becalm.units import join_names
from becalm.wording.printable import encodable
from becalm.wording.program_names import names_of, program_labels

SECOND, BYTE, INTEGER = "second", "byte", "integer"
"""Names of units in pyperf."""

SCALES = {
    **{unit: (SECOND, scale) for unit, scale in (("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0))},
    **dict.fromkeys(("B", "bytes"), (BYTE, 1.0)),
    "": (INTEGER, 1.0),
}
"""Units of metrics: their names in pyperf, and their size in that unit."""


class Exported(msgspec.Struct, frozen=True):
    """A program of a file: its name, its good runs, and their values in `unit`."""

    name: str
    workload: Workload
    runs: Sequence[Run]
    unit: str
    values: tuple[float, ...]


def programs_for(document: Document, tool: str, units: Collection[str], *, unique: bool = False) -> list[Exported]:
    """Return the programs that a tool's file can hold. `unique`: whether it needs distinct names.

    Raises UsageError where it can hold none of those that have runs.
    """
    programs = [program for program in _all(document, units, unique=unique) if isinstance(program, Exported)]
    if not programs and (left := unwritten(document, units)):
        raise UsageError(f"Nothing of this study can be written for {tool}: {'; '.join(left)}. --format csv has all.")
    return programs


def unwritten(document: Document, units: Collection[str]) -> list[str]:
    """Return the programs that such a file cannot hold, each with the reason, as parts of a sentence."""
    return [reason for reason in _all(document, units, unique=False) if isinstance(reason, str)]


def _all(document: Document, units: Collection[str], *, unique: bool) -> Iterator[Exported | str]:
    workloads = document.study.workloads
    labels = zip(program_labels(workloads), names_of(workloads), strict=True)
    for workload, (_, runs), (label, title) in zip(workloads, by_program(document), labels, strict=True):
        if not runs:
            continue
        name = encodable((label if unique else workload.name) if workload.name.strip() else title)
        times = [run.wall_ns for run in runs if run.wall_ns is not None]
        if len(times) == len(runs):
            yield Exported(name, workload, runs, SECOND, tuple(ns / 1e9 for ns in times))
            continue
        metric = workload.metrics[0] if workload.metrics else None
        values = tuple(run.metrics[0] for run in runs if run.metrics)
        unit, scale = SCALES.get(metric.unit, ("", 1.0)) if metric is not None else ("", 1.0)
        if unit == INTEGER and not all(value.is_integer() for value in values):
            unit = ""
        if unit in units and len(values) == len(runs):
            yield Exported(name, workload, runs, unit, tuple(value * scale for value in values))
        else:
            problem = "no wall time is known" if metric is None else f"its values are in {metric.unit or 'no unit'}"
            held = join_names(f"{unit}s" for unit in sorted(units))
            yield f"{title} is left out, {problem}, and the format holds {held}"
