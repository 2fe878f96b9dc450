"""Run before and after each run of a test of the Phoronix Test Suite, by path, with the standard library alone.

    python phoronix_hook.py before DIRECTORY LOG_FILE COMMANDS
    python phoronix_hook.py after DIRECTORY COMMANDS

COMMANDS is a JSON list of argument lists: the test's own scripts. As in the suite, their exit codes mean nothing.

A test tells failure by a file ~/test-exit-status rather than by its exit code, so the last run's is looked at before
the next: when it failed, this ends with 1 and a sentence, that run is refused, and nothing is concluded. Otherwise the
traces of the last run are removed, as the suite does.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def take(path: Path) -> str:
    """Return the content of a status file and remove it; "0" when there is none."""
    try:
        said = path.read_text().strip()
        path.unlink()
    except FileNotFoundError:
        return "0"
    return said or "0"


def run(directory: Path, commands: Sequence[Sequence[str]]) -> None:
    """Run the scripts in their order, each to its end."""
    for command in commands:
        subprocess.run(command, cwd=directory, stdin=subprocess.DEVNULL, check=False)


def before(directory: Path, log: Path, commands: Sequence[Sequence[str]]) -> str:
    """Make ready for a run; returns a sentence when that is not to be, else an empty text."""
    status = take(directory / "test-exit-status")
    log.unlink(missing_ok=True)
    if status != "0":
        return f"The run before this one failed: {directory}/test-exit-status was {status}."
    run(directory, commands)
    said = take(directory / "pre-test-exit-status")
    if said != "0":
        return f"The test's own preparation failed: {directory}/pre-test-exit-status was {said}."
    return ""


if __name__ == "__main__":
    place = Path(sys.argv[2])
    if sys.argv[1] == "before":
        sys.exit(before(place, Path(sys.argv[3]), json.loads(sys.argv[4])) or 0)
    run(place, json.loads(sys.argv[3]))
