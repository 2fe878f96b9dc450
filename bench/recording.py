"""What recording who runs when costs: the agent's own CPU time, beside `perf record` on the same switches.

    python bench/recording.py
    python bench/recording.py --quick     # a second each: shows that it works

A process sleeps and wakes so often that tasks are switched 2,000 times a second. The agent records that with windows of
5 ms and of 1 ms by software events (`faults`, which every machine counts), perf records the same layout into a file.
Rounds are interleaved in random order. Told is the user and system time of the agent's thread while it records, and of
perf with its children. What the kernel does in the context of those who switch is in neither.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from becalm import hosts
from becalm.hosts.recorded import Recorded, Recording
from campaign import OUT, Record, begun, describe, save, saved, table

RATE = 2_000
BATCH_NS = 100_000_000
LIMITS = {"becalm, 5 ms": 0.2, "becalm, 1 ms": 1.0}
"""Percent of a CPU that recording may take."""

SWITCHER = "import sys, time\nwhile True: time.sleep(2 / int(sys.argv[1]))"
"""Sleeping and waking are two switches."""


def agent(name: str, window_ns: int, seconds: float) -> Record:
    """CPU time of the agent while it records."""
    with hosts.open("local") as host:
        timer = threading.Timer(seconds, host.stop)
        start = time.monotonic()
        timer.start()
        ends = [each for each in host.record(Recording("faults", window_ns, BATCH_NS)) if isinstance(each, Recorded)]
        took = time.monotonic() - start
    end = ends[0]
    return {
        "by": name, "percent": end.cost_ns / 1e7 / took, "per_s": end.records / took, "lost": end.trouble["lost"]
    }  # fmt: skip


def perf(seconds: float) -> Record:
    """CPU time of perf while it records the same."""
    events = "{context-switches,page-faults,minor-faults}:S"
    command = ["perf", "record", "-q", "-a", "-c", "1", "--synth=no", "-B", "-N", "-e", events, "--switch-events"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "perf.data"
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run([*command, "-o", str(file), "--", "sleep", str(seconds)], check=True)
        took, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        size = file.stat().st_size
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"by": "perf record", "percent": 100 * spent / took, "bytes_per_s": size / took}


def measured(quick: bool) -> Record:
    """All rounds."""
    seconds, rounds = (1.0, 1) if quick else (10.0, 8)
    ways: list[Callable[[], Record]] = [
        lambda: agent("becalm, 5 ms", 5_000_000, seconds),
        lambda: agent("becalm, 1 ms", 1_000_000, seconds),
        lambda: perf(seconds),
    ]
    order, found = random.Random(1), []
    result = begun()
    load = subprocess.Popen([sys.executable, "-c", SWITCHER, str(RATE)])
    try:
        for _ in range(rounds):
            found += [way() for way in order.sample(ways, len(ways))]
    finally:
        load.kill()
        load.wait()
    return {**result, "rounds": found}


def report(result: Record) -> str:
    """The table, and what the project wants."""
    rows, lines = [], []
    for by in ("becalm, 5 ms", "becalm, 1 ms", "perf record"):
        found = [each for each in result["rounds"] if each["by"] == by]
        percents = [each["percent"] for each in found]
        lost = sum(each.get("lost", 0) for each in found)
        rows.append(
            [by, f"{statistics.median(percents):.3f}", f"{min(percents):.3f} to {max(percents):.3f}", str(lost)]
        )
        if by in LIMITS:
            met = "met" if statistics.median(percents) <= LIMITS[by] else "not met"
            lines.append(f"{by}: {statistics.median(percents):.3f} % of a CPU, wanted {LIMITS[by]} %: {met}")
    head = ["Recorded by", "% of a CPU, median", "Range", "Lost"]
    return "\n".join([f"Machine: {describe(result['machine'])}.", "", table(head, rows), "", *lines])


def main() -> None:
    """Measure, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT / "recording.json")
    parser.add_argument("--quick", action="store_true", help="a second each: shows that it works")
    parser.add_argument("--report", action="store_true", help="print the table of the last measurement")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.out = chosen.out.with_name("recording-quick.json")
    if not chosen.report:
        save(chosen.out, measured(chosen.quick))
    print(report(saved(chosen.out)))


if __name__ == "__main__":
    main()
