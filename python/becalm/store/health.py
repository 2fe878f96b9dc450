"""The check of a whole store: SQLite checks every page, and every row is compared with its checksum.

Public: check.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from becalm.errors import StoreError
from becalm.nouns.study import StoredStudy
from becalm.results.store import StoreHealth, StudyHealth
from becalm.store.creation import check_version, version
from becalm.store.location import locate_existing
from becalm.store.store import Store

MOST = 20
"""The largest number of problems that are reported by the database."""

_WORDS = {
    "run": "runs",
    "load": "records of load",
    "series": "series of load",
    "text": "outputs",
    "others": "records of others",
}


def check(reference: str | None) -> StoreHealth:
    """Return the health of a store. Raises StoreError if it does not exist, or nothing of it can be read."""
    with Store(locate_existing(reference)) as store:
        problems = _page_problems(store)
        try:
            studies = tuple(_study(store, study) for study in _studies(store))
        except StoreError as error:
            studies = ()
            # The report has the advice already, so only the cause is added.
            problems = tuple(dict.fromkeys((*problems, str(error.__cause__ or error))))
        return StoreHealth(store.shown, studies, problems)


def _page_problems(store: Store) -> tuple[str, ...]:
    """Return the problems that the database itself reports in its pages and in references between rows."""
    database = store.location.database
    if database.dialect.server:
        return ()
    try:
        with database.transaction() as db:
            problems = [str(row[0]) for row in db.execute(f"PRAGMA integrity_check({MOST})")]
            problems += [
                f"a row of {row[0]} refers to no row of {row[2]}" for row in db.execute("PRAGMA foreign_key_check")
            ]
    except database.errors as error:
        return (str(error),)
    lines = [line for problem in problems for line in problem.splitlines() if line != "ok"]
    return tuple(dict.fromkeys(lines))[:MOST]


def _studies(store: Store) -> list[StoredStudy]:
    with store.reading() as db:
        check_version(version(db), store.shown)
    return store.studies()


def _study(store: Store, study: StoredStudy) -> StudyHealth:
    number, problems = study.number, [problem for problem in (study.damaged, study.changed) if problem]

    def read(what: str, of: Callable[[], Any]) -> Any:
        try:
            return of()
        except StoreError as error:
            problems.append(f"{what} cannot be read ({error.__cause__ or 'damaged'})")
            return None

    runs = read("its runs", lambda: sum(1 for _ in store.runs(number)))
    read("its records of load", lambda: store.loads(number))
    read("its series of load", lambda: store.all_series(number))
    read("its records of others", lambda: store.others(number))
    read("the output of its runs", lambda: store.texts(number))
    read("what was noticed", lambda: store.noticed(number, lambda document: document))  # type: ignore[arg-type, return-value]
    read("its result", lambda: store.verdict(number))
    pieces = read("its timed regions", lambda: [bool(piece) for piece in store.regions(number)]) or []
    if lost := pieces.count(False):
        problems.append(f"{lost} of {len(pieces)} pieces of its timed regions are damaged")
    problems += [f"{lost:,} of {of:,} {_WORDS[what]} are damaged" for what, (lost, of) in store.damaged(number).items()]
    if study.missing_at_end:
        problems.append(f"the last {study.missing_at_end:,} of {study.rows + study.missing:,} runs are missing")
    return StudyHealth(number, study.study.kind, study.study.title, runs or 0, tuple(problems))
