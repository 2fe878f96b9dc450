"""Run tiers of tests many times, every second time next to a load: `python tools/soak.py 10 --load rust unit contract`.

The load is four busy processes and one that writes to disk. Each run's output is kept (`--logs DIR`) and the tests that
failed are listed. Without tiers: rust, unit, contract and system. The exit code is 1 when any run failed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import run_tests

ENDS_WITH_PARENT = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]): sys.exit()
"""
"""The start of a process that ends with this one, however it ends (PR_SET_PDEATHSIG of prctl(2))."""
BUSY = f"{ENDS_WITH_PARENT}while True: pass"
WRITER = f"""{ENDS_WITH_PARENT}
with open(sys.argv[2], "wb") as file:
    while True:
        file.write(os.urandom(1 << 20)); file.flush(); os.fsync(file.fileno())
        if file.tell() > 1 << 28: file.seek(0)
"""
FAILURE = re.compile(r"^(?:FAILED|ERROR) (\S+)|^test (\S+) \.\.\. FAILED$|^    (\w*_\w*|\w+(?:::\w+)+)$", re.MULTILINE)


@contextlib.contextmanager
def load(directory: Path) -> Iterator[list[int]]:
    """Keep four processes busy and one writing to disk; yield their pids."""
    parent = str(os.getpid())
    commands = [["-c", BUSY, parent]] * 4 + [["-c", WRITER, parent, str(directory / "written")]]
    processes = [subprocess.Popen([sys.executable, *words]) for words in commands]
    try:
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def failures(text: str) -> list[str]:
    """Return the names of the tests that a run's output reports as failed."""
    return sorted({name for names in FAILURE.findall(text) for name in names if name})


def run(runner: run_tests.Runner, tiers: Sequence[str], log: Path, loaded: bool) -> tuple[int, list[str]]:
    """Run the tiers once, next to a load or alone; return the exit code and the names of the tests that failed."""
    # In /tmp the load would write to memory where that is a tmpfs.
    with (
        tempfile.TemporaryDirectory(prefix="bt-load-", dir="/var/tmp") as directory,
        load(Path(directory)) if loaded else contextlib.nullcontext(),
        log.open("wb") as output,
    ):
        command = [sys.executable, "tools/run_tests.py", *tiers]
        code = runner.code_of(command, {**os.environ, "PYTHONUNBUFFERED": "1"}, output)
    return code, failures(log.read_text(errors="replace")) if code else []


def main(arguments: list[str]) -> int:
    """Run and report. Return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("times", type=int, help="number of runs")
    parser.add_argument("--load", action="store_true", help="run every second time next to a load")
    parser.add_argument("--logs", type=Path, help="directory for the output of each run (default: a temporary one)")
    parser.add_argument("tiers", nargs="*", default=["rust", "unit", "contract", "system"], help="tiers to run")
    options = parser.parse_intermixed_args([word for word in arguments if word != "--"])
    logs = options.logs or Path(tempfile.mkdtemp(prefix="bt-soak-"))
    logs.mkdir(parents=True, exist_ok=True)
    print(f"Output: {logs}", flush=True)
    runner = run_tests.Runner()
    passed = bad = 0
    try:
        for number in range(1, options.times + 1):
            loaded, start = options.load and number % 2 == 0, time.monotonic()
            code, names = run(runner, options.tiers, logs / f"run-{number}.log", loaded)
            passed, bad = passed + (code == 0), bad + (code != 0)
            where = "next to a load" if loaded else "alone"
            seconds = time.monotonic() - start
            print(f"{number:3}  {where:14}  {seconds:5.0f} s  exit code {code}  {' '.join(names)}", flush=True)
    except KeyboardInterrupt:
        print("Interrupted.")
    print(f"\n{passed} passed, {bad} failed.")
    return 128 + runner.signal if runner.signal else int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
