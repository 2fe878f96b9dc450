"""A table of results over commits, as CSV: a row for each value, with `commit`, `benchmark` and `value` in the header.

Optional columns are `date` (of the commit), `branch`, `unit`, `machine`, `measured` (when) and `better` (`higher` or
`lower`). Several rows with the same keys are repetitions. Each commit on each machine becomes a session of a history,
as `becalm record` makes them; rows of one commit that were measured at different times become separate sessions. Cells
are separated by commas, semicolons or tabs.

Public: recognises, read.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from msgspec.structs import replace

from becalm.errors import UsageError
from becalm.nouns.metric import Better
from becalm.nouns.options.record import RecordOptions
from becalm.nouns.study import Study
from becalm.report.document import Document
from becalm.report.formats.benchmarks import ITERATION, NS, ParsedBenchmark, Repetition, programs_of
from becalm.report.formats.left_out import LeftOutEntries
from becalm.report.formats.origin import Dates, facts_of
from becalm.report.revision import LONGEST
from becalm.units import plain_number

NEEDED = ("commit", "benchmark", "value")

KNOWN = (*NEEDED, "date", "branch", "unit", "machine", "measured", "better")

DELIMITERS = ",;\t"

MOST_ROWS = 1_000_000
"""The largest number of rows of a file."""

SOURCE = "CSV"

SessionKey = tuple[str, str, str, str, str]
"""A commit, its date, its branch, the machine and the time of measuring, as the file has them."""

Row = Mapping[str, str]


def recognises(value: object) -> bool:
    """Return whether a text is of this format."""
    return isinstance(value, str) and _delimiter(value) is not None


def _delimiter(text: str) -> str | None:
    header = next((line for line in text.splitlines() if line.strip()), "")
    for delimiter in DELIMITERS:
        if set(NEEDED) <= set(_names(header, delimiter)):
            return delimiter
    return None


def _names(header: str, delimiter: str) -> list[str]:
    return [name.strip().lower() for name in next(csv.reader([header], delimiter=delimiter), [])]


def read(value: str) -> list[Document]:
    """Return a session for each commit. Raises ValueError for unknown columns, and where no row has a value."""
    delimiter = _delimiter(value) or ","
    table = csv.reader(io.StringIO(value.lstrip()), delimiter=delimiter)
    names = [name.strip().lower() for name in next(table, [])]
    if unknown := [name for name in names if name not in KNOWN]:
        raise ValueError(f"its column {unknown[0]!r:.80} is not known; known are {', '.join(KNOWN)}")
    if len(set(names)) < len(names):
        raise ValueError("it has two columns of the same name")
    left_out, sessions = LeftOutEntries(), dict[SessionKey, list[Row]]()
    for place, cells in enumerate(table):
        if place == MOST_ROWS:
            raise ValueError(f"it has more than {MOST_ROWS:,} rows; divide it into several files")
        if not any(cell.strip() for cell in cells):
            continue
        row = dict(zip(names, map(str.strip, cells), strict=False))
        with left_out.entry(f"row {place + 2}"):
            sessions.setdefault(_session(row, len(cells) == len(names)), []).append(row)
    # The date of a commit is mostly a day without time, and serves only to order commits.
    commits, dates = Dates(utc=True), Dates()
    documents = [_document(session, rows, commits, dates, left_out) for session, rows in sessions.items()]
    known = [document for document in documents if document.runs]
    if not known:
        raise left_out.refusal("it holds no row with a value")
    # Sessions are in the order of the commits where dates are known, otherwise in that of the file.
    known.sort(key=lambda document: document.study.options["commit_ns"] or 0)
    noticed = (*left_out.findings(), *dates.findings())
    return [replace(known[0], noticed=(*noticed, *known[0].noticed)), *known[1:]]


def _session(row: Row, whole: bool) -> SessionKey:
    """Return the key of the session that a row belongs to. Raises ValueError."""
    if not whole:
        raise ValueError("it has another number of cells than the header")
    for name in NEEDED:
        if not row[name]:
            raise ValueError(f"its {name} is empty")
    if len(row["commit"]) > LONGEST:
        raise ValueError(f"its commit has {len(row['commit'])} characters, and {LONGEST} are the most")
    return row["commit"], row.get("date", ""), row.get("branch", ""), row.get("machine", ""), row.get("measured", "")


def _document(session: SessionKey, rows: list[Row], commits: Dates, dates: Dates, left_out: LeftOutEntries) -> Document:
    commit, date, branch, machine, measured = session
    commit_ns = commits.ns(date) or None
    values: dict[tuple[str, str, str, Better], list[Repetition]] = {}
    for row in rows:
        with left_out.entry(f"{row['benchmark']} of {commit:.12}"):
            if date and commit_ns is None:
                raise ValueError(f"its date {date!r:.40} is not understood; write it like 2026-11-28T09:30:00+00:00")
            unit, number = row.get("unit", ""), _number(row["value"])
            better = Better(row.get("better") or ("higher" if unit.endswith("/s") else "lower"))
            scale, value_unit, metric = (NS[unit], "ns", ITERATION) if unit in NS else (1.0, unit, "value")
            values.setdefault((row["benchmark"], value_unit, metric, better), []).append(Repetition(number * scale))
    benchmarks = [
        ParsedBenchmark(name, repetitions, value_unit, metric, better)
        for (name, value_unit, metric, better), repetitions in values.items()
    ]
    workloads, runs = programs_of(benchmarks, left_out)
    options = RecordOptions(source=SOURCE, machine=machine, commit=commit, commit_ns=commit_ns, branch=branch)
    return Document(
        Study("record", workloads, options=options.to_json(), host="unknown", title="imported from CSV"),
        runs,
        facts=facts_of(machine),
        created_ns=dates.ns(measured) or commit_ns,
        environment="unknown",
    )


def _number(text: str) -> float:
    """Return a value. Raises ValueError for other text, and for a number that can be read in two ways."""
    try:
        return plain_number(text)
    except UsageError as error:
        raise ValueError(str(error).removesuffix(".")) from None
