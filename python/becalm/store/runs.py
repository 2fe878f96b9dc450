"""The tables of runs and of their output. Each row is stored with its checksum, and only read if that matches.

Public: STORED, insert, insert_outputs, runs, good_columns, good_metrics, averages, missing, last_outcome, texts,
are_whole, is_whole_text.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from becalm.nouns.run import COLUMNS, Averages, Run
from becalm.store import counts
from becalm.store.checksum import as_text, checksums, match_checksums, text_checksum
from becalm.store.database import Connection
from becalm.store.schema import OUTCOMES

_STARTED = COLUMNS.index("started_ns")
_OUTCOME = COLUMNS.index("outcome")
_METRICS = COLUMNS.index("metrics")
_CODES = {word: code for code, word in enumerate(OUTCOMES)}
STORED = ("study_id", *COLUMNS, "checksum")
"""The columns of a row, its checksum last."""

_SEQ = STORED.index("seq")
_CHUNK = 20_000
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")

_GOOD = f"study_id = :number AND workload = :program AND round >= 0 AND outcome = {_CODES['ok']}"
"""The condition for one program's counted good runs in a study."""


def insert(db: Connection, number: int, created_ns: int, rows: Iterable[Run]) -> None:
    """Add runs of a study that began at `created_ns`, each with its checksum."""
    values: list[tuple[Any, ...]] = []
    for row in rows:
        stored: list[Any] = [number, *row]
        stored[_STARTED + 1] = row.started_ns - created_ns
        stored[_OUTCOME + 1] = _CODES[row.outcome]
        if row.metrics is not None:
            stored[_METRICS + 1] = json.dumps(row.metrics, allow_nan=False)
        values.append(tuple(stored))
    checked = [(*row, check) for row, check in zip(values, checksums(map(_numbers, values)), strict=True)]
    db.insert_rows("run", STORED, checked)


def insert_outputs(db: Connection, number: int, texts: Mapping[int, tuple[str, str]]) -> None:
    """Add the output of some runs, standard error and standard output by `seq`."""
    for seq, (stderr, stdout) in texts.items():
        error, output = clean(stderr), clean(stdout)
        checksum = _texts_checksum(number, seq, error, output)
        db.insert("run_text", study_id=number, seq=seq, stderr=error, stdout=output, checksum=checksum)


def runs(db: Connection, number: int, created_ns: int, lost: counts.LossCallback) -> Iterator[Run]:
    """Yield the runs of a study in order, a few thousand in memory at a time.

    Runs whose checksum does not match are left out; `lost` is called once for each chunk. Runs are numbered without a
    gap, so that gaps show runs that were lost with a damaged page.
    """
    read = damaged = following = 0
    known, missing = counts.read_counts(db, number), 0
    query = f"SELECT {', '.join(STORED)} FROM run WHERE study_id = :number ORDER BY seq"
    for rows in db.parts(query, _CHUNK, number=number):
        good = are_whole(rows)
        whole_rows = list(itertools.compress(rows, good))
        read, damaged = read + len(whole_rows), damaged + len(rows) - len(whole_rows)
        following = whole_rows[-1][_SEQ] + 1 if whole_rows else following
        # Damaged runs leave a gap, too, unless no whole run follows.
        missing = max(damaged, following - read)
        lost(missing, read + missing)
        for row in whole_rows:
            values = list(row[1:-1])
            values[_STARTED] += created_ns
            values[_OUTCOME] = OUTCOMES[values[_OUTCOME]]
            if values[_METRICS] is not None:
                values[_METRICS] = json.loads(values[_METRICS])
            yield Run.of(values)
    if known is not None and read + missing < known.runs:
        # Runs missing at the end are reported with the study, unless a damaged page hides the last run from a query.
        there = db.value("SELECT count(*) FROM run WHERE study_id = :number", number=number)
        last = db.value("SELECT max(seq) FROM run WHERE study_id = :number", number=number)
        at_end = counts.missing_at_end(last, there, known.runs) if isinstance(last, int | None) else 0
        missing = max(missing, known.runs - read - at_end)
        lost(missing, read + missing)


def good_columns(db: Connection, number: int, names: Sequence[str], program: int) -> npt.NDArray[np.float64]:
    """Return columns of one program's counted good runs in order, shape (columns, runs); NaN where unknown."""
    values = {"number": number, "program": program}
    # The array has exactly the needed size, since there may be millions of runs.
    count = int(db.value(f"SELECT count(*) FROM run WHERE {_GOOD}", **values))
    table, filled = np.empty((len(names), count)), 0
    for rows in db.parts(f"SELECT {', '.join(names)} FROM run WHERE {_GOOD} ORDER BY seq", _CHUNK, **values):
        # None becomes NaN in the conversion.
        table[:, filled : filled + len(rows)] = np.array(rows, dtype=np.float64).T
        filled += len(rows)
    return table


def good_metrics(db: Connection, number: int, program: int) -> list[tuple[int, list[float]]]:
    """Return `seq` and metrics of one program's counted good runs that have metrics, in order."""
    query = f"SELECT seq, metrics FROM run WHERE {_GOOD} AND metrics IS NOT NULL ORDER BY seq"
    return [(seq, json.loads(text)) for seq, text in db.execute(query, number=number, program=program)]


def averages(db: Connection, number: int, program: int) -> Averages:
    """Return means over one program's counted good runs; None for a column that is unknown in any of them."""
    names = ("user_ns", "system_ns", "wait_ns")
    means = ", ".join(f"count({name}), avg({name})" for name in names)
    query = f"SELECT count(*), max(max_rss_bytes), {means} FROM run WHERE {_GOOD}"
    total, memory, *rest = db.execute(query, number=number, program=program).fetchone()
    known = zip(names, rest[::2], rest[1::2], strict=True)
    return Averages(
        **{name: float(mean) if total and count == total else None for name, count, mean in known},
        max_rss_bytes=memory,
    )


def missing(db: Connection, number: int, seqs: Iterable[int]) -> set[int]:
    """Return the numbers of these runs that the study lacks."""
    wanted = set(seqs)
    query = "SELECT seq FROM run WHERE study_id = :number AND seq >= :first"
    return wanted - {seq for (seq,) in db.execute(query, number=number, first=min(wanted, default=0))}


def last_outcome(db: Connection, number: int) -> str:
    """Return the outcome of the last run of a study; empty if it has none, or that cannot be read."""
    code = db.value("SELECT outcome FROM run WHERE study_id = :number ORDER BY seq DESC LIMIT 1", number=number)
    return OUTCOMES[code] if isinstance(code, int) and 0 <= code < len(OUTCOMES) else ""


def texts(db: Connection, number: int, lost: counts.LossCallback) -> dict[int, tuple[str, str]]:
    """Return the output of runs: standard error and standard output by `seq`; without damaged ones."""
    query = "SELECT seq, stderr, stdout, checksum FROM run_text WHERE study_id = :number"
    rows = db.execute(query, number=number).fetchall()
    known = counts.read_counts(db, number)
    counted = None if known is None else known.texts
    result: dict[int, tuple[str, str]] = {}
    for seq, stderr, stdout, checksum in rows:
        with contextlib.suppress(TypeError, ValueError):
            if _texts_checksum(number, seq, stderr, stdout) == checksum:
                result[seq] = (as_text(stderr), as_text(stdout))
    counts.report_lost(lost, len(result), len(rows), counted)
    return result


def are_whole(rows: Sequence[Sequence[Any]]) -> list[bool]:
    """Return for each row of the table (columns of STORED) whether it matches its checksum."""
    return match_checksums([_numbers(row[:-1]) for row in rows], [row[-1] for row in rows])


def is_whole_text(number: int, seq: int, stderr: str, stdout: str, checksum: int) -> bool:
    """Return whether the output of a run matches its checksum. Raises TypeError and ValueError for other values."""
    return _texts_checksum(number, seq, as_text(stderr), as_text(stdout)) == checksum


def _texts_checksum(number: int, seq: int, stderr: str, stdout: str) -> int:
    return text_checksum(f"{number} {seq} {len(stderr)} {stderr}{stdout}")


def clean(text: str) -> str:
    """Return a text that every database can store: surrogates and zero bytes become U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def _numbers(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return the integers of a stored row for its checksum, in which a text of metrics is replaced by its CRC-32."""
    text = row[_METRICS + 1]
    return (
        tuple(row) if not isinstance(text, str) else (*row[: _METRICS + 1], text_checksum(text), *row[_METRICS + 2 :])
    )
