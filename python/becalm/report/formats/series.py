"""The load over time of a study as a table: one line per sample, as CSV (RFC 4180) or Parquet.

The columns, empty in CSV and null in Parquet if unknown:

- `program`
- `first` and `last`: the runs that the sample belongs to
- `time_ns` since the beginning, `interval_ns` since the sample before
- the columns of the series (docs/reference/protocol.md): states at that time (`queue`, `frequency_khz`), and the
  increase of each counter since the sample before
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from becalm.errors import MachineError, UsageError
from becalm.files.cells import table_text
from becalm.files.written import target, writing
from becalm.load.record import Series
from becalm.report.document import Document
from becalm.report.formats import columns
from becalm.wording.printable import encodable

HEAD = ("program", "first", "last", "time_ns", "interval_ns")

FLOATS = frozenset(("queue",))
"""The columns of a series that are not whole numbers."""

ENDINGS = (".csv", ".parquet")


def check(path: Path) -> None:
    """Raise UsageError for a file of another kind, or one that this installation cannot write."""
    if path.suffix not in ENDINGS:
        raise UsageError(f"--series writes {' and '.join(ENDINGS)}, not {path.name!r}.")
    target(path)
    if path.suffix == ".parquet":
        columns.import_pyarrow()


def write(document: Document, path: Path, *, raw: bool = False) -> int:
    """Write the series of a study and return the number of samples. Raises UsageError for none, MachineError."""
    check(path)
    samples_table = table(document)
    samples = len(samples_table["time_ns"])
    if not samples:
        which = "This study" if document.number is None else f"Study {document.number}"
        raise UsageError(f"{which} has no load over time: `becalm watch -- COMMAND` records it.")
    try:
        with writing(path) as file:
            if path.suffix == ".csv":
                file.write(as_csv(samples_table, raw=raw).encode())
            else:
                columns.write(samples_table, file, FLOATS)
    except OSError as error:
        raise MachineError(f"{path} cannot be written: {error.strerror or error}.") from error
    return samples


def table(document: Document) -> dict[str, list[Any]]:
    """Return the samples of all series by column; all columns have the same length."""
    all_series: Sequence[Series] = document.series
    programs = {run.seq: document.study.workloads[run.workload].name for run in document.runs}
    names = list(dict.fromkeys(name for series in all_series for name in series.names))
    result: dict[str, list[Any]] = {name: [] for name in (*HEAD, *names)}
    for series in all_series:
        before: float | None = None
        for row in series.rows:
            at = row[0]
            values: dict[str, Any] = {
                "program": programs.get(series.first),
                "first": series.first,
                "last": series.last,
                "time_ns": at,
                "interval_ns": None if before is None or at is None else at - before,
                **dict(zip(series.names, row[1:], strict=True)),
            }
            for name, column in result.items():
                column.append(_whole(name, values.get(name)))
            before = at
    return result


def _whole(name: str, value: Any) -> Any:
    if isinstance(value, float) and name not in FLOATS and value == int(value):
        return int(value)
    return value


def as_csv(samples: Mapping[str, Sequence[Any]], *, raw: bool = False) -> str:
    """Return a table as comma-separated values."""
    return encodable(table_text([tuple(samples), *zip(*samples.values(), strict=True)], raw=raw))
