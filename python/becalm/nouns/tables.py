"""The engine's tables, as the agent printed them when becalm was built: what columns, sources and knobs there are.

The agent holds them; `becalm-agent tables` writes them into tables.json beside this package (`make build`, setup.py).
Nothing here is typed in twice: who needs to know a column or a source asks here.

Public: LoadColumn, RunColumn, Source, Quantity, BuiltInKernel, KernelParameter, load_columns, run_columns,
sources, quantities, built_in_kernels, rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

from becalm.errors import MachineError
from becalm.values import dataclass

FILE = Path(__file__).parents[1] / "tables.json"


@dataclass(frozen=True, slots=True)
class RunColumn:
    """A column of a run. `unit` is empty for a plain number or a word; `always`: known of every run."""

    name: str
    unit: str
    always: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class LoadColumn:
    """A column of a record of load (crates/becalm-core/src/load/table).

    `subject`: what it is about; `kind`: whether it tells how far counters moved or how things stood; `source`: where
    it is read ("taskstats", "group" and "agent" are no sources of the machine); `reads`: the values of that source that
    come into it, where one `*` stands for at least one character; `take`: how ("given": by the agent itself); `each`:
    how much of the column's unit one of them is; `pooling`: what becomes of it when
    neighbouring records are put together; `always`: known in every record; `metric`: its name for Prometheus, with a
    label where several columns share one, empty where it is not exposed.
    """

    name: str
    unit: str
    form: Literal["integer", "real", "word"]
    subject: Literal["record", "machine", "programs"]
    kind: Literal["difference", "state"]
    source: str
    pooling: Literal["sum", "mean", "max", "min", "first"]
    always: bool
    metric: str
    meaning: str
    take: Literal["sum", "count", "mean", "sampled", "given"]
    reads: tuple[str, ...]
    each: Literal["one", "tick", "page", "sector", "millisecond", "microsecond"]


@dataclass(frozen=True, slots=True)
class Source:
    """A source of the machine's load (crates/becalm-core/src/source/table.rs)."""

    name: str
    files: tuple[str, ...]
    what: str
    unit: str
    trap: str
    absent: str


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity of a run that the agent measures besides its times (crates/becalm-core/src/quantity.rs):
    `memory:peak`.

    `title`: what it is called in sentences; `unit`: of its values, empty for mere numbers.
    """

    name: str
    title: str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A parameter of a built-in kernel; `unit`: in what it is given; `least`: the smallest value that it takes.

    `usual`: what it is when nothing is said, in words.
    """

    name: str
    unit: Literal["bytes", "count", "time", "switch", "file"]
    least: int
    usual: str
    meaning: str


@dataclass(frozen=True, slots=True)
class BuiltInKernel:
    """A built-in kernel (crates/becalm-core/src/kernel/table.rs).

    `pressure`: how much it takes of what a chip's CPUs share, `sensitivity`: how much it loses when others take it,
    both as ranks among the kernels, 0 for none to 5; `why` in words.
    """

    name: str
    what: str
    pressure: int
    sensitivity: int
    why: str
    parameters: tuple[KernelParameter, ...]


@cache
def _tables(file: Path) -> Mapping[str, Any]:
    result: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return result


def rows(table: str) -> Sequence[Mapping[str, Any]]:
    """Return the rows of one table as the agent printed them. Raises MachineError where becalm is not built."""
    try:
        return cast("Sequence[Mapping[str, Any]]", _tables(FILE)[table])
    except (OSError, ValueError, KeyError) as error:
        raise MachineError(
            f"{FILE} lacks the table {table!r}: becalm was not built, or by an older version. In the source tree "
            "`make build` writes it; otherwise install becalm again."
        ) from error


@cache
def load_columns() -> tuple[LoadColumn, ...]:
    """Return the columns of a record of load, in the order of the agent's rows."""
    return tuple(LoadColumn(**{**row, "reads": tuple(row["reads"])}) for row in rows("load_columns"))


@cache
def run_columns() -> tuple[RunColumn, ...]:
    """Return the columns of a run, in the order of the agent's rows."""
    return tuple(RunColumn(**row) for row in rows("run_columns"))


@cache
def sources() -> tuple[Source, ...]:
    """Return the sources of the machine's load, in the order in which they are read."""
    return tuple(Source(**{**row, "files": tuple(row["files"])}) for row in rows("sources"))


@cache
def quantities() -> tuple[Quantity, ...]:
    """Return the quantities of a run besides its times, in the order of help and documents."""
    return tuple(Quantity(**row) for row in rows("quantities"))


@cache
def built_in_kernels() -> tuple[BuiltInKernel, ...]:
    """Return the built-in kernels of known pressure and sensitivity, in the order of documents."""
    return tuple(
        BuiltInKernel(**{**row, "parameters": tuple(KernelParameter(**parameter) for parameter in row["parameters"])})
        for row in rows("kernels")
    )
