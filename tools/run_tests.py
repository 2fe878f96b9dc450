"""Run all tests of Python in two rows side by side: those of virtual machines, whose guests mostly wait for their own
clocks, and then what needs no machine at all; beside them all others.

What the row in the background says comes at the end. Which took longest is said, too. Arguments go to pytest.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from threading import Thread
from typing import IO

PURE = ("tests/property", "tests/fuzz", "tests/bench")
"""Folders that the row of virtual machines goes through afterwards: both rows then take about as long."""

NOTHING_COLLECTED = 5
"""pytest's exit code where no test was chosen: of one row that is nothing wrong."""


def behind(commands: Sequence[Sequence[str]], said: IO[bytes], codes: list[int]) -> None:
    """One command after the other, with what they say in a file."""
    codes.extend(subprocess.run(command, stdout=said, stderr=said, check=False).returncode for command in commands)


def main(arguments: list[str]) -> int:
    """Returns 0 when all tests have passed, else the first exit code that is not 0."""
    pytest = [sys.executable, "-m", "pytest", "--durations=20", "--durations-min=5", *arguments]
    print("The tests of virtual machines run meanwhile; what they say comes at the end.", flush=True)
    codes: list[int] = []
    with tempfile.TemporaryFile() as said:
        second = Thread(target=behind, args=([[*pytest, "-m", "guest"], [*pytest, *PURE]], said, codes))
        second.start()
        ignored = [f"--ignore={folder}" for folder in PURE]
        others = subprocess.Popen([*pytest, "-m", "not guest", *ignored])
        # Ctrl-C reaches all of them; each says what it did until then.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        first = others.wait()
        second.join()
        said.seek(0)
        sys.stdout.buffer.write(said.read())
    failed = [code for code in (first, *codes) if code not in (0, NOTHING_COLLECTED)]
    return failed[0] if failed else min(first, *codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
