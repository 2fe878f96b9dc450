"""Append and read: the calls that the rest of becalm makes.

`Store.open` gives a store that is ready and of the present version. `begin`, `append` and `conclude` write one study;
everything else reads. Each call is one transaction, or part of that of `together`; what it wrote is on its way to the
disk when it returns.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, Connection, func, select
from sqlalchemy import text as sql

from becalm._version import VERSION
from becalm.errors import StoreError, UsageError
from becalm.load.own_loads import OwnLoads
from becalm.load.record import Load, Series
from becalm.nouns.run import COLUMNS, Averages, Run
from becalm.nouns.settings import Settings
from becalm.nouns.study import StoredStudy, Study
from becalm.store import loads as recorded
from becalm.store import region_parts as regions
from becalm.store.checksum import checksums, fits, of_text
from becalm.store.driver import insert_rows
from becalm.store.failure import worded
from becalm.store.location import Location, locate
from becalm.store.migrations import current, lacking, migrate, version
from becalm.store.schema import HOST, OUTCOMES, REGION_PART, RUN, SETTINGS, STUDY, TEXT, VERDICT, WORKLOAD
from becalm.store.stored import json_object, stored_study

_STARTED = COLUMNS.index("started_ns")
_OUTCOME = COLUMNS.index("outcome")
_METRICS = COLUMNS.index("metrics")
_CODES = {word: code for code, word in enumerate(OUTCOMES)}
_CHUNK = 20_000
_STUDIES = 100
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class Store:
    """A database of runs. Use as a context manager."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self._together: Connection | None = None
        self._created: dict[int, int] = {}
        self.damaged: dict[int, int] = {}
        """Runs of studies that `runs` has left out, since their checksums do not fit."""

    @classmethod
    def open(cls, given: str | None = None) -> Store:
        """Open the store at a path, PostgreSQL URL, ":memory:", or the usual place; create or migrate it if needed.

        Raises StoreError; MachineError when the usual place cannot be made.
        """
        store = cls(locate(given))
        try:
            with worded(store.shown), store._reading() as db:
                ready = version(db) == current()
                whole = ready and not lacking(db)
            # One that may only be read can be read without the columns that came later.
            with contextlib.nullcontext() if not ready else contextlib.suppress(StoreError):
                if not whole:
                    with worded(store.shown), store._writing() as db:
                        migrate(db, store.shown)
        except BaseException:
            store.close()
            raise
        return store

    @property
    def shown(self) -> str:
        """Where the store is, fit for a message."""
        return self.location.shown

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self.location.engine.dispose()

    def begin(
        self,
        study: Study,
        facts: Mapping[str, Any],
        *,
        environment: str = "known",
        created_ns: int | None = None,
        becalm: str = VERSION,
    ) -> int:
        """Record that a study begins; returns its number."""
        with worded(self.shown), self._writing() as db:
            values = {
                "kind": study.kind,
                "title": study.title,
                "created_ns": time.time_ns() if created_ns is None else created_ns,
                "becalm": becalm,
                "host_id": _host(db, facts),
                "host_name": study.host,
                "seed": study.seed,
                "options": json.dumps(dict(study.options)),
                "environment": environment,
            }
            values = {name: clean(value) if isinstance(value, str) else value for name, value in values.items()}
            number = int(db.execute(STUDY.insert().values(values).returning(STUDY.c.id)).scalar_one())
            for position, workload in enumerate(study.workloads):
                text = json.dumps(workload.to_json())
                db.execute(WORKLOAD.insert().values(study_id=number, position=position, description=text))
            for position, settings in enumerate(study.settings):
                text = json.dumps(settings.to_json())
                db.execute(SETTINGS.insert().values(study_id=number, position=position, knobs=text))
        return number

    def add_settings(self, number: int, position: int, settings: Settings) -> None:
        """Record settings that a study has come to after it began; positions are counted on."""
        with worded(self.shown), self._writing() as db:
            text = json.dumps(settings.to_json())
            db.execute(SETTINGS.insert().values(study_id=number, position=position, knobs=text))

    def append(self, number: int, rows: Sequence[Run], texts: Mapping[int, tuple[str, str]] | None = None) -> None:
        """Add finished runs of a study, with the texts (standard error, standard output) of some by `seq`.

        All of them or, when StoreError is raised, none.
        """
        with worded(self.shown), self._writing() as db:
            if rows:
                self._insert(db, number, rows)
            for seq, (stderr, stdout) in (texts or {}).items():
                values = {"study_id": number, "seq": seq, "stderr": clean(stderr), "stdout": clean(stdout)}
                db.execute(TEXT.insert().values(values))

    def _insert(self, db: Connection, number: int, rows: Iterable[Run]) -> None:
        """Each with its checksum."""
        created_ns = self._created_ns(db, number)
        values: list[tuple[Any, ...]] = []
        for row in rows:
            stored: list[Any] = [number, *row]
            stored[_STARTED + 1] = row.started_ns - created_ns
            stored[_OUTCOME + 1] = _CODES[row.outcome]
            if row.metrics is not None:
                stored[_METRICS + 1] = json.dumps(row.metrics, allow_nan=False)
            values.append(tuple(stored))
        checked = [(*row, check) for row, check in zip(values, checksums(map(_numbers, values)), strict=True)]
        insert_rows(db, RUN.name, ("study_id", *COLUMNS, "checksum"), checked)

    def _created_ns(self, db: Connection, number: int) -> int:
        """When a study began, which its times are counted from: asked once, since blocks wait while this is written."""
        if number not in self._created:
            query = select(STUDY.c.created_ns).where(STUDY.c.id == number)
            self._created[number] = int(db.execute(query).scalar_one())
        return self._created[number]

    def append_loads(self, number: int, loads: Sequence[Load], series: Sequence[Series] = ()) -> None:
        """Add what else the machine did around runs of a study; all of it or, when StoreError is raised, nothing."""
        with worded(self.shown), self._writing() as db:
            recorded.insert(db, number, self._created_ns(db, number), loads, series)

    def append_regions(self, number: int, parts: Iterable[tuple[int, bytes]]) -> None:
        """Add pieces of a study's file of timed regions: how many are in each, and its bytes. All of them or none."""
        with worded(self.shown), self._writing() as db:
            regions.insert(db, number, parts)

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is written inside is one transaction: all of it is kept, or, after an error, nothing."""
        with worded(self.shown), self._writing() as db:
            outer, self._together = self._together, db
            try:
                yield
            finally:
                self._together = outer
                # Studies that began in here may be gone again, and others get their numbers.
                self._created.clear()

    def conclude(self, number: int, verdict: Mapping[str, Any]) -> None:
        """Record what a study concluded. Verdicts are added, never replaced."""
        with worded(self.shown), self._writing() as db:
            values = {"study_id": number, "created_ns": time.time_ns(), "json": json.dumps(verdict)}
            db.execute(VERDICT.insert().values(values))

    def study(self, number: int) -> StoredStudy:
        """One study. Raises UsageError when there is none of that number, StoreError when it is damaged."""
        found = self._studies(STUDY.c.id == number)
        if not found:
            raise UsageError(self._no_study(number))
        if found[0].damaged:
            raise StoreError(
                f"Study {number} in the store {self.shown} is damaged: {found[0].damaged}. "
                "The others can be read (`becalm list`)."
            )
        return found[0]

    def began_ns(self, number: int) -> int:
        """When a study began, in Unix ns. Raises UsageError when there is none of that number."""
        query = select(STUDY.c.created_ns).where(STUDY.c.id == number)
        with worded(self.shown), self._reading() as db:
            found = db.execute(query).scalar()
        if found is None:
            raise UsageError(self._no_study(number))
        return int(found)

    def _no_study(self, number: int) -> str:
        return f"There is no study {number} in the store {self.shown}. `becalm list` shows those it has."

    def studies(self, limit: int | None = None, kind: str | None = None, *, facts: bool = True) -> list[StoredStudy]:
        """The studies, newest first; without `facts`, which are the most of a study, these are empty."""
        return self._studies(*([] if kind is None else [STUDY.c.kind == kind]), limit=limit, facts=facts)

    def in_group(self, group: str) -> list[int]:
        """Numbers of the studies that have this option `group`, the oldest first."""
        having = STUDY.c.options.contains(f'"group": {json.dumps(group)}', autoescape=True)
        with worded(self.shown), self._reading() as db:
            return list(db.execute(select(STUDY.c.id).where(having).order_by(STUDY.c.id)).scalars())

    def resolve(self, reference: str | int) -> int:
        """The number of a study: a number, or "last". Raises UsageError."""
        text = str(reference).strip()
        if text in ("last", "-1"):
            with worded(self.shown), self._reading() as db:
                newest = db.execute(select(func.max(STUDY.c.id))).scalar()
            if newest is None:
                raise UsageError(f"The store {self.shown} is empty. Measure something first: becalm run -- true")
            return int(newest)
        # Longer numbers than a database can count to are none of a study.
        if not text.isdecimal() or len(text) > 18:
            raise UsageError(f"{text!r} is not a study. Give its number (`becalm list` shows them) or 'last'.")
        self.began_ns(int(text))
        return int(text)

    def runs(self, number: int) -> Iterator[Run]:
        """The runs of a study in the order they were made, a few thousand in memory at a time.

        A run whose checksum does not fit is left out; `damaged` has how many.
        """
        columns = (RUN.c.study_id, *(RUN.c[name] for name in COLUMNS), RUN.c.checksum)
        with worded(self.shown), self._reading() as db:
            created_ns = db.execute(select(STUDY.c.created_ns).where(STUDY.c.id == number)).scalar_one()
            query = select(*columns).where(RUN.c.study_id == number).order_by(RUN.c.seq)
            self.damaged[number] = 0
            for rows in db.execution_options(yield_per=_CHUNK).execute(query).partitions():
                good = fits([_numbers(row[:-1]) for row in rows], [row[-1] for row in rows])
                self.damaged[number] += len(good) - sum(good)
                for row in itertools.compress(rows, good):
                    values = list(row[1:-1])
                    values[_STARTED] += created_ns
                    values[_OUTCOME] = OUTCOMES[values[_OUTCOME]]
                    if values[_METRICS] is not None:
                        values[_METRICS] = json.loads(values[_METRICS])
                    yield Run.of(values)

    def columns(self, number: int, names: Sequence[str], program: int) -> dict[str, npt.NDArray[np.float64]]:
        """Columns of one program's counted good runs in order, as floats; NaN where unknown.

        For `started_ns` the values are relative to the study's start.
        """
        good = _good(number, program)
        query = select(*(RUN.c[name] for name in names)).where(good).order_by(RUN.c.seq)
        count = select(func.count()).where(good)
        with worded(self.shown), self._reading() as db:
            # As much room as they need and no more: there may be millions.
            table, filled = np.empty((len(names), db.execute(count).scalar_one())), 0
            for rows in db.execution_options(yield_per=_CHUNK).execute(query).partitions():
                # None becomes NaN in the conversion.
                table[:, filled : filled + len(rows)] = np.array([tuple(row) for row in rows], dtype=np.float64).T
                filled += len(rows)
        return dict(zip(names, table, strict=True))

    def metrics(self, number: int, program: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Of one program's counted good runs in order: `seq`, shape (runs,), and what it printed, (runs, metrics)."""
        query = select(RUN.c.seq, RUN.c.metrics).where(_good(number, program)).order_by(RUN.c.seq)
        with worded(self.shown), self._reading() as db:
            found = [(seq, json.loads(text)) for seq, text in db.execute(query) if text is not None]
        return np.array([seq for seq, _ in found], np.int64), np.array([each for _, each in found], np.float64)

    def averages(self, number: int, program: int) -> Averages:
        """Means over one program's counted good runs; None for a column that is unknown in any of them."""
        names = ("user_ns", "system_ns", "wait_ns")
        aggregates = [item for name in names for item in (func.count(RUN.c[name]), func.avg(RUN.c[name]))]
        query = select(func.count(), func.max(RUN.c.max_rss_bytes), *aggregates)
        with worded(self.shown), self._reading() as db:
            total, memory, *rest = db.execute(query.where(_good(number, program))).one()
        known = zip(names, rest[::2], rest[1::2], strict=True)
        means = {name: float(mean) if total and count == total else None for name, count, mean in known}
        return Averages(**means, max_rss_bytes=memory)

    def loads(self, number: int) -> list[Load]:
        """What else the machine did around the runs of a study, in their order; empty when nothing was recorded."""
        with worded(self.shown), self._reading() as db:
            return list(recorded.loads(db, number))

    def own_loads(self, number: int) -> OwnLoads:
        """Records of load that cover one run alone."""

        def read(seqs: Sequence[int]) -> dict[int, Load]:
            with worded(self.shown), self._reading() as db:
                return {load.first: load for load in recorded.loads(db, number, seqs) if load.first == load.last}

        with worded(self.shown), self._reading() as db:
            return OwnLoads(np.fromiter(recorded.own_seqs(db, number), np.int64), read)

    def series(self, number: int, seq: int) -> Series | None:
        """The load over time while the run `seq` took place; None when none was recorded."""
        with worded(self.shown), self._reading() as db:
            return recorded.series(db, number, seq)

    def all_series(self, number: int) -> list[Series]:
        """All loads over time of a study, in the order of their runs."""
        with worded(self.shown), self._reading() as db:
            return list(recorded.all_series(db, number))

    def regions(self, number: int) -> Iterator[bytes]:
        """The pieces of a study's file of timed regions in order, a few in memory at a time."""
        with worded(self.shown), self._reading() as db:
            yield from regions.parts(db, number)

    def region_pieces(self, number: int) -> int:
        """How many pieces a study's file of timed regions has; 0 where it has none."""
        with worded(self.shown), self._reading() as db:
            return db.execute(select(func.count()).where(REGION_PART.c.study_id == number)).scalar_one()

    def texts(self, number: int) -> dict[int, tuple[str, str]]:
        """What runs said: standard error and standard output by `seq`."""
        query = select(TEXT.c.seq, TEXT.c.stderr, TEXT.c.stdout).where(TEXT.c.study_id == number)
        with worded(self.shown), self._reading() as db:
            return {seq: (stderr, stdout) for seq, stderr, stdout in db.execute(query)}

    def verdict(self, number: int) -> dict[str, Any] | None:
        """The latest verdict of a study; None when becalm was ended before it had one."""
        query = select(VERDICT.c.json).where(VERDICT.c.study_id == number).order_by(VERDICT.c.id.desc()).limit(1)
        with worded(self.shown), self._reading() as db:
            text = db.execute(query).scalar()
        if text is None:
            return None
        try:
            return json_object(text)
        except (TypeError, ValueError, RecursionError):
            raise StoreError(
                f"The verdict of study {number} in the store {self.shown} is damaged. Its runs can be read: "
                f"becalm export {number} --format csv"
            ) from None

    def missing(self, number: int, seqs: Iterable[int]) -> set[int]:
        """Which of these runs the store does not have; empty when it has no such study."""
        with worded(self.shown), self._reading() as db:
            if db.execute(select(STUDY.c.id).where(STUDY.c.id == number)).scalar() is None:
                return set()
            wanted = set(seqs)
            query = select(RUN.c.seq).where((RUN.c.study_id == number) & (RUN.c.seq >= min(wanted, default=0)))
            return wanted - {seq for (seq,) in db.execute(query)}

    def _studies(self, *conditions: Any, limit: int | None = None, facts: bool = True) -> list[StoredStudy]:
        runs = select(func.count()).where(RUN.c.study_id == STUDY.c.id).scalar_subquery()
        timed = select(func.sum(REGION_PART.c.records)).where(REGION_PART.c.study_id == STUDY.c.id).scalar_subquery()
        # An outer join: a study whose machine is lost is a damaged study, not none.
        joined = select(STUDY, HOST.c.facts, runs + func.coalesce(timed, 0)).join(HOST, isouter=True)
        query = joined.where(*conditions).order_by(STUDY.c.id.desc())
        with worded(self.shown), self._reading() as db:
            rows = db.execution_options(yield_per=_STUDIES).execute(query.limit(limit))
            return [stored_study(db, row, facts=facts) for row in rows]

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        if self._together is not None:
            yield self._together
            return
        with self.location.engine.connect() as db, db.begin():
            yield db

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        if self._together is not None:
            yield self._together
            return
        with self.location.engine.connect() as connection:
            db = connection.execution_options(writes=True)
            with db.begin():
                yield db


def _good(number: int, program: int) -> ColumnElement[bool]:
    """One program's counted good runs in a study."""
    counted = (RUN.c.study_id == number) & (RUN.c.workload == program) & (RUN.c.round >= 0)
    return counted & (RUN.c.outcome == _CODES["ok"])


def _numbers(row: Sequence[Any]) -> tuple[Any, ...]:
    """A row as it is stored, whose text of metrics, if it has one, is a number: what its checksum is made of."""
    text = row[_METRICS + 1]
    return tuple(row) if not isinstance(text, str) else (*row[: _METRICS + 1], of_text(text), *row[_METRICS + 2 :])


def clean(text: str) -> str:
    """Text that every database can hold: what is not UTF-8, and PostgreSQL's forbidden zero byte, become U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def _host(db: Connection, facts: Mapping[str, Any]) -> int:
    """The row of a machine as it was: equal facts are kept once, and no study is given the facts of another time."""
    text = json.dumps(dict(facts), sort_keys=True)
    fingerprint = hashlib.sha256(text.encode()).hexdigest()[:32]
    known = select(HOST.c.id).where(HOST.c.fingerprint == fingerprint)
    found = db.execute(known).scalar()
    if found is None:
        # Another becalm may do the same at this moment.
        made = (
            "INSERT INTO host (fingerprint, facts) VALUES (:fingerprint, :facts) ON CONFLICT (fingerprint) DO NOTHING"
        )
        db.execute(sql(made), {"fingerprint": fingerprint, "facts": text})
        found = db.execute(known).scalar_one()
    return int(found)
