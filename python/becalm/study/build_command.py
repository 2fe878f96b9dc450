"""A build in a process session of its own, bounded in time, so that all of it can be ended.

Public: run_build.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from becalm.command_session import NOT_ENDED, end_group, run_in_session

LINES = 15
"""The number of lines of a failed build's output that are read for the reason."""


def run_build(command: Sequence[str], log: Path, timeout_s: float, directory: Path | None = None) -> str:
    """Run a build and return why it failed, or the empty string; its output goes to `log`.

    Raises OSError when it cannot be started.
    """
    with (
        log.open("wb") as output,
        run_in_session(command, cwd=directory, stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        code = None
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(timeout_s)
        finally:
            ended = _end(process)
    if code is None:
        return f"its build took longer than {timeout_s:g} s" + ("" if ended else f" and {NOT_ENDED}")
    if code == 0:
        return ""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LINES:]
    how = f"its build ended with {code}" if code > 0 else f"its build was killed by signal {-code}"
    return f"{how}: {lines[-1].strip()}" if lines else how


def _end(process: subprocess.Popen[bytes]) -> bool:
    """End the whole session of a build: what it has left running would disturb what is measured. As `end_group`."""
    end_group(process, signal.SIGTERM)
    return end_group(process)
