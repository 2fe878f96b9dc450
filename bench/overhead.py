"""The cost of one run of /bin/true in each tool, over the bare cost of posix_spawn and waitpid.

    python bench/overhead.py
    python bench/overhead.py --report

A tool's cost for a run is the slope between a few runs and many: start-up and shut-down cancel out, everything it
does for each run counts (starting, waiting, reading counters, keeping the result). All of them are interleaved in
random order, several times over, and compared with the bare cost of the same repetition.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from campaign import (
    OUT,
    Log,
    Record,
    becalm_command,
    describe,
    read_log,
    save,
    table,
    timed,
    versions,
    work_off,
)
from loop import compile_c

PROGRAM = "/bin/true"
BARE, BECALM, AGENT, HYPERFINE = "bare", "becalm", "becalm's agent alone", "hyperfine -N"
PYPERF_RUN, PYPERF_LOOP = "pyperf, each run a value", "pyperf, runs of a loop not kept"
WANTED_NS = 60_000

Command = Callable[[int], list[str]]


def commands(directory: Path) -> dict[str, tuple[Command, int, int]]:
    """Return for each tool the command that makes n runs, and a small and a large n."""
    spawn = directory / "spawn"
    compile_c(Path(__file__).with_name("spawn.c"), spawn)
    store, export = directory / "becalm.db", directory / "hyperfine.json"
    pyperf = [sys.executable, "-m", "pyperf", "command", "--quiet", "--processes=1", "--warmups=0"]
    return {
        BARE: (lambda n: [str(spawn), str(n), PROGRAM], 200, 4200),
        BECALM: (
            lambda n: [
                *(*becalm_command(), "run", "--runs", str(n), "--budget", "none", "--warmup", "0", "--quiet"),
                *("--store", str(store), "--", PROGRAM),
            ],
            200,
            4200,
        ),
        HYPERFINE: (
            lambda n: ["hyperfine", "-N", "--style=none", f"--runs={n}", f"--export-json={export}", PROGRAM],
            200,
            4200,
        ),
        PYPERF_RUN: (lambda n: [*pyperf, "--loops=1", f"--values={n}", PROGRAM], 4, 44),
        PYPERF_LOOP: (lambda n: [*pyperf, f"--loops={n}", "--values=1", PROGRAM], 200, 4200),
    }


def slope_ns(command: Command, few: int, many: int, rng: random.Random) -> float:
    """Return the cost of one more run in ns, from a small and a large number of runs in random order."""
    wall = {n: timed(command(n)).wall_s for n in rng.sample([few, many], 2)}
    return 1e9 * (wall[many] - wall[few]) / (many - few)


def agent_ns(runs: int) -> dict[str, float]:
    """Return the agent's account: medians of bare and of its own runs, interleaved run by run
    (docs/reference/protocol.md)."""
    from becalm import hosts

    with hosts.open("local") as host:
        bare, own = host.overhead(runs)
    return {"bare": statistics.median(bare), "own": statistics.median(own)}


def repetition(tools: Mapping[str, tuple[Command, int, int]], index: int, seed: int, scale: float) -> Record:
    """Measure all tools once, in random order."""
    rng = random.Random(f"{seed}/{index}")
    costs = {}
    for name in rng.sample(list(tools), len(tools)):
        command, few, many = tools[name]
        costs[name] = slope_ns(command, few, few + max(2, round((many - few) * scale)), rng)
    return {"index": index, "costs_ns": costs, "agent_ns": agent_ns(max(20, round(1000 * scale)))}


def summarize(records: list[Record]) -> list[Record]:
    """Return one row for each tool: cost of a run and cost over bare, each as median, smallest and largest in ns."""
    costs = {name: [r["costs_ns"][name] for r in records] for name in records[0]["costs_ns"]}
    over = {name: [a - b for a, b in zip(costs[name], costs[BARE], strict=True)] for name in costs if name != BARE}
    costs[AGENT] = [r["agent_ns"]["own"] for r in records]
    over[AGENT] = [r["agent_ns"]["own"] - r["agent_ns"]["bare"] for r in records]
    return [{"tool": name, "cost": _spread(costs[name]), "over": _spread(over.get(name, []))} for name in costs]


def _spread(values: list[float]) -> list[float] | None:
    return [statistics.median(values), min(values), max(values)] if values else None


def report(result: Record) -> str:
    """Format the machine and the costs as Markdown."""
    used = ", ".join(f"{name} {version}" for name, version in result["config"]["versions"].items())
    rows = [[r["tool"], _microseconds(r["cost"]), _microseconds(r["over"])] for r in result["rows"]]
    return (
        f"Machine: {describe(result['machine'])}. {used}. {result['repetitions']} repetitions; "
        "median (smallest to largest).\n\n" + table([f"One run of {PROGRAM}", "Cost, µs", "Over bare, µs"], rows)
    )


def _microseconds(value: list[float] | None) -> str:
    return "" if value is None else f"{value[0] / 1e3:,.0f} ({value[1] / 1e3:,.0f} to {value[2] / 1e3:,.0f})"


def judged(rows: list[Record]) -> list[str]:
    """Report for each goal of the project whether it is met.

    The peers are the tools that keep every run; pyperf's loop keeps a sum.
    """
    over = {r["tool"]: r["over"][0] for r in rows if r["over"]}
    wanted = min(WANTED_NS, *(over.get(peer, math.inf) for peer in (HYPERFINE, PYPERF_RUN)))
    return [
        f"{name}: {over[name] / 1e3:.0f} µs over bare, wanted at most {wanted / 1e3:.0f}: "
        + ("met" if over[name] <= wanted else "not met")
        for name in (BECALM, AGENT)
        if name in over
    ]


def options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the numbers of runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--out", type=Path, default=OUT / "overhead.json", help="repetitions go to the same name, .jsonl"
    )
    parser.add_argument("--quick", action="store_true", help="two small repetitions: shows that it works")
    parser.add_argument("--report", action="store_true", help="print the table of the repetitions so far")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.repetitions, chosen.scale = 2, 0.1
        chosen.out = chosen.out.with_name("overhead-quick.json")
    return chosen


def measure(chosen: argparse.Namespace, directory: Path) -> None:
    """Run the repetitions that are not in the log yet."""
    tools = commands(directory)
    config = {"scale": chosen.scale, "seed": chosen.seed, "versions": versions()}
    log = Log(chosen.out.with_suffix(".jsonl"), config)
    done = {r["index"] for r in log.records}
    todo = [index for index in range(chosen.repetitions) if index not in done]

    def trials() -> Iterator[Callable[[], Record]]:
        for index in todo:
            yield partial(repetition, tools, index, chosen.seed, chosen.scale)

    work_off(trials(), log, len(todo))


def main() -> None:
    """Measure what is missing, then report."""
    chosen = options()
    if not chosen.report:
        with tempfile.TemporaryDirectory(prefix="becalm-bench-") as directory:
            measure(chosen, Path(directory))
    header, records = read_log(chosen.out.with_suffix(".jsonl"))
    if not records:
        raise SystemExit("No repetition is finished yet.")
    result = {**header, "repetitions": len(records), "rows": summarize(records)}
    save(chosen.out, result)
    print(report(result))
    print("\n".join(["", *judged(result["rows"])]))


if __name__ == "__main__":
    main()
