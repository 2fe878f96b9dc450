"""Becalms that measure on a tree for as long as they live, to be killed with their agent and guard in several ways."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.places import ROOT
from tests.support.account import begun, nothing_lost
from tests.support.laptop import Snapshot, changed, snapshot, strays
from tests.support.talk import guards, processes_of
from tests.waiting import wait_ended, wait_for

import becalm
from becalm.errors import UsageError
from becalm.paths import spool_dir
from becalm.store import Store

SETTINGS = {"swappiness": 10, "governor": "performance", "frequency_floor": "max", "irq_affinity": "away"}
DIRECTORIES = ("XDG_DATA_HOME", "XDG_STATE_HOME")
NAMES = ("becalm-agent", "becalm-guard", "becalm-spawner")
"""The processes of becalm's. The spawner, which dies with the agent, has the lock of the spool until it has ended."""


class Becalms:
    """The program that starts a becalm many times over (`tests/support/becalm_runs.py`)."""

    def __init__(self) -> None:
        command = [sys.executable, ROOT / "tests/support/becalm_runs.py"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, root: Path, log: Path, store: str, *, call: int | None = None, runs: int | None = None) -> int:
        """Start a becalm; return its number."""
        request = {
            "root": str(root),
            "log": str(log),
            "settings": SETTINGS,
            "store": store,
            "environment": {name: os.environ[name] for name in DIRECTORIES},
            "call": call,
            "runs": runs,
        }
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.number()

    def number(self) -> int:
        """Return the number on the next line."""
        return int(self.process.stdout.readline())

    def close(self) -> None:
        """End the program, whose becalms have ended."""
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def state(pid: int) -> str:
    """Return the state of a process (proc_pid_stat(5)); Z also for one that is not there."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return "Z"


def kill(pids, *, stopped=False):
    """Kill all of them as good as at once, or after they have stood still."""
    for number in [signal.SIGSTOP, signal.SIGKILL] if stopped else [signal.SIGKILL]:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        if number == signal.SIGSTOP:
            wait_for(lambda: {state(pid) for pid in pids} <= {*"TtZX"}, "all have stopped")


WAYS = {
    "becalm": lambda root, pid: kill([pid]),
    "becalm and guard": lambda root, pid: kill([pid, *guards(root)]),
    "guard, then becalm": lambda root, pid: kill([*guards(root), pid]),
    "becalm and agent, stopped": lambda root, pid: kill([pid, *processes_of(root, "becalm-agent")], stopped=True),
    "everything": lambda root, pid: kill([pid, *processes_of(root, "becalm-agent", "becalm-guard")]),
}


def no_spool_is_held() -> bool:
    """Return whether nobody has the lock of a spool any more.

    A program that is just being started has it, too. When that ends, it has no command line any more before its files
    are closed, so that it cannot be found by its name.
    """
    for path in spool_dir().glob("*"):
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
    return True


def kill_and_check(way: str, pid: int, root: Path, before: Snapshot, log: Path, store: str) -> None:
    """Kill a becalm in one of the ways; check that the tree is as before and that no finished run is lost."""
    # A process that ends has no command line any more before it lets go of its files: it is waited for by its number.
    there = processes_of(root, *NAMES)
    WAYS[way](root, pid)
    for process in (pid, *there):
        wait_ended(process)
    wait_for(lambda: not processes_of(root, *NAMES), "its processes have ended")
    wait_for(no_spool_is_held, "the kernel has taken the lock of the spool from the last of them")
    if way != "everything":
        assert changed(before, snapshot(root)) == {}, "by itself"
    # The next start.
    becalm.run("true", root=str(root), settings={"swappiness": 20}, store=store, runs=1, warmup=0)
    wait_for(lambda: not processes_of(root, *NAMES), "its processes have ended")
    assert changed(before, snapshot(root)) == {}
    assert strays(root) == []
    if begun(log):
        nothing_lost(log, store)
    else:
        with Store.open(store) as opened, contextlib.suppress(UsageError):
            assert len(list(opened.runs(1))) <= 1
    os.unlink(store)
