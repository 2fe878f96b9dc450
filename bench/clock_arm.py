"""The timers of Armv8 in an emulated arm64 machine, whose cycle counter user space may read: Debian's own kernel.

    python bench/clock_arm.py

We have no such machine. QEMU emulates one with a cycle counter (pmccntr_el0, of emulated time), so the whole path to it
is tested: the perf event, its page, kernel.perf_user_access. The goal is that the evaluation ends and that the row
`cycles` is measured. Its figures have no meaning. The kernel comes from Debian's packages, by an apt of its own in a
scratch directory; QEMU (qemu-system-arm) and a cross-compiler (gcc-aarch64-linux-gnu) are needed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO, cast

from becalm.hosts.guest.initramfs import Cpio
from campaign import OUT, Record, begun, describe, save, saved, table
from observe import ROOT

TARGET = "aarch64-unknown-linux-gnu"
COMPILER = "aarch64-linux-gnu-gcc"
KERNEL = r"linux-image-6\.\S*-cloud-arm64$"
TIMERS = ["barrier", "bare", "cycles", "clock_gettime"]


def kernel(scratch: Path) -> Path:
    """Fetch an arm64 kernel of this machine's Debian, by apt with its state in a scratch directory."""
    for name in ("lists/partial", "cache/archives/partial"):
        (scratch / "apt" / name).mkdir(parents=True)
    (scratch / "apt/status").touch()
    options = {
        "APT::Architecture": "arm64",
        "APT::Architectures::": "arm64",
        "Dir::State": scratch / "apt",
        "Dir::State::status": scratch / "apt/status",
        "Dir::Cache": scratch / "apt/cache",
        "APT::Sandbox::User": "root",
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    subprocess.run(["apt-get", *words, "-q", "update"], stdout=sys.stderr, check=False)
    known = subprocess.run(
        ["apt-cache", *words, "pkgnames", "linux-image-6"], capture_output=True, text=True, check=True
    )
    names = sorted(name for name in known.stdout.split() if re.match(KERNEL, name))
    if not names:
        raise SystemExit("The package index has no arm64 kernel linux-image-6….-cloud-arm64.")
    subprocess.run(["apt-get", *words, "-q", "download", names[-1]], cwd=scratch, stdout=sys.stderr, check=True)
    package = next(scratch.glob("linux-image*.deb"))
    subprocess.run(["dpkg", "-x", package, scratch / "kernel"], check=True)
    return next((scratch / "kernel/boot").glob("vmlinuz-*"))


def archive(scratch: Path, seconds: float) -> Path:
    """Build an initramfs: process 1, and the agent for that processor, both linked statically."""
    request = {"budget_ns": int(seconds * 1e9), "filter": "robust", "search": "grid", "seed": 1}
    request |= {"timers": TIMERS, "flushes": ["L1", "evicted"]}
    text = json.dumps(json.dumps(request))
    init = scratch / "init"
    source = ROOT / "bench/clock_arm.c"
    subprocess.run([COMPILER, "-static", "-O2", "-Wall", f"-DREQUEST={text}", source, "-o", init], check=True)
    linker = f"CARGO_TARGET_{TARGET.upper().replace('-', '_')}_LINKER"
    build = ["cargo", "rustc", "-q", "--release", "--locked", "-p", "becalm-agent", "--bin", "becalm-agent"]
    build += ["--target", TARGET, "--", "-C", "target-feature=+crt-static"]
    subprocess.run(build, cwd=ROOT, env={**os.environ, linker: COMPILER}, check=True)
    packed = scratch / "initramfs.gz"
    with gzip.open(packed, "wb") as file:
        cpio = Cpio(cast("BinaryIO", file))
        for name in ("dev", "proc", "sys", "tmp"):
            cpio.directory(name)
        cpio.device("dev/console", 0o600, 5, 1)
        cpio.file("init", str(init))
        cpio.file("becalm-agent", str(ROOT / "target" / TARGET / "release/becalm-agent"))
        cpio.end()
    return packed


def measure(seconds: float) -> Record:
    """Return the lines that the machine prints on its console."""
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        image, packed = kernel(scratch), archive(scratch, seconds)
        machine = ["qemu-system-aarch64", "-machine", "virt", "-cpu", "max", "-smp", "2", "-m", "1024", "-nographic"]
        machine += [
            "-no-reboot",
            "-kernel",
            str(image),
            "-initrd",
            str(packed),
            "-append",
            "console=ttyAMA0 quiet panic=1",
        ]
        done = subprocess.run(
            machine,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=900,
            check=False,
        )
        lines = [line[line.index("{") :] for line in done.stdout.splitlines() if '{"' in line]
        events = [json.loads(line) for line in lines if line.rstrip().endswith("}")]
        if not events:
            raise SystemExit(f"The machine told nothing:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return {"kernel": image.name, "events": events}


def report(result: Record) -> str:
    """Format the counter and each timer as Markdown."""
    events = result["events"]
    trust = next((event["trust"] for event in events if event["event"] == "trust"), None)
    head = f"Machine: {describe(result['machine'])}, emulating arm64 with {result['kernel']}. "
    if trust is not None:
        head += f"{trust['source']} at {trust['hz'] / 1e6:.1f} MHz; cycles: {trust['no_cycles'] or 'can be counted'}."
    # A cell that was tried again is told twice; the last one counts.
    cells = {(event["timer"], event["flush"]): event for event in events if event["event"] == "cell"}
    rows = [
        [f"`{cell['timer']}`", cell["flush"], cell["meaning"], f"{cell['median_cost']:.0f} {cell['unit']}"]
        for cell in cells.values()
    ]
    why = [f"- {event['timer'] or event['flush']}: {event['reason']}" for event in events if event["event"] == "absent"]
    return "\n".join([head, "", table(["Timer", "From", "Reads", "Empty region"], rows), "", *why])


def judged(result: Record) -> list[str]:
    """Report for each goal whether it is met."""
    events = result["events"]
    ended = any(event["event"] == "done" for event in events)
    counted = any(event["event"] == "cell" and event["timer"] == "cycles" for event in events)
    words = {True: "met", False: "not met"}
    return [f"the evaluation ends: {words[ended]}", f"the cycle counter is measured: {words[counted]}"]


def main() -> None:
    """Measure, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--out", type=Path, default=OUT / "clock_arm.json")
    parser.add_argument("--quick", action="store_true", help="shows in a minute or two that it works")
    parser.add_argument("--report", action="store_true", help="print what was measured last")
    chosen = parser.parse_args()
    if chosen.report:
        result = saved(chosen.out)
    else:
        if chosen.quick:
            chosen.out = chosen.out.with_name("clock_arm-quick.json")
        result = {**begun(), **measure(5.0 if chosen.quick else chosen.seconds)}
        save(chosen.out, result)
    print(report(result))
    print("\n" + "\n".join(judged(result)))


if __name__ == "__main__":
    main()
