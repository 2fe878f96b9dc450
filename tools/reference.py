"""The parts of the reference that are written from becalm's own tables, as Markdown.

    python tools/reference.py           # their names
    python tools/reference.py knobs     # one of them

tools/documents.py puts them into the pages that ask for them, by a block between `<!-- becalm-table knobs -->` and its
end; tests/unit/tools/test_documents_tool.py holds those to the tables.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from textwrap import fill
from typing import Any

import check_templates
from command_reference import commands
from markdown import code, table
from python_reference import names, python

from becalm import errors
from becalm.hosts import TABLE as HOSTS
from becalm.methods import TABLE as METHODS
from becalm.nouns import tables
from becalm.nouns.knob import catalogue
from becalm.nouns.objective import TABLE as OBJECTIVES
from becalm.placement import METHODS as PLACEMENTS
from becalm.placement import Method
from becalm.profiles import SHIPPED, Profile
from becalm.profiles import load as load_profile
from becalm.report.formats import FOREIGN, FORMATS
from becalm.report.json_schema import kinds_with_schema
from becalm.wording.findings import TABLE as FINDINGS

Row = Mapping[str, Any]


SCOPES = {
    "process": "Settings of the measured program",
    "live": "Settings of the running machine",
    "boot": "Settings that need a restart",
}


def knobs() -> str:
    """Return every knob of the engine's catalogue: an overview for each scope, and a section for each knob."""
    rows = tables.rows("knobs")
    parts = []
    for scope, title in SCOPES.items():
        own = [row for row in rows if row["scope"] == scope]
        overview = (
            (f"[`{row['name']}`](#{row['name']})", row["domain"]["words"], code(row["tuned_value"]), row["group"])
            for row in own
        )
        parts += [f"## {title}\n", table(("name", "values", "tried", "group"), overview), *map(knob, own)]
    return "\n".join(parts)


def knob(row: Row) -> str:
    """Return the section of one knob."""
    needs = ", ".join([*([row["privilege"]] if row["privilege"] else []), *map(code, row["requires"])])
    boot = row["boot"] or {"parameters": (), "known_from": ""}
    scale = {"log": "logarithmic"}.get(row["domain"].get("scale"), "")
    facts = {
        "Values": row["domain"]["words"],
        "Scale": scale,
        "Tried by `becalm tune`": code(row["tuned_value"]),
        "Group": row["group"],
        "Why it matters": row["rationale"],
        "What it costs": row["costs"],
        "Needs": needs,
        "Kernel parameters": code(" ".join(boot["parameters"]).replace("{}", "…")),
        "Known from": boot["known_from"],
        "Not available means": row["absent"],
        "In reach on": code(f"--host {row['elsewhere']}" if row["elsewhere"] else ""),
        "Source": row["source"],
    }
    lines = [f"- **{name}**: {text}" for name, text in facts.items() if text]
    return f"### `{row['name']}`\n\n" + "\n".join(lines) + "\n"


def boot_effects() -> str:
    """Return the evidence that a kernel has taken a setting of the boot."""
    return table(
        ("setting", "known from"),
        ((code(row.name), row.boot.known_from) for row in catalogue() if row.boot is not None),
    )


def load_sources() -> str:
    """Return the sources of the machine's load that the agent reads, and what can be wrong with each."""
    return table(
        ("name", "files", "what it says", "unit, resolution", "trap", "why it may be absent"),
        (
            (code(row.name), ", ".join(map(code, row.files)), row.what, row.unit, row.trap, row.absent)
            for row in tables.sources()
        ),
    )


SUBJECTS = {"record": "The record itself", "machine": "The machine", "programs": "The measured programs"}


def load_columns() -> str:
    """Return the columns of a record of load, by subject."""
    parts = []
    for subject, title in SUBJECTS.items():
        rows = [row for row in tables.load_columns() if row.subject == subject]
        cells = ((code(row.name), row.unit, row.kind, code(row.source), row.meaning) for row in rows)
        parts.append(f"### {title}\n\n" + table(("name", "unit", "kind", "source", "meaning"), cells))
    return "\n".join(parts)


def metrics() -> str:
    """Return the names of load columns for Prometheus."""
    return table(
        ("metric", "column"),
        ((code(row.metric), code(row.name)) for row in tables.load_columns() if row.metric),
    )


def quantities() -> str:
    """Return the quantities that are measured of a run besides its times."""
    return table(
        ("metric", "unit", "meaning"), ((code(row.name), row.unit, row.meaning) for row in tables.quantities())
    )


def kernels() -> str:
    """Return the built-in kernels: their properties, and their parameters."""
    known = table(
        ("kernel", "what it does", "pressure", "sensitivity", "because"),
        ((code(row.name), row.what, row.pressure, row.sensitivity, row.why) for row in tables.built_in_kernels()),
    )
    units = {"bytes": "a size", "count": "a number", "time": "a time", "switch": "the word alone", "file": "a file"}
    parameters = table(
        ("kernel", "parameter", "given as", "usually", "what it is"),
        (
            (code(row.name), code(parameter.name), units[parameter.unit], parameter.usual, parameter.meaning)
            for row in tables.built_in_kernels()
            for parameter in row.parameters
        ),
    )
    return f"{known}\n{parameters}"


def run_columns() -> str:
    """Return the columns of a run."""
    return table(
        ("name", "unit", "known", "meaning"),
        ((code(row.name), row.unit, "always" if row.always else "", row.meaning) for row in tables.run_columns()),
    )


def methods() -> str:
    """Return the search methods."""
    return table(("name", "what it does"), ((code(row.name), row.what) for row in METHODS))


def placements() -> str:
    """Return the methods of placing programs on chips, and what they need to know."""

    def needs(row: Method) -> str:
        return ", ".join(name for name, needed in (("pressures", row.pressure), ("costs", row.costs)) if needed)

    rows = ((code(row.name), row.words, needs(row), row.source) for row in PLACEMENTS)
    return table(("name", "what it does", "needs", "source"), rows)


def hosts() -> str:
    """Return the kinds of host."""
    return table(("kind", "what it is"), ((code(row.kind), row.what) for row in HOSTS))


def formats() -> str:
    """Return the formats of `becalm export` and `becalm import`."""
    rows = [(code(row.name), row.what, "export and import" if row.reads else "export") for row in FORMATS]
    rows += [(code(row.name), row.what, "import") for row in FOREIGN]
    return table(("name", "what is in it", "for"), rows)


def objectives() -> str:
    """Return the objectives that a search can minimise."""
    rows = ((code(row.name), row.minimizes, row.what, row.unit) for row in OBJECTIVES)
    return table(("name", "makes small", "what it is", "unit"), rows)


def findings() -> str:
    """Return the kinds of finding, and their numbers."""
    return table(
        ("kind", "meaning", "numbers"),
        ((code(row.kind), row.meaning, ", ".join(map(code, row.numbers))) for row in FINDINGS),
    )


def exit_codes() -> str:
    """Return the errors of Python, by the exit code with which they end a command."""
    classes = (var for var in vars(errors).values() if isinstance(var, type) and issubclass(var, errors.BecalmError))
    rows = ((error.exit_code, code(error.__name__), summary(error)) for error in classes)
    return table(("code", "error", "meaning"), sorted(rows))


def profiles() -> str:
    """Return the profiles that come with becalm."""
    rows = (load_profile(name) for name in SHIPPED)
    cells = ((code(row.name), row.description, ", ".join(map(code, settings_text(row)))) for row in rows)
    return table(("name", "what it is", "settings"), cells)


def schemas() -> str:
    """Return the kinds of results that have a JSON Schema."""
    return fill(", ".join(code(kind.replace(" ", "\0")) for kind in kinds_with_schema()), 120).replace("\0", " ") + "\n"


def settings_text(profile: Profile) -> list[str]:
    """Return the settings of a profile in the form of --set."""
    return [f"{name}={value}" for name, value in profile.settings.values]


def summary(what: object) -> str:
    """Return the first paragraph of a docstring, in one line."""
    return " ".join((inspect.getdoc(what) or "").split("\n\n")[0].split())


TABLES: dict[str, Callable[[], str]] = {
    "knobs": knobs,
    "boot-effects": boot_effects,
    "load-sources": load_sources,
    "load-columns": load_columns,
    "metrics": metrics,
    "run-columns": run_columns,
    "quantities": quantities,
    "kernels": kernels,
    "methods": methods,
    "placements": placements,
    "hosts": hosts,
    "formats": formats,
    "objectives": objectives,
    "findings": findings,
    "exit-codes": exit_codes,
    "profiles": profiles,
    "schemas": schemas,
    "commands": commands,
    "action-inputs": check_templates.action_inputs,
    "action-outputs": check_templates.action_outputs,
    "gitlab-inputs": check_templates.gitlab_inputs,
    "python-names": names,
    "python": python,
}
"""The tables that pages can contain."""


if __name__ == "__main__":
    print(TABLES[sys.argv[1]]() if len(sys.argv) == 2 else "\n".join(TABLES))
