"""A program with threads of different CPUs, which makes more threads and children when it is told."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.waiting import wait_for

CPUS = sorted(os.sched_getaffinity(0))

PROGRAM = """
import os, sys, threading, time

is_bound = threading.Event()

def bound():
    os.sched_setaffinity(0, {int(sys.argv[1])})
    is_bound.set()
    time.sleep(10000)

def short():
    time.sleep(0.002)

for work in (bound, lambda: time.sleep(10000)):
    threading.Thread(target=work, daemon=True).start()
is_bound.wait()
print("ready", flush=True)
for line in sys.stdin:
    if line == "thread\\n":
        threading.Thread(target=lambda: time.sleep(10000), daemon=True).start()
    if line == "fork\\n" and os.fork() == 0:
        if os.fork() == 0:
            time.sleep(10000)
        time.sleep(10000)
    if line == "busy\\n":
        while True:
            threading.Thread(target=short, daemon=True).start()
            if os.fork() == 0:
                time.sleep(0.01)
                os._exit(0)
            time.sleep(0.0005)
            while True:
                try:
                    if os.waitpid(-1, os.WNOHANG)[0] == 0:
                        break
                except ChildProcessError:
                    break
    print("done", flush=True)
"""
"""A program with one thread that is bound to a CPU by itself and one that is not; it adds threads and children on
request, or all the time."""


class Program:
    """The program above, in a process group of its own."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(CPUS[-1])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        assert self.process.stdout.readline() == "ready\n"

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def place(self) -> str:
        """The name of its CPUs."""
        return f"CPUs of process {self.pid} ({Path(f'/proc/{self.pid}/comm').read_text().strip()})"

    def tell(self, word: str) -> None:
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        if word != "busy":
            assert self.process.stdout.readline() == "done\n"

    def fork(self) -> None:
        """Have it fork a child that forks one."""
        wanted = len(self.family()) + 2
        self.tell("fork")
        wait_for(lambda: len(self.family()) == wanted)

    def family(self) -> list[int]:
        """Return the process and all that it forked."""
        pids = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and os.getpgid(int(entry.name)) == self.pid:
                    pids.append(int(entry.name))
        return sorted(pids)

    def masks(self) -> dict[int, tuple[int, ...]]:
        """Return CPUs by task, of the process and all that it forked."""
        masks = {}
        for pid in self.family():
            with contextlib.suppress(OSError):
                for entry in os.scandir(f"/proc/{pid}/task"):
                    with contextlib.suppress(OSError):
                        masks[int(entry.name)] = tuple(sorted(os.sched_getaffinity(int(entry.name))))
        return masks

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
