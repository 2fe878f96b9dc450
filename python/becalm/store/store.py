"""The interface of the store for the rest of becalm.

`Store.open` returns a store of the present version. `begin`, `append` and `conclude` write one study; everything else
reads. Each call is a transaction, or a part of `together`'s; its writes have been committed when it returns. The
statements are in `studies`, `runs`, `loads` and `region_parts`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from becalm._version import VERSION
from becalm.errors import StoreError, UsageError
from becalm.load.others import Others
from becalm.load.own_loads import OwnLoads
from becalm.load.record import Load, Series
from becalm.nouns.finding import Finding
from becalm.nouns.run import Averages, Run
from becalm.nouns.settings import Settings
from becalm.nouns.study import StoredStudy, Study
from becalm.store import counts, runs, studies
from becalm.store import loads as recorded
from becalm.store import region_parts as regions
from becalm.store.creation import check_version, create, version
from becalm.store.database import Connection
from becalm.store.failure import translate_errors
from becalm.store.location import Location, locate


class Store:
    """A database of runs, as a context manager."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self._together: Connection | None = None
        self._created: dict[int, int] = {}
        self._damaged: dict[int, dict[str, tuple[int, int]]] = {}

    @classmethod
    def open(cls, reference: str | None = None) -> Store:
        """Open the store at a path, a PostgreSQL URL, ":memory:", or the default place; create it if needed.

        Raises StoreError, and MachineError if the directory of the default place cannot be created.
        """
        store = cls(locate(reference))
        try:
            with store.reading() as db:
                number = version(db)
            if number:
                check_version(number, store.shown)
            else:
                with store._writing() as db:
                    create(db, store.shown)
        except BaseException:
            store.close()
            raise
        return store

    @property
    def shown(self) -> str:
        """The place of the store, fit for a message."""
        return self.location.shown

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self.location.database.close()

    # --- writing ----------------------------------------------------------------------------------------------------

    def begin(
        self,
        study: Study,
        facts: Mapping[str, Any],
        *,
        environment: str = "known",
        created_ns: int | None = None,
        becalm: str = VERSION,
    ) -> int:
        """Record the beginning of a study, and return its number."""
        with self._writing() as db:
            return studies.insert(db, study, facts, environment=environment, created_ns=created_ns, becalm=becalm)

    def add_settings(self, number: int, position: int, settings: Settings) -> None:
        """Record settings that a study uses after its beginning, with the next position."""
        with self._writing() as db:
            studies.add_settings(db, number, position, settings)

    def notice(self, number: int, finding: Finding) -> None:
        """Record a finding on the settings of a study while they were applied."""
        with self._writing() as db:
            studies.add_noticed(db, number, finding)

    def append(self, number: int, rows: Sequence[Run], texts: Mapping[int, tuple[str, str]] | None = None) -> None:
        """Add finished runs of a study, with the output (standard error, standard output) of some by `seq`.

        Adds all of them or, when StoreError is raised, none.
        """
        with self._writing() as db:
            if rows:
                runs.insert(db, number, self._created_ns(db, number), rows)
            runs.insert_outputs(db, number, texts or {})
            counts.add(db, number, runs=len(rows), texts=len(texts or {}))

    def append_loads(
        self,
        number: int,
        loads: Sequence[Load],
        series: Sequence[Series] = (),
        others: Sequence[Others] = (),
    ) -> None:
        """Add records of load around runs of a study: all of them or, when StoreError is raised, none."""
        with self._writing() as db:
            recorded.insert(db, number, self._created_ns(db, number), loads, series, others)

    def append_regions(self, number: int, parts: Iterable[tuple[int, bytes]]) -> None:
        """Add pieces of a study's file of timed regions, each with its number of regions: all of them or none."""
        with self._writing() as db:
            regions.insert(db, number, parts)

    def conclude(self, number: int, verdict: Mapping[str, Any]) -> None:
        """Record a verdict of a study. Verdicts are added, never replaced."""
        with self._writing() as db:
            studies.conclude(db, number, verdict)

    def delete(self, numbers: Sequence[int]) -> None:
        """Remove studies with all their runs: all of them or, when StoreError is raised, none."""
        with self._writing() as db:
            for number in numbers:
                studies.delete(db, number)
                self._created.pop(number, None)
                self._damaged.pop(number, None)

    def compact(self) -> None:
        """Shrink the file after studies were deleted, unless somebody else uses it."""
        with contextlib.suppress(self.location.database.errors):
            self.location.database.compact()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Combine the writes of the context into one transaction: all are kept or, after an error, none."""
        with self._writing() as db:
            outer, self._together = self._together, db
            try:
                yield
            finally:
                self._together = outer
                # Studies that began in the context may have been rolled back, and their numbers are used again.
                self._created.clear()

    # --- studies ----------------------------------------------------------------------------------------------------

    def study(
        self,
        number: int,
        *,
        changed: Callable[[str], None] | None = None,
        unreadable: Callable[[str], None] | None = None,
    ) -> StoredStudy:
        """Return a study. Raises UsageError if there is none of that number, and StoreError if it is damaged.

        `changed`, `unreadable`: called with a sentence on changed and on unreadable parts, instead of raising
        StoreError.
        """
        with self.reading() as db:
            matches = studies.studies(db, number=number)
        if not matches:
            raise UsageError(self._no_study(number))
        study = matches[0]
        damage = f"Study {number} in the store {self.shown} is damaged"
        if study.damaged:
            if unreadable is None:
                raise StoreError(
                    f"{damage}: {study.damaged}. Its runs can be read (`becalm export {number} --format csv`), and so "
                    "can the others (`becalm list`)."
                )
            unreadable(f"{damage}: {study.damaged}. Its runs have their own checksums.")
        elif study.changed:
            if changed is None:
                raise StoreError(f"{damage}: {study.changed}. See it, with its runs: becalm show {number}")
            changed(f"{damage}: {study.changed}. Its runs have their own checksums.")
        return study

    def began_ns(self, number: int) -> int:
        """Return the beginning of a study, Unix ns. Raises UsageError if there is no study of that number."""
        with self.reading() as db:
            result = studies.created_ns(db, number)
        if result is None:
            raise UsageError(self._no_study(number))
        return result

    def studies(self, limit: int | None = None, kind: str | None = None, *, facts: bool = True) -> list[StoredStudy]:
        """Return the studies, newest first. `facts`: whether to read the facts of machines, their largest part."""
        with self.reading() as db:
            return studies.studies(db, kind=kind, limit=limit, facts=facts)

    def stamps(self, kind: str | None = None) -> dict[int, str]:
        """Return stamps of the studies of a kind, or of all, which change with descriptions, rows and verdicts."""
        with self.reading() as db:
            return studies.stamps(db, kind)

    def some(self, numbers: Sequence[int]) -> list[StoredStudy]:
        """Return the studies of these numbers that exist, including damaged ones."""
        with self.reading() as db:
            return [study for number in numbers for study in studies.studies(db, number=number)]

    def in_group(self, group: str) -> list[int]:
        """Return the numbers of the studies with this option `group`, the oldest first."""
        with self.reading() as db:
            return studies.in_group(db, group)

    def resolve(self, reference: str | int) -> int:
        """Return the number of the study of a reference, which is a number or "last". Raises UsageError."""
        text = str(reference).strip()
        if text in ("last", "-1"):
            with self.reading() as db:
                newest = studies.newest(db)
            if newest is None:
                raise UsageError(f"The store {self.shown} is empty. Measure something first: becalm run -- true")
            return newest
        # A number with more digits than the database's type cannot be a study's.
        if not text.isdecimal() or len(text) > 18:
            raise UsageError(f"{text!r} is not a study. Give its number (`becalm list` shows them) or 'last'.")
        self.began_ns(int(text))
        return int(text)

    def noticed(self, number: int, decode: Callable[[dict[str, Any]], Finding]) -> list[Finding]:
        """Return the findings on settings, in order, each `made` from its kind, numbers and program. Raises
        StoreError."""
        with self._undamaged(number, "What was noticed") as db:
            return [decode(document) for document in studies.noticed(db, number)]

    def verdict(self, number: int) -> dict[str, Any] | None:
        """Return the latest verdict of a study; None if becalm was ended before it had one."""
        with self._undamaged(number, "The verdict") as db:
            return studies.verdict(db, number)

    # --- runs -------------------------------------------------------------------------------------------------------

    def runs(self, number: int) -> Iterator[Run]:
        """Yield the runs of a study in order, a few thousand in memory at a time.

        Runs whose checksum does not match are left out; `damaged` returns their number.
        """
        with self.reading() as db:
            yield from runs.runs(db, number, self._created_ns(db, number), self._lost(number, "run"))

    def last_outcome(self, number: int) -> str:
        """Return the outcome of the last run of a study; empty if it has none, or that cannot be read."""
        with self.reading() as db:
            return runs.last_outcome(db, number)

    def damaged(self, number: int) -> dict[str, tuple[int, int]]:
        """Return the numbers of rows of a study that reading left out as damaged or missing, and of all rows.

        They are by kind: "run", "load", "series", "others" and "text". Kinds without damage are left out.
        """
        return {what: (lost, of) for what, (lost, of) in self._damaged.get(number, {}).items() if lost}

    def _lost(self, number: int, what: str) -> counts.LossCallback:
        known = self._damaged.setdefault(number, {})
        known[what] = 0, 0

        def lost(damaged: int, of: int) -> None:
            known[what] = damaged, of

        return lost

    def columns(self, number: int, names: Sequence[str], program: int) -> dict[str, npt.NDArray[np.float64]]:
        """Return columns of one program's counted good runs in order, as floats; NaN where unknown.

        For `started_ns` the values are relative to the study's start.
        """
        with self.reading() as db:
            return dict(zip(names, runs.good_columns(db, number, names, program), strict=True))

    def metrics(self, number: int, program: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return a program's counted good runs in order: `seq` (runs,) and metrics (runs, metrics)."""
        with self.reading() as db:
            rows = runs.good_metrics(db, number, program)
        return np.array([seq for seq, _ in rows], np.int64), np.array([metrics for _, metrics in rows], np.float64)

    def averages(self, number: int, program: int) -> Averages:
        """Return means over one program's counted good runs; None for a column that is unknown in any of them."""
        with self.reading() as db:
            return runs.averages(db, number, program)

    def texts(self, number: int) -> dict[int, tuple[str, str]]:
        """Return the output of runs: standard error and standard output by `seq`. `damaged` has the number left out."""
        with self.reading() as db:
            return runs.texts(db, number, self._lost(number, "text"))

    def missing(self, number: int, seqs: Iterable[int]) -> set[int]:
        """Return the numbers of these runs that the store lacks; empty if it has no such study."""
        with self.reading() as db:
            return set() if studies.created_ns(db, number) is None else runs.missing(db, number, seqs)

    # --- what else the machine did, and timed regions -----------------------------------------------------------------

    def loads(self, number: int) -> list[Load]:
        """Return the loads around the runs of a study, in their order; empty if none was recorded.

        Damaged ones are left out; `damaged` returns their number.
        """
        with self.reading() as db:
            lost = self._lost(number, "load")
            return list(recorded.loads(db, number, self._created_ns(db, number), lost=lost))

    def own_loads(self, number: int) -> OwnLoads:
        """Return the records of load that cover only one run."""

        def read(seqs: Sequence[int]) -> dict[int, Load]:
            with self.reading() as db:
                document = recorded.loads(db, number, self._created_ns(db, number), seqs)
                return {load.first: load for load in document if load.first == load.last}

        with self.reading() as db:
            return OwnLoads(np.fromiter(recorded.own_seqs(db, number), np.int64), read)

    def series(self, number: int, seq: int) -> Series | None:
        """Return the series of load during the run `seq`; None if none was recorded."""
        with self.reading() as db:
            return recorded.series(db, number, seq)

    def all_series(self, number: int) -> list[Series]:
        """Return all series of load of a study, in the order of their runs, without damaged ones (see `damaged`)."""
        with self.reading() as db:
            return list(recorded.all_series(db, number, self._lost(number, "series")))

    def others(self, number: int) -> list[Others]:
        """Return the records of other processes around the runs of a study, without damaged ones (see `damaged`)."""
        with self.reading() as db:
            return list(recorded.all_others(db, number, self._lost(number, "others")))

    def regions(self, number: int) -> Iterator[bytes]:
        """Yield the pieces of a study's file of timed regions in order, a few in memory at a time."""
        with self.reading() as db:
            yield from regions.parts(db, number)

    def region_pieces(self, number: int) -> int:
        """Return the number of pieces of a study's file of timed regions; 0 where it has none."""
        with self.reading() as db:
            return regions.count(db, number)

    # --- transactions -----------------------------------------------------------------------------------------------

    def _created_ns(self, db: Connection, number: int) -> int:
        """Return the beginning of a study, Unix ns, which is the origin of its stored times; it is cached."""
        if number not in self._created:
            created_ns = studies.created_ns(db, number)
            if created_ns is None:
                raise StoreError(self._no_study(number))
            self._created[number] = created_ns
        return self._created[number]

    def _no_study(self, number: int) -> str:
        return f"There is no study {number} in the store {self.shown}. `becalm list` shows those it has."

    def reading(self) -> contextlib.AbstractContextManager[Connection]:
        """Return a transaction that reads. Raises StoreError for errors of the database."""
        return self._transaction(writes=False)

    @contextmanager
    def _undamaged(self, number: int, what: str) -> Iterator[Connection]:
        """Yield a connection to read JSON of a study. Raises StoreError if it is damaged."""
        with self.reading() as db:
            try:
                yield db
            except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
                raise StoreError(
                    f"{what} of study {number} in the store {self.shown} is damaged. Its runs can be read: "
                    f"becalm export {number} --format csv"
                ) from None

    def _writing(self) -> contextlib.AbstractContextManager[Connection]:
        return self._transaction(writes=True)

    @contextmanager
    def _transaction(self, *, writes: bool) -> Iterator[Connection]:
        """Yield a transaction, or the one of `together`. Raises StoreError for errors of the database."""
        with translate_errors(self.shown, self.location.database.errors):
            if self._together is not None:
                yield self._together
                return
            with self.location.database.transaction(writes=writes) as db:
                yield db
