"""The tables of studies, of the facts of their machines, and of verdicts.

Damaged rows of a study only affect that study, which reports them; the others stay readable.

Public: insert, add_settings, add_noticed, noticed, created_ns, studies, delete, in_group, newest, conclude, verdict,
is_whole_text, is_fingerprint, json_object.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from becalm import system_clock
from becalm._version import VERSION
from becalm.nouns.finding import Finding
from becalm.nouns.settings import Settings
from becalm.nouns.study import StoredStudy, Study
from becalm.nouns.workload import Workload
from becalm.store import counts
from becalm.store.checksum import as_text, text_checksum
from becalm.store.database import Connection
from becalm.store.runs import clean
from becalm.store.schema import STUDY, TABLES
from becalm.units import join_names

T = TypeVar("T")

_CHUNK = 100

DESCRIPTION = "its title, options, programs or date"
"""The parts of a study that its checksum covers, in words."""

_COLUMNS = ("id", *(column.name for column in STUDY.columns))
_DESCRIBED = ("kind", "title", "created_ns", "becalm", "host_name", "seed", "options", "environment")
"""The columns of the checksum in order, without references to other rows."""

_JOINED = f"""
    SELECT {", ".join(f"study.{name}" for name in _COLUMNS)}, host.fingerprint, host.facts,
        (SELECT coalesce(sum(records), 0) FROM region_part WHERE region_part.study_id = study.id),
        (SELECT count(*) FROM run WHERE run.study_id = study.id),
        (SELECT max(seq) FROM run WHERE run.study_id = study.id),
        {", ".join(f"study_count.{name}" for name in (*counts.COLUMNS, "checksum"))}
    FROM study LEFT JOIN host ON host.id = study.host_id LEFT JOIN study_count ON study_count.study_id = study.id
"""
"""The query for studies. Its outer joins make a study without its machine damaged instead of missing."""


def insert(
    db: Connection,
    study: Study,
    facts: Mapping[str, Any],
    *,
    environment: str = "known",
    created_ns: int | None = None,
    becalm: str = VERSION,
) -> int:
    """Add a study that begins, and return its number."""
    host, fingerprint = _host(db, facts)
    described = {
        "kind": clean(study.kind),
        "title": clean(study.title),
        "created_ns": system_clock.time_ns() if created_ns is None else created_ns,
        "becalm": clean(becalm),
        "host_name": clean(study.host),
        "seed": study.seed,
        "options": json.dumps(dict(study.options)),
        "environment": clean(environment),
    }
    programs = [json.dumps(workload.to_json()) for workload in study.workloads]
    checksum = _description(described, fingerprint, programs)
    number = db.insert_numbered("study", host_id=host, **described, checksum=checksum)
    counts.begin(db, number)
    for position, program in enumerate(programs):
        db.insert("study_workload", study_id=number, position=position, description=program)
    for position, settings in enumerate(study.settings):
        add_settings(db, number, position, settings)
    return number


def add_settings(db: Connection, number: int, position: int, settings: Settings) -> None:
    """Add settings of a study."""
    text = json.dumps(settings.to_json())
    checksum = _row_checksum(number, position, text)
    db.insert("study_settings", study_id=number, position=position, knobs=text, checksum=checksum)
    counts.add(db, number, settings=1)


def add_noticed(db: Connection, number: int, finding: Finding) -> None:
    """Add a finding on the settings of a study."""
    position = int(db.value("SELECT count(*) FROM study_noticed WHERE study_id = :number", number=number))
    text = clean(json.dumps(finding.kept()))
    checksum = _row_checksum(number, position, text)
    db.insert("study_noticed", study_id=number, position=position, finding=text, checksum=checksum)
    counts.add(db, number, noticed=1)


def noticed(db: Connection, number: int) -> list[dict[str, Any]]:
    """Return the findings on settings of a study, in order: kind, numbers and program of each.

    Raises TypeError, ValueError or RecursionError if they are damaged.
    """
    query = "SELECT position, finding, checksum FROM study_noticed WHERE study_id = :number ORDER BY position"
    rows = list(db.execute(query, number=number))
    result = [json_object(text) for _, text, _ in rows]
    if not _are_whole(number, rows):
        raise ValueError("they are not as they were stored")
    known = counts.read_counts(db, number)
    if known is not None and len(result) < known.noticed:
        raise ValueError(f"{known.noticed - len(result)} of them are missing")
    return result


def created_ns(db: Connection, number: int) -> int | None:
    """Return the beginning of a study, Unix ns; None if there is no study of that number."""
    began_ns = db.value("SELECT created_ns FROM study WHERE id = :number", number=number)
    return None if began_ns is None else int(began_ns)


def studies(
    db: Connection, *, number: int | None = None, kind: str | None = None, limit: int | None = None, facts: bool = True
) -> list[StoredStudy]:
    """Return the studies of a number, of a kind, or all, newest first, at most `limit`.

    `facts`: whether to return the facts of the machines, which are otherwise empty.
    """
    wanted = {name: value for name, value in (("id", number), ("kind", kind)) if value is not None}
    where = " AND ".join(f"study.{name} = :{name}" for name in wanted)
    query = f"{_JOINED} {'WHERE ' if where else ''}{where} ORDER BY study.id DESC"
    if limit is not None:
        query += f" LIMIT {int(limit)}"
    return [_study(db, row, facts) for rows in db.parts(query, _CHUNK, **wanted) for row in rows]


def stamps(db: Connection, kind: str | None) -> dict[int, str]:
    """Return stamps of the studies of a kind, or of all, which change with their descriptions, rows and verdicts."""
    query = (
        "SELECT study.id, study.checksum, study.created_ns, "
        "(SELECT checksum FROM study_count WHERE study_id = study.id), "
        "(SELECT count(*) FROM run WHERE study_id = study.id), "
        "(SELECT max(id) FROM verdict WHERE study_id = study.id) "
        "FROM study WHERE study.kind = :kind ORDER BY study.id"
    )
    every = query.replace("WHERE study.kind = :kind ", "")
    rows = db.execute(every) if kind is None else db.execute(query, kind=kind)
    return {int(number): " ".join(map(str, parts)) for number, *parts in rows}


def delete(db: Connection, number: int) -> None:
    """Remove a study with all its rows, and the facts of its machine if no other study refers to them."""
    for table in TABLES:
        if any(column.refers == STUDY.name for column in table.columns):
            db.execute(f"DELETE FROM {table.name} WHERE study_id = :number", number=number)
    db.execute("DELETE FROM study WHERE id = :number", number=number)
    db.execute("DELETE FROM host WHERE id NOT IN (SELECT host_id FROM study)")


def in_group(db: Connection, group: str) -> list[int]:
    """Return the numbers of the studies with this option `group`, the oldest first."""
    part = f'"group": {json.dumps(group)}'
    for sign in "~%_":
        part = part.replace(sign, f"~{sign}")
    query = "SELECT id FROM study WHERE options LIKE :part ESCAPE '~' ORDER BY id"
    return [number for (number,) in db.execute(query, part=f"%{part}%")]


def newest(db: Connection) -> int | None:
    """Return the number of the study that began last; None without studies."""
    number = db.value("SELECT max(id) FROM study")
    return None if number is None else int(number)


def conclude(db: Connection, number: int, verdict: Mapping[str, Any]) -> None:
    """Add a verdict of a study."""
    text, now_ns = json.dumps(verdict), system_clock.time_ns()
    db.insert("verdict", study_id=number, created_ns=now_ns, json=text, checksum=_row_checksum(number, now_ns, text))


def verdict(db: Connection, number: int) -> dict[str, Any] | None:
    """Return the latest verdict of a study; None without one.

    Raises TypeError, ValueError or RecursionError if it is damaged.
    """
    query = "SELECT created_ns, json, checksum FROM verdict WHERE study_id = :number ORDER BY id DESC LIMIT 1"
    row = db.execute(query, number=number).fetchone()
    if row is None:
        return None
    began_ns, text, checksum = row
    # JSON with a changed digit is still valid, so its checksum is compared.
    if checksum != _row_checksum(number, began_ns, as_text(text)):
        raise ValueError("it is not as it was stored")
    return json_object(text)


def is_whole_text(number: int, place: int, text: str, checksum: int) -> bool:
    """Return whether a row of settings, findings or verdicts, with its position or time, matches its checksum."""
    return checksum == _row_checksum(number, place, text)


def is_fingerprint(fingerprint: str, facts: str) -> bool:
    """Return whether a machine's facts match their fingerprint."""
    return _fingerprint(facts) == fingerprint


def json_object(text: str) -> dict[str, Any]:
    """Return the JSON object in a text. Raises TypeError, ValueError or RecursionError for anything else."""
    document = json.loads(as_text(text))
    if not isinstance(document, dict):
        raise TypeError(f"not an object: {type(document).__name__}")
    return document


def _description(described: Mapping[str, Any], fingerprint: str, programs: Sequence[str]) -> int:
    """Return the checksum of a study's description: its columns, its machine's fingerprint, its programs in order."""
    return text_checksum(json.dumps([*(described[name] for name in _DESCRIBED), fingerprint, *programs]))


def _row_checksum(number: int, position: int, text: str) -> int:
    """Return the checksum of a text of a study, with its position or time."""
    return text_checksum(f"{number} {position} {text}")


def _are_whole(number: int, rows: Iterable[tuple[int, str, int]]) -> bool:
    """Return whether all rows (position, text, checksum) match their checksums."""
    return all(_row_checksum(number, position, text) == checksum for position, text, checksum in rows)


def _fingerprint(facts: str) -> str:
    return hashlib.sha256(facts.encode()).hexdigest()[:32]


def _host(db: Connection, facts: Mapping[str, Any]) -> tuple[int, str]:
    """Return the row of a machine's facts, which is added if it is new, and their fingerprint.

    Equal facts are stored once.
    """
    text = json.dumps(dict(facts), sort_keys=True)
    fingerprint = _fingerprint(text)
    known = "SELECT id FROM host WHERE fingerprint = :fingerprint"
    host_id = db.value(known, fingerprint=fingerprint)
    if host_id is None:
        # Another becalm may insert the same facts at this moment.
        db.execute(
            "INSERT INTO host (fingerprint, facts) VALUES (:fingerprint, :facts) ON CONFLICT (fingerprint) DO NOTHING",
            fingerprint=fingerprint,
            facts=text,
        )
        host_id = db.value(known, fingerprint=fingerprint)
    return int(host_id), fingerprint


def _study(db: Connection, row: tuple[Any, ...], with_facts: bool) -> StoredStudy:
    """Return the study of a row of `_JOINED`. `with_facts`: whether to check and return the machine's facts."""
    columns = len(_COLUMNS)
    values, (fingerprint, facts, regions, runs, last, *known) = row[:columns], row[columns:]
    of = dict(zip(_COLUMNS, values, strict=True))
    lost: list[str] = []

    def part(what: str, read: Callable[[], T], without: T) -> T:
        try:
            return read()
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            lost.append(what)
            return without

    counted = counts.parse_counts(of["id"], known)

    def texts(query: str) -> list[tuple[Any, ...]]:
        return list(db.execute(f"{query} WHERE study_id = :number ORDER BY position", number=of["id"]))

    programs = texts("SELECT description FROM study_workload")
    under = texts("SELECT position, knobs, checksum FROM study_settings")

    def settings() -> tuple[Settings, ...]:
        if counted is not None and len(under) < counted.settings:
            raise ValueError(f"{counted.settings - len(under)} of them are missing")
        return tuple(Settings.of(json.loads(as_text(knobs))) for _, knobs, _ in under)

    nothing: dict[str, Any] = {}
    study = Study(
        kind=part("its kind", lambda: as_text(of["kind"]), "?"),
        workloads=part(
            "its programs",
            lambda: tuple(Workload.from_json(json.loads(as_text(text))) for (text,) in programs),
            (),
        ),
        settings=part("its settings", settings, ()),
        options=part("its options", lambda: json_object(of["options"]), nothing),
        seed=part("its seed", lambda: int(of["seed"]), 0),
        host=part("its host", lambda: as_text(of["host_name"]), "?"),
        title=part("its title", lambda: as_text(of["title"]), "?"),
    )
    changed = [
        what
        for what, whole in (
            (DESCRIPTION, lambda: _description(of, fingerprint, [text for (text,) in programs]) == of["checksum"]),
            ("its counts of runs and settings", lambda: counted is not None),
            ("its settings", lambda: _are_whole(of["id"], under)),
            ("its number of regions", lambda: counted is None or counted.regions == regions),
            ("the facts of its machine", lambda: facts is None or _fingerprint(facts) == fingerprint),
        )
        if not _is_whole(whole)
    ]
    machine = part("the facts of its machine", lambda: json_object(facts), nothing)
    return StoredStudy(
        number=of["id"],
        study=study,
        created_ns=part("its date", lambda: int(of["created_ns"]), 0),
        becalm=part("its version of becalm", lambda: as_text(of["becalm"]), "?"),
        environment=part("its origin", lambda: as_text(of["environment"]), "?"),
        facts=machine if with_facts else nothing,
        runs=int(runs) + int(regions),
        rows=int(runs),
        missing=0 if counted is None else max(0, counted.runs - int(runs)),
        missing_at_end=0
        if counted is None or not isinstance(last, int | None)
        else counts.missing_at_end(last, runs, counted.runs),
        damaged=f"{join_names(lost)} cannot be read" if lost else "",
        changed=f"something in {' and in '.join(changed)} is not as it was stored" if changed else "",
    )


def _is_whole(whole: Callable[[], bool]) -> bool:
    """Return whether a check holds; a value of a wrong type fails it."""
    try:
        return whole()
    except (AttributeError, TypeError, ValueError):
        return False
