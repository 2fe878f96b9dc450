"""A study of its rows. What is damaged in them costs that study, and is said in it; the others stay readable."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, select

from becalm.nouns.settings import Settings
from becalm.nouns.study import StoredStudy, Study
from becalm.nouns.workload import Workload
from becalm.store.schema import SETTINGS, WORKLOAD

T = TypeVar("T")


def stored_study(db: Connection, row: Row[Any], *, facts: bool = True) -> StoredStudy:
    """The study of a row of its table joined with its host's facts and the number of its runs.

    Without `facts` they are looked at, but not kept.
    """
    lost: list[str] = []

    def part(what: str, read: Callable[[], T], without: T) -> T:
        try:
            return read()
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            lost.append(what)
            return without

    def parts(table: Any, column: Any) -> list[Any]:
        query = select(column).where(table.c.study_id == row.id).order_by(table.c.position)
        return [json.loads(_text(text)) for (text,) in db.execute(query)]

    def workloads() -> tuple[Workload, ...]:
        return tuple(Workload.from_json(each) for each in parts(WORKLOAD, WORKLOAD.c.description))

    def settings() -> tuple[Settings, ...]:
        return tuple(Settings.of(each) for each in parts(SETTINGS, SETTINGS.c.knobs))

    nothing: dict[str, Any] = {}
    study = Study(
        kind=part("its kind", lambda: _text(row.kind), "?"),
        workloads=part("its programs", workloads, ()),
        settings=part("its settings", settings, ()),
        options=part("its options", lambda: json_object(row.options), nothing),
        seed=part("its seed", lambda: int(row.seed), 0),
        host=part("its host", lambda: _text(row.host_name), "?"),
        title=part("its title", lambda: _text(row.title), "?"),
    )
    known = part("what is known of its machine", lambda: json_object(row.facts), nothing)
    return StoredStudy(
        number=row.id,
        study=study,
        created_ns=part("when it began", lambda: int(row.created_ns), 0),
        becalm=part("which becalm made it", lambda: _text(row.becalm), "?"),
        environment=part("where it comes from", lambda: _text(row.environment), "?"),
        facts=known if facts else nothing,
        runs=int(row[-1]),
        damaged=f"{' and '.join(lost)} cannot be read" if lost else "",
    )


def json_object(text: str) -> dict[str, Any]:
    """The JSON object in a text. Raises TypeError, ValueError or RecursionError for anything else."""
    found = json.loads(_text(text))
    if not isinstance(found, dict):
        raise TypeError(f"not an object: {type(found).__name__}")
    return found


def _text(value: object) -> str:
    """A text as becalm stores it. Raises TypeError or ValueError (a byte that is no UTF-8) for anything else."""
    if not isinstance(value, str):
        raise TypeError(f"not a text: {type(value).__name__}")
    value.encode()
    return value
