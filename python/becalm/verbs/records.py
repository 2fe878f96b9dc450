"""`becalm list`, `show`, `export`, `import`: what was measured, read back. Returns data, prints nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from becalm.errors import UsageError
from becalm.load import sadf
from becalm.nouns.study import StoredStudy
from becalm.report.document import Document, by_program
from becalm.report.formats import read, writer
from becalm.store import Recovered, Store, recover
from becalm.wording.measurement import damaged_runs, recovered


@dataclass(frozen=True, slots=True)
class Listing:
    """The studies of a store, newest first, and what was recovered from killed becalms meanwhile."""

    store: str
    studies: tuple[StoredStudy, ...]
    recovered: tuple[Recovered, ...]


def list_studies(store: str | None = None, *, limit: int | None = 20, kind: str | None = None) -> Listing:
    """The newest studies. Raises StoreError."""
    with Store.open(store) as opened:
        found = tuple(recover(opened))
        return Listing(opened.shown, tuple(opened.studies(limit, kind, facts=False)), found)


def show(
    reference: str | int = "last", store: str | None = None, *, warned: Callable[[str], None] | None = None
) -> Document:
    """One study with all its runs and its latest verdict. Raises UsageError when there is none, StoreError.

    `warned` is told in a sentence what was recovered from killed becalms meanwhile.
    """
    with Store.open(store) as opened:
        for found in recover(opened, heard=warned is not None):
            if warned is not None:
                warned(recovered(found.study_id, found.runs, found.aside))
        number = opened.resolve(reference)
        stored = opened.study(number)
        runs = list(opened.runs(number))
        if warned is not None and opened.damaged[number]:
            warned(damaged_runs(number, opened.damaged[number], len(runs)))
        return Document(
            study=stored.study,
            runs=runs,
            texts=opened.texts(number),
            facts=stored.facts,
            verdict=opened.verdict(number),
            created_ns=stored.created_ns,
            becalm=stored.becalm,
            environment=stored.environment,
            number=number,
            loads=opened.loads(number),
            series=opened.all_series(number),
        )


def document(
    reference: str | int, store: str | None = None, *, warned: Callable[[str], None] | None = None
) -> Document:
    """One study of the store (number or "last") or of an exported file; `warned` as in `show`. Raises UsageError,
    StoreError."""
    text = str(reference)
    if text.isdigit() or text == "last":
        return show(text, store, warned=warned)
    documents = read(Path(text))
    if len(documents) != 1:
        raise UsageError(f"{text} holds {len(documents)} studies; one is needed here.")
    return documents[0]


def export_series(
    path: str | Path,
    reference: str | int = "last",
    *,
    store: str | None = None,
    warned: Callable[[str], None] | None = None,
) -> int:
    """Write the load over time of a study as CSV or Parquet, by the file's ending; returns the number of samples.

    `warned` as in `show`. Raises UsageError for a study without any or a file of another kind, MachineError,
    StoreError.
    """
    from becalm.report.formats import series

    series.check(Path(path))
    return series.write(show(reference, store, warned=warned), Path(path))


def export(
    reference: str | int = "last",
    *,
    format: str = "json",
    store: str | None = None,
    warned: Callable[[str], None] | None = None,
) -> str:
    """One study as the text of a file; `warned` as in `show`. Raises UsageError for an unknown study or format,
    StoreError."""
    write = writer(format)
    return write(show(reference, store, warned=warned))


def import_file(path: str | Path, store: str | None = None) -> tuple[int, ...]:
    """Put the studies of a file (becalm, hyperfine or pyperf JSON) into the store, all or none; returns their numbers.

    Raises UsageError for a file that cannot be understood, StoreError.
    """
    documents = read(Path(path))
    numbers = []
    with Store.open(store) as opened, opened.together():
        for document in documents:
            number = opened.begin(
                document.study,
                document.facts,
                environment=document.environment,
                created_ns=document.created_ns,
                **({"becalm": document.becalm} if document.becalm else {}),
            )
            opened.append(number, document.runs, document.texts)
            opened.append_loads(number, document.loads, document.series)
            if document.verdict is not None:
                opened.conclude(number, document.verdict)
            numbers.append(number)
    return tuple(numbers)


def import_load(path: str | Path, reference: str | int, store: str | None = None) -> tuple[int, int, int]:
    """Give the runs of a study the load that sysstat recorded meanwhile (`sadf -j`), by their time stamps.

    Returns the study's number, how many of its runs have a load now, and how many there are. Raises UsageError when the
    file is no such record or does not cover any run, or when load was recorded with the runs; StoreError.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    with Store.open(store) as opened:
        number = opened.resolve(reference)
        if opened.loads(number):
            raise UsageError(f"Study {number} has its own record of load, made with its runs: becalm explain {number}")
        facts = opened.study(number).facts
        intervals = sadf.read(text, (facts.get("host") or {}).get("hostname"))
        runs = list(opened.runs(number))
        found = sadf.loads(intervals, runs)
        if not found:
            span = f"{_moment(intervals[0].begin_ns)} to {_moment(intervals[-1].end_ns)}"
            raise UsageError(f"{path} covers {span} (UTC), and no run of study {number} lies in that.")
        opened.append_loads(number, found)
    covered = sum(any(load.first <= run.seq <= load.last for load in found) for run in runs)
    return number, covered, len(runs)


def _moment(ns: int) -> str:
    return f"{datetime.fromtimestamp(ns / 1e9, UTC):%Y-%m-%d %H:%M:%S}"


@dataclass(frozen=True, slots=True)
class Baseline:
    """Stored runs to compare with: wall times in ns of each program by name."""

    title: str
    series: tuple[tuple[str, npt.NDArray[np.int64]], ...]

    def series_for(self, name: str, position: int) -> tuple[str, npt.NDArray[np.int64]]:
        """The series of the same name; else the one in the same place, if there is one for each.

        Returns what to call it. Raises UsageError when it is not clear which one is meant.
        """
        for known, wall_ns in self.series:
            if known == name:
                return f"{name} in {self.title}", wall_ns
        if position < len(self.series):
            known, wall_ns = self.series[position]
            return f"{known} in {self.title}", wall_ns
        names = ", ".join(repr(known) for known, _ in self.series)
        raise UsageError(f"The baseline {self.title} has no program {name!r}; it has {names}. Use --name to match.")


def baseline_series(
    reference: str | int, store: Any = None, *, warned: Callable[[str], None] | None = None
) -> Baseline:
    """The runs of a stored study (number or "last") or of an exported file; `warned` as in `show`.

    Raises UsageError, StoreError.
    """
    found = document(reference, store if isinstance(store, str) else None, warned=warned)
    title = Path(str(reference)).name if found.number is None else f"study {found.number}"
    series = tuple(
        (name, np.array([run.wall_ns for run in runs], dtype=np.int64)) for name, runs in by_program(found) if runs
    )
    if not series:
        raise UsageError(f"The baseline {title} holds no run that could be compared with.")
    return Baseline(title, series)
