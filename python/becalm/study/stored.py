"""A study read back from the store: all of it, or the wall times that another is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, overload

from becalm.errors import StoreError, UsageError
from becalm.nouns.run import Run
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.report.document import Document
from becalm.report.formats import read
from becalm.store import Store, elsewhere, recover
from becalm.wording.compare import damaged_rows, left_elsewhere, missing_runs, recovered
from becalm.wording.findings import reworded

T = TypeVar("T")

Warned = Callable[[str], None]
"""A callback for a sentence on what was recovered from killed becalms."""


class RunsInStore(Sequence[Run]):
    """The runs of a stored study, read when somebody asks for one of them: there may be millions."""

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
    """The pieces of a stored file of timed regions, read when somebody asks for them, a few at a time.

    `opened`: the store, as long as it is open; without it it is opened each time.
    """

    def __init__(self, number: int, many: int, store: str | None, opened: Store | None = None) -> None:
        self._number, self._many, self._store, self._opened = number, many, store, opened

    def __len__(self) -> int:
        return self._many

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
    """Warn of what was left out in reading a study."""
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

    `later`: its runs are read, and looked through for damaged ones, when somebody first asks for one of them.
    `salvage`: what cannot be read is left out, and told.
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
            found = _described(opened, number, RunsInStore(number, store, warned), warned, salvage)
            tell_damaged(opened, number, warned)
            return replace(found, regions=RegionsInStore(number, len(found.regions), store))
        found = document_of(opened, number, warned, salvage)
        return replace(found, regions=RegionsInStore(number, len(found.regions), store)) if found.regions else found


def document_of(opened: Store, number: int, warned: Warned | None = None, salvage: bool = False) -> Document:
    """Return a study of an open store."""
    document = _described(opened, number, list(opened.runs(number)), warned, salvage)
    tell_damaged(opened, number, warned)
    return document


def _described(
    opened: Store, number: int, runs: Sequence[Run], warned: Warned | None, salvage: bool = False
) -> Document:
    left_out = warned if salvage else None
    found = opened.study(number, changed=warned, unreadable=left_out)
    if warned is not None and found.missing_at_end:
        warned(missing_runs(found))
    return Document(
        study=_named(found.study, runs) if found.wrong else found.study,
        runs=runs,
        texts=opened.texts(number),
        facts=found.facts,
        noticed=_readable(lambda: tuple(opened.noticed(number, reworded)), (), left_out),
        verdict=_readable(lambda: opened.verdict(number), None, left_out),
        created_ns=found.created_ns,
        becalm=found.becalm,
        environment=found.environment,
        number=number,
        loads=opened.loads(number),
        series=opened.all_series(number),
        others=opened.others(number),
        regions=RegionsInStore(number, many, None, opened) if (many := opened.region_pieces(number)) else (),
    )


def _named(study: Study, runs: Sequence[Run]) -> Study:
    """Return the study with names for programs, and settings for numbers, that runs have and that were lost."""
    programs, settings = len(study.workloads), len(study.settings)
    lost = range(programs, max((run.workload + 1 for run in runs), default=0))
    under = range(settings, max((run.settings + 1 for run in runs), default=0))
    return replace(
        study,
        workloads=(*study.workloads, *(Workload.of(f"program {position + 1}") for position in lost)),
        settings=(*study.settings, *(Settings() for _ in under)),
    )


def _readable(read: Callable[[], T], without: T, left_out: Warned | None) -> T:
    """Return a part of a study, or the value `without` it where it is damaged and `left_out` takes the reason."""
    try:
        return read()
    except StoreError as error:
        if left_out is None:
            raise
        left_out(str(error))
        return without


def stored_or_file(reference: str | int, store: str | None = None, *, warned: Warned | None = None) -> Document:
    """Return a study of the store (number or "last") or of an exported file. Raises UsageError, StoreError."""
    text = str(reference)
    if text.isdigit() or text == "last":
        return stored(text, store, warned=warned)
    documents = read(Path(text))
    if len(documents) != 1:
        raise UsageError(f"{text} holds {len(documents)} studies; one is needed here.")
    return documents[0]
