"""Documents of studies, read from the store or from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar, overload

from msgspec.structs import replace

from becalm.errors import StoreError, UsageError
from becalm.nouns.run import Run
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.report.document import Document
from becalm.report.formats import read
from becalm.store import Store, elsewhere, recover
from becalm.wording.damage import damaged_rows, left_elsewhere, missing_runs, recovered
from becalm.wording.findings import reworded

T = TypeVar("T")

Warned = Callable[[str], None]
"""A callback that receives warnings, such as on runs recovered from a killed becalm."""


class RunsInStore(Sequence[Run]):
    """The runs of a stored study, read at the first access: there may be millions."""

    def __init__(self, number: int, store: str | None, warned: Warned | None) -> None:
        self._of = number, store, warned
        self._read: list[Run] | None = None

    @property
    def _runs(self) -> list[Run]:
        if self._read is None:
            number, store, warned = self._of
            with Store.open(store) as opened:
                self._read = list(opened.runs(number))
                tell_damaged(opened, number, warned)
        return self._read

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | Sequence[Run]:
        return self._runs[index]

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)


class RegionsInStore(Sequence[bytes]):
    """The pieces of a stored file of timed regions, read a few at a time at each access.

    `count`: the number of pieces. `opened`: the open store; without it the store is opened at each access.
    """

    def __init__(self, number: int, count: int, store: str | None, opened: Store | None = None) -> None:
        self._number, self._count, self._store, self._opened = number, count, store, opened

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        return list(self)[index]

    def __iter__(self) -> Iterator[bytes]:
        if self._opened is not None:
            yield from self._opened.regions(self._number)
            return
        with Store.open(self._store) as opened:
            yield from opened.regions(self._number)


def tell_damaged(opened: Store, number: int, warned: Warned | None) -> None:
    """Warn of damaged rows that were left out when a study was read."""
    if warned is not None and (damaged := opened.damaged(number)):
        warned(damaged_rows(number, damaged))


def stored(
    reference: str | int = "last",
    store: str | None = None,
    *,
    warned: Warned | None = None,
    later: bool = False,
    salvage: bool = False,
) -> Document:
    """Return a study with all its runs and its latest verdict. Raises UsageError when there is none, StoreError.

    `later`: read the runs, and search them for damaged ones, at the first access. `salvage`: leave out parts that
    cannot be read, with a warning, instead of raising StoreError.
    """
    with Store.open(store) as opened:
        for late in recover(opened, heard=warned is not None):
            if warned is not None:
                warned(recovered(late.study_id, late.runs, late.aside))
        number = opened.resolve(reference)
        for left in elsewhere(opened) if warned is not None else ():
            if warned is not None and left.study_id == number:
                warned(left_elsewhere(left.study_id, str(left.place.get("host"))))
        if later:
            document = _read_document(opened, number, RunsInStore(number, store, warned), warned, salvage)
            tell_damaged(opened, number, warned)
            return replace(document, regions=RegionsInStore(number, len(document.regions), store))
        document = document_of(opened, number, warned, salvage)
        return (
            replace(document, regions=RegionsInStore(number, len(document.regions), store))
            if document.regions
            else document
        )


def document_of(opened: Store, number: int, warned: Warned | None = None, salvage: bool = False) -> Document:
    """Return a study of an open store with all its runs."""
    document = _read_document(opened, number, list(opened.runs(number)), warned, salvage)
    tell_damaged(opened, number, warned)
    return document


def _read_document(
    opened: Store, number: int, runs: Sequence[Run], warned: Warned | None, salvage: bool = False
) -> Document:
    left_out = warned if salvage else None
    study = opened.study(number, changed=warned, unreadable=left_out)
    if warned is not None and study.missing_at_end:
        warned(missing_runs(study))
    return Document(
        study=_with_placeholders(study.study, runs) if study.wrong else study.study,
        runs=runs,
        texts=opened.texts(number),
        facts=study.facts,
        noticed=_read_part(lambda: tuple(opened.noticed(number, reworded)), (), left_out),
        verdict=_read_part(lambda: opened.verdict(number), None, left_out),
        created_ns=study.created_ns,
        becalm=study.becalm,
        environment=study.environment,
        number=number,
        loads=opened.loads(number),
        series=opened.all_series(number),
        others=opened.others(number),
        regions=RegionsInStore(number, count, None, opened) if (count := opened.region_pieces(number)) else (),
    )


def _with_placeholders(study: Study, runs: Sequence[Run]) -> Study:
    """Return the study with placeholders for lost programs and settings whose indices occur in its runs."""
    programs, settings = len(study.workloads), len(study.settings)
    lost_programs = range(programs, max((run.workload + 1 for run in runs), default=0))
    lost_settings = range(settings, max((run.settings + 1 for run in runs), default=0))
    return replace(
        study,
        workloads=(*study.workloads, *(Workload.of(f"program {position + 1}") for position in lost_programs)),
        settings=(*study.settings, *(Settings() for _ in lost_settings)),
    )


def _read_part(read: Callable[[], T], without: T, left_out: Warned | None) -> T:
    """Return a part of a study; `without` if it is damaged and there is a `left_out` to call with the reason."""
    try:
        return read()
    except StoreError as error:
        if left_out is None:
            raise
        left_out(str(error))
        return without


def stored_or_file(reference: str | int, store: str | None = None, *, warned: Warned | None = None) -> Document:
    """Return the study of a number, of "last", or of an exported file. Raises UsageError, StoreError."""
    text = str(reference)
    if text.isdigit() or text == "last":
        return stored(text, store, warned=warned)
    documents = read(Path(text))
    if len(documents) != 1:
        raise UsageError(f"{text} holds {len(documents)} studies; one is needed here.")
    return documents[0]
