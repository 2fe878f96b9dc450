"""The speed and memory with which large files of perf are read: the engine's time and peak, by the size of the file.

    python bench/perf_data.py             # a minute: up to 1 GB
    python bench/perf_data.py --quick     # shows in seconds that it works

Files are made as `perf record -a -c 1 -e '{context-switches,cache-references,cache-misses}:S' --switch-events -o -`
writes them: two CPUs, on each of which two tasks take turns every 100 µs, a round of perf's after each 8,192 switches.
One process is looked at, as `becalm sweetspots --from FILE --pid N` does. The peak is that of the resident memory of
`becalm-sim`, which alone reads the file; with it comes the answer, whose windows grow with the time that was recorded.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from becalm.hosts.simulated.scheduler.engine import simulator_path
from becalm.verbs.sweetspots import asked
from campaign import OUT, Record, begun, describe, save, saved, table

MIB = 1 << 20
SIZES = (64 * MIB, 256 * MIB, 1024 * MIB)
QUICK = (8 * MIB, 32 * MIB)
PROCESS, OTHER = 100, 200
TURN_NS = 100_000
ROUND = 8_192

IDENTIFIER_TID_TIME_READ_CPU = 1 << 16 | 1 << 1 | 1 << 2 | 1 << 4 | 1 << 7
WAITER = """import os, sys
started = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(started, 0)
print(status, used.ru_maxrss, file=sys.stderr)"""
"""A small process between: the peak of a program begins with that of whoever starts it (exec_mmap in fs/exec.c)."""

SAMPLE_WORDS, SWITCH_WORDS = 14, 6


def write(path: Path, size: int) -> int:
    """Write a file of perf's of at least this size, in the form of a pipe; return the number of switches in it."""
    with path.open("wb") as out:
        out.write(b"PERFILE2" + struct.pack("=Q", 16))
        for number, (kind, config, period) in enumerate(((1, 3, 1), (0, 2, 0), (0, 3, 0)), start=1):
            # struct perf_event_attr of 64 bytes: both times, ID and GROUP are read, sample_id_all.
            words = (kind | 64 << 32, config, period, IDENTIFIER_TID_TIME_READ_CPU, 15, 1 << 18, 0, 0, number)
            out.write(struct.pack("=IHH9Q", 64, 0, 8 + 8 * len(words), *words))
        switches = 0
        while out.tell() < size:
            out.write(turns(switches).tobytes())
            switches += ROUND
            out.write(struct.pack("=IHH", 68, 0, 8))
    return switches


def turns(first: int) -> NDArray[np.uint64]:
    """Return the next round: for each switch, a sample of the task that leaves and a record of the one that comes."""
    number = np.arange(first, first + ROUND, dtype=np.uint64)
    cpu, turn = number % 2, number // 2
    time_ns = (turn + 1) * TURN_NS
    task = np.where(turn % 2 == 0, PROCESS, OTHER).astype(np.uint64) + cpu
    comes = np.where(turn % 2 == 0, OTHER, PROCESS).astype(np.uint64) + cpu
    references = turn * 1_000
    # Phases of a second: a tenth and half of the references miss.
    misses = references // 10 + (turn // 10_000 % 2) * 400
    head = [np.full(ROUND, kind | misc << 32 | 8 * words << 48, np.uint64)
            for kind, misc, words in ((9, 0, SAMPLE_WORDS), (15, 1 << 13, SWITCH_WORDS))]  # fmt: skip
    result, both = np.ones(ROUND, np.uint64), 1 + (1 << 32)
    sample = [
        head[0],
        result,
        task * both,
        time_ns,
        cpu,
        result * 3,
        time_ns,
        time_ns,
        turn,
        result,
        references,
        result * 2,
    ]
    switch = [head[1], comes * both, task * both, time_ns, cpu, result]
    return np.column_stack([*sample, misses, result * 3, *switch])


def read(path: Path) -> Record:
    """Return time and memory of the engine on a file."""
    question = {**asked("rise", None), "tasks": [PROCESS]}
    request = json.dumps({"from": {"perf_data": {"path": str(path)}}, "question": question}) + "\n"
    start = time.monotonic()
    engine = subprocess.run(
        [sys.executable, "-I", "-S", "-c", WAITER, simulator_path(), "spots"],
        input=request, capture_output=True, text=True, check=False,
    )  # fmt: skip
    took = time.monotonic() - start
    status, peak_kib = (int(word) for word in engine.stderr.split()[-2:])
    (result,) = json.loads(engine.stdout).values() if not status else ({},)
    if "windows" not in result:
        raise SystemExit(f"The engine did not read {path}: {result or engine.stderr}")
    return {
        "bytes": path.stat().st_size, "seconds": took, "peak_kib": peak_kib, "windows": len(result["windows"]),
        "records": result["file"]["records"],
    }  # fmt: skip


def measured(sizes: tuple[int, ...]) -> Record:
    """Measure all sizes, one file at a time."""
    result, rounds = begun(), []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / "perf.data"
            write(path, size)
            rounds.append(read(path))
    return {**result, "rounds": rounds}


def report(result: Record) -> str:
    """Return the table."""
    rows = [
        [f"{part['bytes'] / MIB:,.0f}", f"{part['records']:,}", f"{part['windows']:,}", f"{part['seconds']:.1f}",
         f"{part['bytes'] / part['seconds'] / MIB:,.0f}", f"{part['peak_kib'] / 1024:,.0f}"]
        for part in result["rounds"]
    ]  # fmt: skip
    head = ["File, MiB", "Records", "Windows", "Seconds", "MiB a second", "Peak memory, MiB"]
    return "\n".join([f"Machine: {describe(result['machine'])}.", "", table(head, rows)])


def main() -> None:
    """Measure, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT / "perf_data.json")
    parser.add_argument("--quick", action="store_true", help="small files: shows that it works")
    parser.add_argument("--report", action="store_true", help="print the table of the last measurement")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.out = chosen.out.with_name("perf_data-quick.json")
    if not chosen.report:
        save(chosen.out, measured(QUICK if chosen.quick else SIZES))
    print(report(saved(chosen.out)))


if __name__ == "__main__":
    main()
