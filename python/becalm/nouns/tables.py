"""The engine's tables of columns, sources, quantities, kernels and knobs, as the agent printed them at build time.

`becalm-agent tables` writes them into tables.json in this package (`make build`, setup.py). No row is repeated in
Python code, which reads the tables here.

Public: LoadColumn, RunColumn, Source, Quantity, BuiltInKernel, KernelParameter, load_columns, run_columns,
sources, quantities, built_in_kernels, rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from becalm.errors import MachineError

FILE = Path(__file__).parents[1] / "tables.json"


class RunColumn(msgspec.Struct, frozen=True):
    """A column of a run. `unit`: empty for a plain number or a word; `always`: whether every run has it."""

    name: str
    unit: str
    always: bool
    meaning: str


class LoadColumn(msgspec.Struct, frozen=True):
    """A column of a record of load (crates/becalm-core/src/load/table).

    - `subject`: the thing that the column describes.
    - `kind`: whether it is the change of a counter or a state.
    - `source`: where it is read ("taskstats", "group" and "agent" are not sources of the machine).
    - `reads`: the values of the source from which it is computed; a `*` stands for at least one character.
    - `take`: how it is computed from them ("given": by the agent itself).
    - `part`: the unit of these values.
    - `pooling`: how neighbouring records are merged.
    - `always`: whether every record has the column.
    - `metric`: its name for Prometheus, with a label where several columns share a name; empty if it is not exposed.
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
    part: Literal["one", "tick", "page", "sector", "millisecond", "microsecond"]


class Source(msgspec.Struct, frozen=True):
    """A source of the machine's load (crates/becalm-core/src/source/table.rs)."""

    name: str
    files: tuple[str, ...]
    what: str
    unit: str
    trap: str
    absent: str


class Quantity(msgspec.Struct, frozen=True):
    """A quantity of a run that the agent measures besides its times, such as `memory:peak`.

    `title`: its name in sentences; `unit`: the unit of its values, empty for plain numbers. Source:
    crates/becalm-core/src/quantity.rs.
    """

    name: str
    title: str
    unit: str
    meaning: str


class KernelParameter(msgspec.Struct, frozen=True):
    """A parameter of a built-in kernel. `unit`: the unit of its value; `least`: the smallest value.

    `usual`: the default, in words.
    """

    name: str
    unit: Literal["bytes", "count", "time", "switch", "file"]
    least: int
    usual: str
    meaning: str


class BuiltInKernel(msgspec.Struct, frozen=True):
    """A built-in kernel (crates/becalm-core/src/kernel/table.rs).

    `pressure`: how much it slows others in a co-run; `sensitivity`: how much it is slowed; both are ranks among the
    kernels, from 0 for none to 5. `why`: the reason for both, in words.
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
    """Return the rows of a table as the agent printed them. Raises MachineError if becalm is not built."""
    try:
        return cast("Sequence[Mapping[str, Any]]", _tables(FILE)[table])
    except (OSError, ValueError, KeyError) as error:
        raise MachineError(
            f"{FILE} lacks the table {table!r}: becalm was not built, or was built from an older version. In the "
            "source tree `make build` writes it; otherwise install becalm again."
        ) from error


@cache
def load_columns() -> tuple[LoadColumn, ...]:
    """Return the columns of a record of load, in the order of the agent's rows."""
    columns = []
    for row in rows("load_columns"):
        members = {"part" if key == "each" else key: value for key, value in row.items()}
        columns.append(LoadColumn(**{**members, "reads": tuple(row["reads"])}))
    return tuple(columns)


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
    """Return the quantities that the agent measures besides times, in the order of help and documents."""
    return tuple(Quantity(**row) for row in rows("quantities"))


@cache
def built_in_kernels() -> tuple[BuiltInKernel, ...]:
    """Return the built-in kernels that have ranks of pressure and sensitivity, in the order of documents."""
    return tuple(
        BuiltInKernel(**{**row, "parameters": tuple(KernelParameter(**parameter) for parameter in row["parameters"])})
        for row in rows("kernels")
    )
