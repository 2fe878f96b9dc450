"""What becalm's agent itself needs to put settings on and to take them off again.

    python bench/holding.py            on a directory that looks like a laptop
    sudo python bench/holding.py --machine   also on this machine, and each setting by itself

`on` is the agent's own figure (`took_ns`): taking the lock, the journal on disk, the guard, every write and its reading
back. `off` is the time until `release` is answered. Medians of some rounds; the slowest in brackets.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import runpy
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from becalm.hosts.agent import agent_path
from campaign import OUT

LAPTOP = Path(__file__).parents[1] / "tests/machine/restore/laptop.py"

PROFILES: dict[str, dict[str, Any]] = {
    "llvm-tips": {
        "aslr_system": "off",
        "governor": "performance",
        "turbo": "off",
        "smt": "off",
        "isolation": "first-core",
    },
    "pyperf": {
        "perf_rate": 1,
        "aslr_system": "off",
        "governor": "performance",
        "frequency_floor": "max",
        "turbo": "off",
        "isolation": "first-core",
        "irq_affinity": "away",
    },
}
"""LLVM's benchmarking tips (llvm.org/docs/Benchmarking.html) and `pyperf system tune`: their live settings."""

SINGLE: dict[str, Any] = {
    "swappiness": 10,
    "aslr_system": "off",
    "perf_rate": 1,
    "irq_affinity": "away",
    "isolation": "first-core",
    "online_cpus": "first",
}

Row = dict[str, Any]


class Agent:
    """A conversation with an agent; `root` is the directory that it takes for the machine's."""

    def __init__(self, root: Path | None) -> None:
        where = [] if root is None else ["--root", str(root)]
        self.process = subprocess.Popen([agent_path(), "serve", *where], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ask("open", protocol=self.read()["protocol"], environment=None, directory="/")

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def ask(self, do: str, **fields: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"id": 1, "do": do, **fields}).encode() + b"\n")
        self.process.stdin.flush()
        answer = self.read()
        if answer["event"] == "error":
            raise SystemExit(answer["message"])
        return answer

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def measured(where: str, name: str, settings: dict[str, Any], root: Path | None, rounds: int) -> Row | None:
    """Median and slowest time to put settings on and take them off, in ms; None when the machine has none of them."""
    agent = Agent(root)
    try:
        here = {knob["name"] for knob in agent.ask("knobs")["knobs"] if knob["supported"]}
        having = {knob: value for knob, value in settings.items() if knob in here}
        if not having:
            return None
        on, off = [], []
        for _ in range(rounds):
            held = agent.ask("hold", settings=having, dangerous=True)
            on.append(held["took_ns"] / 1e6)
            started = time.perf_counter_ns()
            released = agent.ask("release")
            off.append((time.perf_counter_ns() - started) / 1e6)
            if released["unsettled"]:
                raise SystemExit("\n".join(released["unsettled"]))
    finally:
        agent.close()
    return {
        "where": where,
        "settings": name,
        "knobs": sorted(having),
        "places": len(released["places"]),
        "on_ms": on,
        "off_ms": off,
    }


def line(row: Row) -> str:
    """One row of the table."""
    shown = (f"{statistics.median(row[each]):8.2f} ({max(row[each]):7.2f})" for each in ("on_ms", "off_ms"))
    return f"{row['where']:<18} {row['settings']:<14} {row['places']:>6} {'  '.join(shown)}"


def main() -> None:
    """Measure, print a table, and write bench/out/holding.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", action="store_true", help="also change this machine's own settings (root)")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    if options.machine and os.geteuid() != 0:
        parser.error("--machine changes settings of this machine: that needs root")
    laptop = runpy.run_path(str(LAPTOP))["laptop"]
    rows: list[Row | None] = []
    with tempfile.TemporaryDirectory() as directory:
        for cpus in (8, 128):
            root = laptop(Path(directory) / str(cpus), cpus=cpus)
            rows += [measured(f"tree, {cpus} CPUs", *item, root, options.rounds) for item in PROFILES.items()]
    if options.machine:
        for name, settings in PROFILES.items():
            rows.append(measured("this machine", name, settings, None, options.rounds))
        for name, value in SINGLE.items():
            rows.append(measured("this machine", name, {name: value}, None, options.rounds))
    found = [row for row in rows if row is not None]
    print(f"{'where':<18} {'settings':<14} {'places':>6}  on, ms (slowest)   off, ms (slowest)")
    for row in found:
        print(line(row))
    OUT.mkdir(exist_ok=True)
    saved = {"machine": platform.platform(), "cpus": os.cpu_count(), "rows": found}
    (OUT / "holding.json").write_text(json.dumps(saved, indent=1) + "\n")


if __name__ == "__main__":
    main()
