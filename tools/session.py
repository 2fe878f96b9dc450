"""Examples of the tutorials: command lines of becalm on simulated machines, and what they print, played by
tools/documents.py. A simulated machine with a seed prints the same on every real one, so the reader sees this very
screen.

    printf '$ becalm run --host sim:drift --seed 1 --runs 20 -- spin 20ms' | python tools/session.py
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

COLUMNS = 100
STORED = {"list", "show", "export"}
"""Verbs that only read what the session has measured."""


def played(text: str) -> str:
    """Return the lines of a session, each command followed by its output. Raises ValueError for a command that would
    measure this machine, and for a defect in becalm."""
    lines = []
    with tempfile.TemporaryDirectory() as directory:
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "PYTHONPATH": str(Path(__file__).parents[1] / "python"),
            "COLUMNS": str(COLUMNS),
            "LANG": "C.UTF-8",
            "HOME": directory,
            "BECALM_STORE": f"{directory}/becalm.db",
        }
        for line in text.strip().splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words[:1] != ["becalm"] or not (words[1] in STORED or re.search(r"--host sim:\S+ .*--seed ", line)):
                raise ValueError(f"Only becalm on a simulated host, with a seed, can be played here: {line}")
            done = subprocess.run(
                [sys.executable, "-m", "becalm", *words[1:]],
                env=environment,
                cwd=directory,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode not in (0, 1):
                raise ValueError(f"{line} ended with exit code {done.returncode}: {done.stderr}")
            lines += [line, *(line.rstrip() for line in done.stdout.splitlines()), ""]
    return "\n".join(lines).rstrip()


if __name__ == "__main__":
    print(played(sys.stdin.read()))
