"""Run before and after each run of a test of the Phoronix Test Suite, by path, with only the standard library.

    python phoronix_hook.py before DIRECTORY LOG_FILE COMMANDS
    python phoronix_hook.py after DIRECTORY COMMANDS

COMMANDS is a JSON list of argument lists: the test's own scripts. As in the suite, their exit codes are ignored.

A test reports failure by a file ~/test-exit-status rather than by its exit code, so the file of the last run is checked
before the next run: if it reports failure, this program exits with 1 and a sentence, and the run is refused. Otherwise
the traces of the last run are removed, as the suite does.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def take(path: Path) -> str:
    """Return the content of a status file and remove it; "0" if there is none."""
    try:
        status = path.read_text().strip()
        path.unlink()
    except FileNotFoundError:
        return "0"
    return status or "0"


def run(directory: Path, commands: Sequence[Sequence[str]]) -> None:
    """Run scripts one after the other."""
    for command in commands:
        subprocess.run(command, cwd=directory, stdin=subprocess.DEVNULL, check=False)


def before(directory: Path, log: Path, commands: Sequence[Sequence[str]]) -> str:
    """Prepare a run. Return a sentence if the run must not take place, otherwise an empty text."""
    status = take(directory / "test-exit-status")
    log.unlink(missing_ok=True)
    if status != "0":
        return f"The run before this one failed: {directory}/test-exit-status was {status}."
    run(directory, commands)
    preparation = take(directory / "pre-test-exit-status")
    if preparation != "0":
        return f"The test's own preparation failed: {directory}/pre-test-exit-status was {preparation}."
    return ""


if __name__ == "__main__":
    place = Path(sys.argv[2])
    if sys.argv[1] == "before":
        sys.exit(before(place, Path(sys.argv[3]), json.loads(sys.argv[4])) or 0)
    run(place, json.loads(sys.argv[3]))
