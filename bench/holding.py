"""The time that becalm's agent needs to apply settings and to restore them.

    python bench/holding.py            on a directory that looks like a laptop
    sudo python bench/holding.py --machine   also on this machine, and each setting by itself

`on` is the agent's own figure (`took_ns`): taking the lock, the journal on disk, the guard, every write and its reading
back. `off` is the time until `release` is answered. Medians of some rounds; the slowest in brackets.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from becalm.hosts.agent import agent_path
from campaign import OUT, Record, begun, describe, save, saved, table

LAPTOP = Path(__file__).parents[1] / "tests/support/laptop.py"

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

WANTED_MS = 200


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
    """Return the median and the slowest time to apply settings and to restore them, in ms; None when the machine has
    none of them."""
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


def report(result: Record) -> str:
    """Format the machine, and a row for each list of settings, as Markdown."""
    rows = [
        [
            f"{row['where']}: {row['settings']}",
            str(row["places"]),
            *(f"{statistics.median(row[name]):.2f} ({max(row[name]):.2f})" for name in ("on_ms", "off_ms")),
        ]
        for row in result["rows"]
    ]
    head = ("Settings", "Places", "On, ms (slowest)", "Off, ms (slowest)")
    return f"Machine: {describe(result['machine'])}. {result['rounds']} rounds.\n\n{table(head, rows)}"


def judged(rows: Sequence[Row]) -> list[str]:
    """Report for each goal of the project whether it is met."""
    slowest = max(rows, key=lambda row: statistics.median(row["on_ms"]) + statistics.median(row["off_ms"]))
    both = [statistics.median(slowest[name]) for name in ("on_ms", "off_ms")]
    met = "met" if max(both) <= WANTED_MS else "not met"
    text = f"{slowest['where']}, {slowest['settings']}: on {both[0]:.0f} ms, off {both[1]:.0f}"
    return [f"{text}, wanted at most {WANTED_MS} each: {met}"]


def measure(rounds: int, *, this_machine: bool) -> list[Row]:
    """Measure every list on trees of two sizes and, when asked, on this machine, there also each setting by itself."""
    laptop = runpy.run_path(str(LAPTOP))["laptop"]
    rows: list[Row | None] = []
    with tempfile.TemporaryDirectory() as directory:
        for cpus in (8, 128):
            root = laptop(Path(directory) / str(cpus), cpus=cpus)
            rows += [measured(f"tree, {cpus} CPUs", *item, root, rounds) for item in PROFILES.items()]
    if this_machine:
        for name, settings in PROFILES.items():
            rows.append(measured("this machine", name, settings, None, rounds))
        for name, value in SINGLE.items():
            rows.append(measured("this machine", name, {name: value}, None, rounds))
    return [row for row in rows if row is not None]


def main() -> None:
    """Measure, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", action="store_true", help="also change this machine's own settings (root)")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=OUT / "holding.json")
    parser.add_argument("--quick", action="store_true", help="two rounds: shows that it works")
    parser.add_argument("--report", action="store_true", help="print the table of what was measured last")
    chosen = parser.parse_args()
    if chosen.machine and os.geteuid() != 0:
        parser.error("--machine changes settings of this machine: that needs root")
    if chosen.quick:
        chosen.rounds, chosen.out = 2, chosen.out.with_name("holding-quick.json")
    if not chosen.report:
        rows = measure(chosen.rounds, this_machine=chosen.machine)
        save(chosen.out, {**begun(), "rounds": chosen.rounds, "rows": rows})
    result = saved(chosen.out)
    print(report(result))
    print("\n".join(["", *judged(result["rows"])]))


if __name__ == "__main__":
    main()
