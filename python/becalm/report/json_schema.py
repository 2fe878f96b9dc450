"""JSON Schemas (draft 2020-12) of the results that `--json` prints, from the types of their fields.

They describe the members that every result of a kind has. Others may follow within a schema version, so they are not
forbidden, and numbers may be null, where a bound is infinite or a value is unknown.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, get_type_hints

import msgspec

from becalm._version import SCHEMA
from becalm.errors import UsageError
from becalm.nouns.result import Result

DRAFT = "https://json-schema.org/draft/2020-12/schema"

_MODULES = (
    "becalm.results.bisect", "becalm.results.check", "becalm.results.clock", "becalm.results.compare",
    "becalm.results.compare_stored", "becalm.results.design", "becalm.results.design_fit",
    "becalm.results.export_settings", "becalm.results.history", "becalm.results.layouts", "becalm.results.publish",
    "becalm.results.record_commits", "becalm.results.regions", "becalm.results.regions_overview",
    "becalm.results.suite", "becalm.results.survey", "becalm.results.tune", "becalm.results.tune_cost",
    "becalm.results.tune_table", "becalm.load.explanation", "becalm.load.run_report",
)  # fmt: skip
"""The modules of results whose JSON form follows from their fields."""

_BY_FIELD = {
    "run": "Verdict",
    "compare": "Verdict",
    "record": "Verdict",
    "tune": "TuneVerdict",
    "explain": "Explanation",
}
"""The classes of results with a field `kind`, by its values."""


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of results of a kind, the member `kind` of what `--json` prints.

    Raises UsageError for a kind without a schema.
    """
    classes = _classes()
    if kind not in classes:
        raise UsageError(f"There is no JSON Schema of {kind!r}. There is one of: {', '.join(sorted(classes))}.")
    result = classes[kind]
    derived = {name: get_type_hints(getattr(result, name).fget)["return"] for name in result.DERIVED}
    (own, *of_derived), parts = msgspec.json.schema_components(
        [result, *derived.values()], schema_hook=_schema_of, ref_template="#/$defs/{name}"
    )
    body = parts.pop(own["$ref"].rpartition("/")[2])
    members = {
        "becalm": {"type": "string"},
        "schema": {"const": SCHEMA},
        **body["properties"],
        "kind": {"const": kind},
        **{name: {"type": ["object", "null"]} for name in result.OBJECTS},
        **dict(zip(derived, of_derived, strict=True)),
    }
    schema = {
        "$schema": DRAFT,
        "title": f"becalm: {kind}",
        "description": body.get("description", ""),
        "type": "object",
        "properties": members,
        "required": ["becalm", "schema", "kind", *(name for name in body["required"] if name != "kind")],
        "$defs": parts,
    }
    numbers: dict[str, Any] = _with_null(schema)
    return numbers


def kinds_with_schema() -> tuple[str, ...]:
    """Return the kinds of results that have a schema."""
    return tuple(sorted(_classes()))


def _classes() -> dict[str, type[Result]]:
    """Return the classes of results by their kinds."""
    by_kind: dict[str, type[Result]] = {}
    by_name: dict[str, type[Result]] = {}
    for module in map(importlib.import_module, _MODULES):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Result) and value.__module__ == module.__name__:
                by_name[value.__name__] = value
                if value.KIND:
                    by_kind[value.KIND] = value
    return by_kind | {kind: by_name[name] for kind, name in _BY_FIELD.items()}


def _schema_of(kind: type) -> dict[str, Any]:
    """Return the schema of a subclass of a built-in type."""
    for base, name in ((str, "string"), (int, "integer"), (float, "number")):
        if issubclass(kind, base):
            return {"type": name}
    raise NotImplementedError(kind)


def _with_null(schema: Any) -> Any:
    """Return a schema whose numbers may be null: JSON has neither infinity nor NaN."""
    if isinstance(schema, Mapping):
        changed = {name: _with_null(part) for name, part in schema.items()}
        return {**changed, "type": ["number", "null"]} if changed.get("type") == "number" else changed
    if isinstance(schema, (list, tuple)):
        return [_with_null(part) for part in schema]
    return schema
