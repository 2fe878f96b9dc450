"""Run before each run of a test of the Phoronix Test Suite, by path, with the standard library alone.

    python phoronix_prepare.py DIRECTORY LOG_FILE [PRE.sh ARGUMENT…]

A test tells failure by a file ~/test-exit-status rather than by its exit code, so the last run's is looked at here:
when it failed, this ends with 1 and a sentence, the next run is refused, and nothing is concluded. Otherwise the
traces of the last run are removed, as the suite does, and the test's own preparation is run where it has one.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def take(path: Path) -> str:
    """What a status file says, which is then gone; "0" when there is none."""
    try:
        said = path.read_text().strip()
        path.unlink()
    except FileNotFoundError:
        return "0"
    return said


def prepare(directory: Path, log: Path, script: list[str]) -> str:
    """Make ready for a run; returns a sentence when that is not to be, else an empty text."""
    status = take(directory / "test-exit-status")
    log.unlink(missing_ok=True)
    if status not in ("0", ""):
        return f"The run before this one failed: {directory}/test-exit-status was {status}."
    if script:
        ended = subprocess.run(["/bin/sh", *script], cwd=directory, check=False).returncode
        said = take(directory / "pre-test-exit-status")
        if ended != 0 or said not in ("0", ""):
            return f"The test's own preparation {script[0]} failed with {ended or said}."
    return ""


if __name__ == "__main__":
    sys.exit(prepare(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]) or 0)
