"""becalm's own format: a study with everything that is known of it, read back without loss (docs/reference/json.md)."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from becalm._version import SCHEMA, VERSION
from becalm.load.others import Others
from becalm.load.record import LOAD_COLUMNS, Load, Series, load_of
from becalm.nouns.metric import are_valid
from becalm.nouns.run import COLUMNS, Outcome, Run
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.report.document import Document
from becalm.report.formats.layout import JsonPart, Unlike
from becalm.wording.findings import reworded

KIND = "study"

Part = TypeVar("Part")

_KNOWN = ("seq", "workload", "settings", "round", "padding", "started_ns", "left_behind")

UNTIMED = ("import", "record")
"""The kinds of studies whose runs may come from a tool that does not record how long they took."""


def write(document: Document) -> str:
    """Return the study as JSON text."""
    return json.dumps(to_json(document), separators=(",", ":"), allow_nan=False) + "\n"


def to_json(document: Document) -> dict[str, Any]:
    """Return the study as a JSON value."""
    study = document.study
    return {
        "becalm": document.becalm or VERSION,
        "schema": SCHEMA,
        "kind": KIND,
        "study": {
            "number": document.number,
            "kind": study.kind,
            "title": study.title,
            "created_ns": document.created_ns,
            "environment": document.environment,
            "host": study.host,
            "seed": study.seed,
            "options": dict(study.options),
            "workloads": [workload.to_json() for workload in study.workloads],
            "settings": [setting.to_json() for setting in study.settings],
        },
        "facts": dict(document.facts),
        "runs": {"columns": list(COLUMNS), "rows": [list(run) for run in document.runs]},
        "loads": loads_to_json(document.loads),
        "series": [series.to_json() for series in document.series],
        **({"others": [others.to_json() for others in document.others]} if document.others else {}),
        "texts": {str(seq): {"stderr": err, "stdout": out} for seq, (err, out) in document.texts.items()},
        **({"noticed": [finding.kept() for finding in document.noticed]} if document.noticed else {}),
        "verdict": document.verdict,
        **(
            {"regions": [base64.b64encode(region).decode() for region in regions]}
            if (regions := document.regions)
            else {}
        ),
    }


def loads_to_json(loads: Sequence[Load]) -> dict[str, Any]:
    """Return records of load, without the columns that are unknown in all of them."""
    known = [name for name in LOAD_COLUMNS if any(getattr(load, name) is not None for load in loads)]
    return {"columns": known, "rows": [[getattr(load, name) for name in known] for load in loads]}


def recognises(value: Any) -> bool:
    """Return whether a JSON value is of this format."""
    return isinstance(value, dict) and "becalm" in value and value.get("kind") == KIND


def read(value: dict[str, Any]) -> list[Document]:
    """Return the study in a JSON value. Raises ValueError, KeyError or TypeError when it breaks the format."""
    file = JsonPart(value)
    if (schema := file["schema"].whole()) != SCHEMA:
        raise ValueError(f"schema {schema} of another becalm, this one knows {SCHEMA}")
    described = file["study"].members()
    study = Study(
        kind=str(described["kind"]),
        workloads=tuple(_decode(Workload.from_json, workload, "program") for workload in file["study"]["workloads"]),
        settings=tuple(_decode(Settings.of, setting, "setting") for setting in file["study"]["settings"]),
        options=dict(file["study"]["options"].members()),
        seed=int(described["seed"]),
        host=str(described["host"]),
        title=str(described["title"]),
    )
    columns = file["runs"]["columns"].list()
    if lacking := [name for name in COLUMNS if name not in columns]:
        raise Unlike(f"runs.columns has no {lacking[0]!r}")
    order = [columns.index(name) for name in COLUMNS]
    loads = value["loads"]
    runs = _runs(list(file["runs"]["rows"]), len(columns), order, study)
    if len({run.seq for run in runs}) < len(runs):
        raise ValueError("two runs have the same seq")
    return [
        Document(
            study=study,
            runs=runs,
            loads=tuple(load_of(loads["columns"], row) for row in loads["rows"]),
            series=tuple(Series.from_json(series) for series in value["series"]),
            others=tuple(Others.from_json(others) for others in value.get("others", ())),
            texts={int(seq): (str(t["stderr"]), str(t["stdout"])) for seq, t in value["texts"].items()},
            facts=dict(file["facts"].members()),
            noticed=tuple(reworded(finding) for finding in value.get("noticed", ())),
            verdict=value["verdict"],
            regions=tuple(base64.b64decode(piece, validate=True) for piece in value.get("regions", ())),
            created_ns=described["created_ns"],
            becalm=str(value["becalm"]),
            environment=str(described["environment"]),
        )
    ]


def _decode(make: Callable[[Any], Part], part: JsonPart, noun: str) -> Part:
    """Return the value that a part of the file describes. Raises ValueError that names the place."""
    try:
        return make(part.members())
    except (KeyError, TypeError, AttributeError, IndexError):
        raise Unlike(f"{part.place} is not a {noun} as becalm writes it") from None


NAMED = 5
"""The number of unreadable rows that are named one by one."""


def _runs(rows: Sequence[JsonPart], columns: int, order: Sequence[int], study: Study) -> list[Run]:
    """Return the runs of a file. Raises ValueError with all rows that cannot be read, since becalm's own file is read
    completely or not at all."""
    runs, wrong = [], []
    for row in rows:
        try:
            values = _row(row, columns)
            runs.append(_run([values[index] for index in order], study))
        except (ValueError, TypeError) as error:
            reason = str(error) if isinstance(error, ValueError) else "it is laid out in another way"
            wrong.append(reason if row.place in reason else f"{row.place}: {reason}")
    if wrong:
        more = f"; and {len(wrong) - NAMED:,} more rows" if len(wrong) > NAMED else ""
        raise ValueError("; ".join(wrong[:NAMED]) + more)
    return runs


def _row(part: JsonPart, columns: int) -> list[Any]:
    if len(part.list()) != columns:
        raise Unlike(f"{part.place} has {len(part.list())} values for {columns} columns")
    return part.list()


def _run(row: list[Any], study: Study) -> Run:
    run = Run.of(row)
    if run.metrics is not None and not are_valid(run.metrics):
        raise ValueError("metrics must be numbers above zero")
    for name, field in zip(COLUMNS, row, strict=False):
        if name not in ("outcome", "metrics") and not (field is None and name not in _KNOWN) and type(field) is not int:
            raise ValueError(f"{name} must be a whole number, not {field!r}")
    if run.wall_ns is None and (study.kind not in UNTIMED or (run.outcome == Outcome.OK and run.metrics is None)):
        raise ValueError("wall_ns is null, which it may be only of imported runs with metrics")
    for name, field in (("wall_ns", run.wall_ns), ("started_ns", run.started_ns)):
        if field is not None and field < 0:
            raise ValueError(f"{name} is {field}, which is below zero")
    if run.outcome not in list(Outcome):
        raise ValueError(f"outcome is {run.outcome!r:.80}, not one of {', '.join(Outcome)}")
    for name, place, count in (
        ("workload", run.workload, len(study.workloads)),
        ("settings", run.settings, len(study.settings)),
    ):
        if not 0 <= place < count:
            raise ValueError(f"{name} {place} is not one of {count}")
    return run
