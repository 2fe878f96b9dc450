"""Comma-separated values: one line per run, with the program's name; unknown is empty (RFC 4180).

Numbers that the programs printed are columns `metric_…` with their names. Where the load was recorded, the columns of
the record that covers the run follow, as `load_…`; the runs from `load_first` to `load_last` share a record. A file of
timed regions has one line per region: its name, its length in ns and in ticks, and the fields of its record.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from becalm.analysis.regions_lengths import gather
from becalm.files.cells import Cell, table_text
from becalm.load.record import LOAD_COLUMNS, Load
from becalm.nouns.run import COLUMNS, Run
from becalm.report.document import Document
from becalm.wording.printable import encodable
from becalm.wording.program_names import program_labels

NAMED = tuple(name for name in COLUMNS if name != "metrics")
"""The columns of a run without its metrics, each of which is a column of its own."""


def write(document: Document, *, raw: bool = False) -> str:
    """Return all runs in order, including warm-ups and failed ones. `raw`: whether names that look like formulas are
    left as they are."""
    rows = _regions(document) if document.regions else _runs(document)
    # A name that is not UTF-8 contains surrogates (PEP 383), which no file can hold.
    return encodable(table_text(rows, raw=raw))


def _runs(document: Document) -> Iterator[Sequence[Cell]]:
    """Yield the head, then a line for each run."""
    loads = sorted(document.loads, key=lambda load: load.first)
    begins = [load.first for load in loads]
    more = tuple(f"load_{name}" for name in LOAD_COLUMNS) if loads else ()
    programs = document.study.workloads
    printed = tuple(dict.fromkeys(metric.name for program in programs for metric in program.metrics))
    places = [{metric.name: index for index, metric in enumerate(program.metrics)} for program in programs]
    yield ("program", *NAMED, *(f"metric_{name}" for name in printed), *more)
    names = program_labels(programs)

    def numbers(run: Run) -> Iterator[float | None]:
        """Yield the metrics of a run, in the order of the columns."""
        for name in printed:
            place = places[run.workload].get(name)
            yield None if run.metrics is None or place is None else run.metrics[place]

    def around(run: Run) -> Load | tuple[None, ...]:
        """Return the load of a run, or as many empty columns."""
        place = bisect_right(begins, run.seq) - 1
        return loads[place] if place >= 0 and run.seq <= loads[place].last else (None,) * len(more)

    for run in document.runs:
        yield (names[run.workload], *_known(run), *numbers(run), *around(run))


def _known(run: Run) -> list[Cell]:
    """Return the columns of a run without its metrics; the start is empty where another tool did not record it."""
    return [None if name == "started_ns" and not run.started_ns else getattr(run, name) for name in NAMED]


def _regions(document: Document) -> Iterator[Sequence[Cell]]:
    """Yield the head, then a line for each region, name by name."""
    yield ("region", "length_ns", "unix_ns", "start", "ticks", "began_on", "ended_on", "flags")
    lengths = gather(document.regions)
    for name, records in () if lengths is None else lengths.by_name():
        assert lengths is not None
        columns = (lengths.ns(records["ticks"]), lengths.unix_ns(records))
        own = (records[field] for field in ("start", "ticks", "began_on", "ended_on", "flags"))
        for row in zip(*(column.tolist() for column in (*columns, *own)), strict=True):
            yield (name, round(row[0], 3), *row[1:])
