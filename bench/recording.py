"""The cost of recording who runs when: the agent's own CPU time, next to `perf record` on the same switches.

    python bench/recording.py
    python bench/recording.py --quick     # a second each: shows that it works

A process sleeps and wakes so often that tasks are switched 2,000 times a second. The agent records that with windows of
5 ms and of 1 ms by software events (`faults`, which every machine counts), perf records the same layout into a file.
The agent records by groups of perf events, and by programs in the kernel where it has them (`make bpf`). Rounds are
interleaved in random order. The table has the user and system time of the agent's thread while it records, and of perf
with its children. For the agent it also has the part until the first batch, when programs are loaded, and the share of
a CPU from there on. Neither figure includes the kernel's work in the context of the tasks that switch. For BPF the
table has that, too: the time that its programs ran, by the kernel's own account (BPF_ENABLE_STATS, bpf(2)), which
counts only while a file is open.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from becalm import hosts
from becalm.errors import RefusedError
from becalm.hosts.recorded import Recorded, Recording, Records
from campaign import OUT, Record, begun, describe, save, saved, table

RATE = 2_000
BATCH_NS = 100_000_000
LIMITS = {"becalm, 5 ms": 0.2, "becalm, 1 ms": 1.0}
"""Percent of a CPU that recording may take."""

WAYS = (*LIMITS, "becalm by BPF, 5 ms", "becalm by BPF, 1 ms", "perf record")

SWITCHER = "import sys, time\nwhile True: time.sleep(2 / int(sys.argv[1]))"
"""Sleeping and waking are two switches."""


BPF_SYSCALL = {"x86_64": 321, "aarch64": 280}
BPF_ENABLE_STATS = 32


@contextmanager
def accounted() -> Iterator[None]:
    """Let the kernel count the time of BPF programs. There is nothing to restore: that ends with the file."""
    # union bpf_attr of BPF_ENABLE_STATS: the type, of which BPF_STATS_RUN_TIME is 0.
    attributes = (ctypes.c_uint32 * 1)(0)
    libc = ctypes.CDLL(None, use_errno=True)
    file = libc.syscall(BPF_SYSCALL[platform.machine()], BPF_ENABLE_STATS, attributes, ctypes.sizeof(attributes))
    if file < 0:
        raise OSError(ctypes.get_errno(), "bpf(BPF_ENABLE_STATS)")
    try:
        yield
    finally:
        os.close(file)


def agents() -> list[str]:
    """Return the processes of the agent that this process has started."""
    children = Path("/proc/thread-self/children").read_text(encoding="ascii").split()
    return [
        child for child in children if Path(f"/proc/{child}/comm").read_text(encoding="ascii").strip() == "becalm-agent"
    ]


def programs_ns(pid: str) -> int:
    """Return the time that the BPF programs of a process have run (/proc/PID/fdinfo)."""
    seen: dict[str, int] = {}
    for file in Path(f"/proc/{pid}/fdinfo").iterdir():
        fields = dict(line.split(":", 1) for line in file.read_text(encoding="ascii").splitlines() if ":" in line)
        if "run_time_ns" in fields:
            seen[fields["prog_id"]] = int(fields["run_time_ns"])
    return sum(seen.values())


def agent(name: str, window_ns: int, seconds: float, by: str = "perf") -> Record:
    """Return the CPU time of the agent while it records."""
    with hosts.open("local") as host:
        (pid,) = agents()
        ran: list[int] = []

        def over() -> None:
            if by == "bpf":
                ran.append(programs_ns(pid))
            host.stop()

        timer = threading.Timer(seconds, over)
        start = time.monotonic()
        timer.start()
        try:
            events = list(host.record(Recording("faults", window_ns, BATCH_NS, by=by)))
        except RefusedError:
            timer.cancel()
            raise
        took = time.monotonic() - start
    (end,) = [event for event in events if isinstance(event, Recorded)]
    batches = [event for event in events if isinstance(event, Records)]
    first, last = batches[0], batches[-1]
    row: Record = {
        "by": name, "percent": end.cost_ns / 1e7 / took, "per_s": end.records / took, "lost": end.trouble["lost"],
        "begun_ms": first.cost_ns / 1e6, "then": 100 * (last.cost_ns - first.cost_ns) / (last.at_ns - first.at_ns),
    }  # fmt: skip
    if ran:
        row["programs_percent"] = ran[0] / 1e7 / took
    return row


def perf(seconds: float) -> Record:
    """Return the CPU time of perf while it records the same."""
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
    """Measure all rounds."""
    seconds, rounds = (1.0, 1) if quick else (10.0, 8)
    ways: list[Callable[[], Record]] = [
        lambda: agent("becalm, 5 ms", 5_000_000, seconds),
        lambda: agent("becalm, 1 ms", 1_000_000, seconds),
        lambda: perf(seconds),
        lambda: agent("becalm by BPF, 5 ms", 5_000_000, seconds, "bpf"),
        lambda: agent("becalm by BPF, 1 ms", 1_000_000, seconds, "bpf"),
    ]
    try:
        agent("", 5_000_000, 0.5, "bpf")
    except RefusedError as error:
        print(f"BPF is not measured: {error}", file=sys.stderr)
        ways = ways[:3]
    order, programs = random.Random(1), []
    result = begun()
    load = subprocess.Popen([sys.executable, "-c", SWITCHER, str(RATE)])
    try:
        with accounted() if len(ways) > 3 else nullcontext():
            for _ in range(rounds):
                programs += [way() for way in order.sample(ways, len(ways))]
    finally:
        load.kill()
        load.wait()
    return {**result, "rounds": programs}


def report(result: Record) -> str:
    """Return the table, and whether each goal of the project is met."""
    rows, lines = [], []
    for by in WAYS:
        rounds = [measurement for measurement in result["rounds"] if measurement["by"] == by]
        if not rounds:
            lines.append(f"{by}: not measured, this agent was built without BPF or may not load it.")
            continue
        percents = [measurement["percent"] for measurement in rounds]
        programs = [measurement["programs_percent"] for measurement in rounds if "programs_percent" in measurement]
        lost = sum(measurement.get("lost", 0) for measurement in rounds)
        ran = f"{statistics.median(programs):.3f}" if programs else "not known"
        spread = f"{min(percents):.3f} to {max(percents):.3f}"
        begun, then = (
            f"{statistics.median(measurement[name] for measurement in rounds):.{digits}f}"
            if name in rounds[0]
            else "not known"
            for name, digits in (("begun_ms", 1), ("then", 3))
        )
        rows.append([by, f"{statistics.median(percents):.3f}", spread, begun, then, ran, str(lost)])
        if by in LIMITS:
            met = "met" if statistics.median(percents) <= LIMITS[by] else "not met"
            lines.append(f"{by}: {statistics.median(percents):.3f} % of a CPU, wanted {LIMITS[by]} %: {met}")
    head = ["Recorded by", "% of a CPU, median", "Range", "First 0.1 s, ms", "Then, %", "BPF in the kernel, %", "Lost"]
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
