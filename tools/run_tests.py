"""Run tiers of tests one after the other: `python tools/run_tests.py rust unit contract -- -k store`.

A tier is a set of tests that may rely on the same things (CONTRIBUTING, "Tests"). Each is timed, and of those in Python
the 20 slowest tests are listed. Words after `--` go to pytest. All tiers run, also after a failure; the exit code is
the first that is not 0. After Ctrl-C or SIGTERM no other command begins; what has begun ends by itself, since it may
have settings to restore.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO

from wakeup import Wakeup, terminate

Command = Sequence[str]

ROOT = Path(__file__).parents[1]

WORKERS = str(min(8, len(os.sched_getaffinity(0))))
"""Processes that run tests at the same time, in the tiers that allow it."""

NEXT_TO_GUESTS = (
    "tests/system/browser", "tests/system/cli", "tests/system/clock", "tests/system/workloads",
    "tests/system/test_packaging.py",
)  # fmt: skip
"""The tests of the system tier, besides those of guests, that neither change nor compare settings of this machine."""

CHANGING_SETTINGS = "becalm-tests-change-settings"
"""The name of the turn of tests that change settings of this machine: one run's at a time."""

NOTHING_COLLECTED = 5
"""pytest's exit code where no test was selected."""


def pytest(*words: str) -> list[str]:
    """Return the command that runs these tests."""
    return [sys.executable, "-m", "pytest", "-q", "--durations=20", "--durations-min=0.25", *words]


def parallel(*words: str) -> list[str]:
    """Return the command that runs these tests in several processes; those of one xdist group share a process."""
    return pytest("-n", WORKERS, "--dist", "loadgroup", *words)


def unchanged(command: Command) -> list[str]:
    """Return the command that also fails when the other one leaves something behind."""
    return [sys.executable, "tools/unchanged.py", "--", *command]


def rust(words: Sequence[str]) -> list[Command]:
    """Return the commands of Rust's tests."""
    return [
        ["cargo", "test", "-q", "--workspace", "--locked"],
        ["cargo", "test", "-q", "-p", "becalm-clock", "--features", "std", "--locked"],
    ]


def unit(words: Sequence[str]) -> list[Command]:
    """Return the command of the tests that use memory only."""
    return [parallel("tests/unit", "tests/property", *words)]


def contract(words: Sequence[str]) -> list[Command]:
    """Return the command of the tests with the agent and real processes."""
    return [unchanged(parallel("tests/contract", *words))]


def system(words: Sequence[str]) -> list[Command]:
    """Return the commands of the tests that need this machine to themselves: two processes for those that leave its
    settings alone, so that two guests may run at the same time, then one for the others."""
    first = ("tests/system/guest", *NEXT_TO_GUESTS)
    return [
        unchanged(pytest("-n", "2", "--dist", "loadgroup", *first, *words)),
        unchanged(pytest("tests/system", *(f"--ignore={path}" for path in first), *words)),
    ]


def measurement(words: Sequence[str]) -> list[Command]:
    """Return the commands of the tests that need a quiet machine."""
    return [
        pytest("-s", "tests/measurement", *words),
        ["cargo", "test", "-q", "--workspace", "--release", "--locked", "--", "--ignored", "--test-threads=1"],
    ]


TIERS: dict[str, Callable[[Sequence[str]], list[Command]]] = {
    tier.__name__: tier for tier in (rust, unit, contract, system, measurement)
}


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the tiers and the words for pytest; raise ValueError for a tier that does not exist."""
    words = list(arguments)
    at = words.index("--") if "--" in words else len(words)
    tiers = words[:at]
    if not tiers or not TIERS.keys() >= set(tiers):
        raise ValueError(f"usage: tools/run_tests.py TIER… [-- WORDS FOR PYTEST]; tiers: {' '.join(TIERS)}")
    return tiers, words[at + 1 :]


def environment() -> dict[str, str]:
    """Return the environment of the tests.

    What Python compiles is kept, since hundreds of tests start becalm. Linear algebra has one thread: those of several
    workers would wait for each other.
    """
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {"OPENBLAS_NUM_THREADS": "1", **usual}


class Runner:
    """A run of one command after the other. A signal that asks this process to end raises KeyboardInterrupt between
    commands; during one it is noted, and no other begins."""

    def __init__(self) -> None:
        self.signal = 0
        """The number of the signal; 0 where none has come."""
        self._running = False
        self._process: subprocess.Popen[bytes] | None = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._stop)

    def run(self, command: Command) -> int:
        """Run a command in a temporary directory of its own; unchanged.py makes it itself. Return its exit code."""
        if "tools/unchanged.py" in command:
            return self.code_of(command, environment())
        # Short, since paths of sockets below it may have 107 bytes.
        with tempfile.TemporaryDirectory(prefix="bt-", ignore_cleanup_errors=True) as directory:
            return self.code_of(command, {**environment(), "TMPDIR": directory})

    def code_of(self, command: Command, variables: Mapping[str, str], output: IO[bytes] | None = None) -> int:
        """Run a command with these environment variables and return its exit code. `output`: a file instead of ours."""
        self._running = True
        try:
            errors = None if output is None else subprocess.STDOUT
            self._process = subprocess.Popen(command, env=variables, cwd=ROOT, stdout=output, stderr=errors)
            with Wakeup() as wakeup, open(os.pidfd_open(self._process.pid), "rb", buffering=0) as ended:
                if self.signal:
                    # It came before the process was known.
                    terminate(self._process)
                while (code := self._process.poll()) is None:
                    wakeup.wait(ended.fileno())
        finally:
            self._process, self._running = None, False
        if self.signal:
            raise KeyboardInterrupt
        return code if code >= 0 else 128 - code

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        self.signal = number
        if not self._running:
            raise KeyboardInterrupt
        # A terminal sends SIGINT to the command as well.
        if number != signal.SIGINT and self._process is not None:
            terminate(self._process)


def turn(name: str = CHANGING_SETTINGS) -> socket.socket:
    """Wait until no other run on this machine has the turn; return the socket that keeps it until it is closed."""
    address = f"\0{name}"  # no file, and gone with this process (unix(7))
    while True:
        ours = socket.socket(socket.AF_UNIX)
        try:
            ours.bind(address)
        except OSError as error:
            ours.close()
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            ours.listen()
            return ours
        print("Other tests are using the settings of this machine. Waiting for their end.", flush=True)
        with Wakeup() as wakeup, socket.socket(socket.AF_UNIX) as other, contextlib.suppress(ConnectionError):
            other.connect(address)
            wakeup.wait(other.fileno())


def main(arguments: Sequence[str]) -> int:
    """Run the tiers. Return the exit code."""
    try:
        tiers, words = split(arguments)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    runner = Runner()
    code, rows = 0, []
    try:
        for tier in tiers:
            with turn() if TIERS[tier] in (contract, system, measurement) else contextlib.nullcontext():
                start = time.monotonic()
                codes = [runner.run(command) for command in TIERS[tier](words)]
            failed = [number for number in codes if number not in (0, NOTHING_COLLECTED if words else 0)]
            code = code or (failed[0] if failed else 0)
            rows.append(f"{tier:12} {time.monotonic() - start:6.0f} s  {'failed' if failed else 'passed'}")
            print(f"=== {rows[-1]}", flush=True)
    except KeyboardInterrupt:
        code = 128 + runner.signal
    print("\n".join(["", "Tier           Time  Result", *rows]), flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
