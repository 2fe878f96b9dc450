"""Counters of runs in an emulated arm64 machine, whose processor has a PMU: Debian's own kernel.

    python bench/counters_arm.py

Rented machines usually have no counters, and this one has none. QEMU's arm64 has a cycle counter (of emulated time), so
the whole path to `counter:cycles` is tested: inherited perf events that start at an exec, in one group, read once. The
goals: four times the work takes two to six times the cycles, and an event that cannot be counted there (instructions)
has its reason. The figures have no meaning. The requirements are those of bench/clock_arm.py.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import BinaryIO, cast

import clock_arm
from becalm.hosts.greeting import PROTOCOL
from becalm.hosts.guest.initramfs import Cpio
from becalm.nouns.metric import Response, metrics
from becalm.nouns.run import COLUMNS
from becalm.nouns.workload import Workload
from campaign import OUT, Record, begun, describe, save, saved, table
from observe import ROOT

WORK = (20_000_000, 80_000_000)
"""Additions of the two programs."""

RUNS = 5
WANTED = ("counter:cycles", "counter:instructions")


def requests(counted: str) -> list[dict[str, object]]:
    """Return the requests to the agent: both programs, in turns, with one event counted."""
    response = Response(metrics(["time:wall", counted]))
    programs = [Workload.of(["/init", str(work)]).measuring(response).to_wire() for work in WORK]
    steps = [[index % 2, 0, 0, index // 2] for index in range(2 * RUNS)]
    return [
        {"id": 1, "do": "open", "protocol": PROTOCOL, "environment": {"PATH": "/"}, "directory": "/"},
        {"id": 2, "do": "define", "workloads": programs, "settings": [{}]},
        {"id": 3, "do": "measure", "first": 0, "steps": steps},
    ]


def agent() -> Path:
    """Build the agent for that processor, linked statically."""
    target = clock_arm.TARGET
    linker = f"CARGO_TARGET_{target.upper().replace('-', '_')}_LINKER"
    build = ["cargo", "rustc", "-q", "--release", "--locked", "-p", "becalm-agent", "--bin", "becalm-agent"]
    build += ["--target", target, "--", "-C", "target-feature=+crt-static"]
    subprocess.run(build, cwd=ROOT, env={**os.environ, linker: clock_arm.COMPILER}, check=True)
    return ROOT / "target" / target / "release/becalm-agent"


def archive(scratch: Path, program: Path, counted: str) -> Path:
    """Build an initramfs: process 1, which is the work, too; the agent; and the requests."""
    init, request_file = scratch / "init", scratch / "requests"
    source = ROOT / "bench/counters_arm.c"
    subprocess.run([clock_arm.COMPILER, "-static", "-O1", "-Wall", source, "-o", init], check=True)
    request_file.write_text("".join(json.dumps(request) + "\n" for request in requests(counted)))
    packed = scratch / "initramfs.gz"
    with gzip.open(packed, "wb") as file:
        cpio = Cpio(cast("BinaryIO", file))
        for name in ("dev", "proc", "sys", "tmp"):
            cpio.directory(name)
        cpio.device("dev/console", 0o600, 5, 1)
        cpio.device("dev/null", 0o666, 1, 3)
        for name, path in (("init", init), ("becalm-agent", program), ("requests", request_file)):
            cpio.file(name, str(path))
        cpio.end()
    return packed


def console_events(image: Path, packed: Path) -> list[Record]:
    """Return the events that the machine prints on its console."""
    machine = ["qemu-system-aarch64", "-machine", "virt", "-cpu", "max", "-smp", "2", "-m", "1024", "-nographic"]
    machine += ["-no-reboot", "-kernel", str(image), "-initrd", str(packed)]
    machine += ["-append", "console=ttyAMA0 quiet panic=1"]
    done = subprocess.run(
        machine, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=900, check=False
    )
    lines = [line[line.index("{") :] for line in done.stdout.splitlines() if '{"' in line]
    # The agent's greeting is no event.
    events = [document for line in lines if line.rstrip().endswith("}") and "event" in (document := json.loads(line))]
    if not events:
        raise SystemExit(f"The machine told nothing:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return events


def counts(events: list[Record]) -> list[list[float]]:
    """Return the counts of both programs, in the order of their runs."""
    rows = [
        dict(zip(COLUMNS, row, strict=True))
        for event in events
        if event["event"] == "runs" and event.get("id") == 3
        for row in event["rows"]
    ]
    good = [row for row in rows if row["outcome"] == "ok" and row["metrics"]]
    return [[row["metrics"][1] for row in good if row["workload"] == place] for place in range(2)]


def reason(events: list[Record]) -> str:
    """Return the agent's reason why the event cannot be counted."""
    return next((str(event["message"]) for event in events if event["event"] == "error"), "")


def measure(program: Path | None) -> Record:
    """Measure both events, with a boot for each."""
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        image, built = clock_arm.kernel(scratch), program or agent()
        by_event = {}
        for counted in WANTED:
            events = console_events(image, archive(scratch, built, counted))
            by_event[counted] = {"counts": counts(events), "reason": reason(events)}
        return {"kernel": image.name, "found": by_event}


def ratio(counted: list[list[float]]) -> float | None:
    """Return the longer program's median count over the shorter one's; None where either was not counted."""
    middles = [sorted(count)[len(count) // 2] for count in counted if count]
    return middles[1] / middles[0] if len(middles) == 2 and middles[0] else None


def report(result: Record) -> str:
    """Format each event with its counts, or the reason for their absence, as Markdown."""
    rows = []
    for name, measured in result["found"].items():
        times = ratio(measured["counts"])
        middles = [f"{sorted(every)[len(every) // 2]:,.0f}" if every else "" for every in measured["counts"]]
        rows.append([f"`{name}`", *middles, "" if times is None else f"{times:.2f}", measured["reason"]])
    head = f"Machine: {describe(result['machine'])}, emulating arm64 with {result['kernel']}. "
    head += f"{WORK[0]:,} and {WORK[1]:,} additions."
    return "\n".join([head, "", table(["Event", "Short", "Long", "Ratio", "Why not"], rows)])


def judged(result: Record) -> list[str]:
    """Report for each goal whether it is met."""
    cycles, other = (result["found"][name] for name in WANTED)
    times = ratio(cycles["counts"])
    words = {True: "met", False: "not met"}
    return [
        f"four times the work takes two to six times the cycles: {words[times is not None and 2 < times < 6]}",
        f"instructions are counted, or it is said why not: {words[bool(other['reason'] or ratio(other['counts']))]}",
    ]


def main() -> None:
    """Measure, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT / "counters_arm.json")
    parser.add_argument("--agent", type=Path, help="an agent for arm64 that is built already, linked statically")
    parser.add_argument("--quick", action="store_true", help="the same: it takes no more than two boots")
    parser.add_argument("--report", action="store_true", help="print what was measured last")
    chosen = parser.parse_args()
    if chosen.report:
        result = saved(chosen.out)
    else:
        result = {**begun(), **measure(chosen.agent)}
        save(chosen.out, result)
    print(report(result))
    print("\n" + "\n".join(judged(result)))


if __name__ == "__main__":
    main()
