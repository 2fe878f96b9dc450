"""The tool `unchanged.py` in a process of its own, for its tests."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from tests.places import ROOT
from tests.waiting import HANG_LIMIT_S, wait_readable

MAIN = "import sys, snapshot, traces, unchanged; {patches}; sys.exit(unchanged.main(['--', *sys.argv[1:]]))"
PROCESSES_ONLY = "snapshot.snapshot = dict"
AT_ONCE = "unchanged.GRACE_S = 0.0"
"""A statement that makes the tool wait for nothing that is left."""
ALWAYS = f"unchanged.GRACE_S = unchanged.PATIENCE_S = {HANG_LIMIT_S}"


class Tool:
    """The tool with a command. Its output is read as it comes; the command reads what is written to it."""

    def __init__(self, *command, patches=(), user=None, python=sys.executable, **variables):
        patches = "; ".join(["pass", *patches])
        self.process = subprocess.Popen(
            [python, "-c", MAIN.format(patches=patches), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            env={**os.environ, "PYTHONPATH": str(ROOT / "tools"), **variables},
        )

    def line(self):
        """Return the next line of the command's output."""
        wait_readable(self.process.stdout.fileno())
        return self.process.stdout.readline().rstrip("\n")

    def end(self, text=""):
        """Let the command end, which reads this text; return the exit code and the report."""
        _, report = self.process.communicate(text, timeout=HANG_LIMIT_S)
        return self.process.returncode, report


def run(*command, **options):
    return Tool(*command, **options).end()


def shell(script, **options):
    return run("sh", "-e", "-c", script, **options)


def left(report):
    """Return the lines of a report on our own traces."""
    return report.partition("Changed meanwhile")[0].splitlines()


def places_of_groups(name):
    """Return the directories in which control groups of this name can be made."""
    places = []
    for below in ("", "unified", "memory", "cpuset"):
        place = Path("/sys/fs/cgroup", below)
        with contextlib.suppress(OSError):
            (place / name).mkdir()
            (place / name).rmdir()
            places.append(place)
    return places
