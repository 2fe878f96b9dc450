"""Evaluations of timers that are stored under a name, and `last`, the latest finished one.

Each is a JSON report in a file of the state directory. In place of a name, the path of a report of any machine
(`becalm clock --json`, `--report x.json`) is accepted, too.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from becalm import paths
from becalm.errors import MachineError, UsageError
from becalm.files.text import read_text
from becalm.results.clock import ClockReport

LAST = "last"


def check_name(name: str) -> str:
    """Return a valid name. Raises UsageError."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", name) or name == LAST or name.endswith(".json"):
        raise UsageError(
            f"--keep takes a name of letters, digits, dots, hyphens and underscores, other than {LAST!r} and without "
            f".json, not {name!r}."
        )
    return name


def keep(name: str, report: ClockReport) -> None:
    """Store a report; it replaces an earlier one of that name. Raises MachineError."""
    path = _place(name)
    text = json.dumps(report.to_json(), allow_nan=False)
    try:
        new = path.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as error:
        raise MachineError(f"The evaluation cannot be stored in {path}: {error.strerror}.") from error


def names() -> list[str]:
    """Return the names of stored evaluations, in alphabetical order."""
    return sorted(path.stem for path in _place(LAST).parent.glob("*.json"))


def find(name: str) -> ClockReport:
    """Return an evaluation by its name, or a path. Raises UsageError for a missing or invalid one."""
    path = Path(name) if name.endswith(".json") or "/" in name else _place(name)
    try:
        if not path.exists():
            known_names = ", ".join(names()) or "none yet: becalm clock --keep NAME"
            raise UsageError(f"{name!r} is neither a file nor a stored evaluation of timers; there are: {known_names}.")
        return ClockReport.from_json(json.loads(read_text(path)))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{path} is not an evaluation of timers as `becalm clock --json` writes it.") from error


def _place(name: str) -> Path:
    return paths.private_directory(paths.state_dir() / "clocks") / f"{name}.json"
