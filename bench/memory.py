"""The cost of measuring a program's memory, and whether that makes the program slower.

    python bench/memory.py             # a minute
    python bench/memory.py --quick     # shows in seconds that it works

A program computes for half a second while 0, 7 or 63 children of it sleep, with and without `--metric memory:peak`, in
turns in random order. The share of one CPU is the agent's own account (`cost_ns` of the samples); the difference of the
wall times comes with its interval from the pairs.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
from pathlib import Path

import numpy as np

import becalm
from becalm.stats.paired import RepeatedPairs
from becalm.store import Store
from campaign import table

WORK = """import os, sys, time
for child in range({children}):
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
end = time.process_time() + {seconds}
while time.process_time() < end:
    sum(range(1000))
"""
CHILDREN = (0, 7, 63)


def once(store: str, children: int, seconds: float, *, memory: bool) -> tuple[float, float]:
    """Run once; return the wall time in s, and the share of one CPU that measuring its memory took."""
    command = [sys.executable, "-c", WORK.format(children=children, seconds=seconds)]
    specs = ["time:wall", "memory:peak"] if memory else ["time:wall"]
    verdict = becalm.run(command, metric=specs, runs=1, warmup=0, store=store, load=False)
    mean_ns = verdict.summaries[0].mean_ns
    assert mean_ns is not None, "runs that becalm measured have a wall time"
    wall_s = mean_ns.value / 1e9
    with Store.open(store) as opened:
        cost_ns = sum(row.cost_ns for row in opened.all_series(verdict.study or 0))
    return wall_s, cost_ns / 1e9 / wall_s


def compared(children: int, pairs: int, seconds: float, seed: int) -> list[str]:
    """Return a row of the table."""
    rng = random.Random(f"{seed}/{children}")
    walls: dict[bool, list[float]] = {False: [], True: []}
    places: dict[bool, list[int]] = {False: [], True: []}
    shares, measured_pairs = [], 0
    with tempfile.TemporaryDirectory() as directory:
        store = str(Path(directory, "runs.db"))
        for _ in range(pairs):
            for memory in rng.sample([False, True], 2):
                wall_s, share = once(store, children, seconds, memory=memory)
                walls[memory].append(math.log(wall_s))
                places[memory].append(measured_pairs)
                shares += [share] if memory else []
                measured_pairs += 1
    result = RepeatedPairs().look(walls[False], walls[True], places[False], places[True], 1.0)
    low, high = (f"{100 * math.expm1(end):+.2f} %" if math.isfinite(end) else "?" for end in (result.low, result.high))
    slower = f"{100 * math.expm1(result.estimate):+.2f} % ({low} to {high})"
    return [str(1 + children), f"{100 * float(np.median(shares)):.3f} %", f"{100 * max(shares):.3f} %", slower]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shows in seconds that it works")
    parser.add_argument("--pairs", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    pairs, seconds, children = (2, 0.15, CHILDREN[:2]) if args.quick else (args.pairs, 0.5, CHILDREN)
    rows = [compared(child, pairs, seconds, args.seed) for child in children]
    print(table(["processes", "CPU, median", "CPU, most", "wall time with it (95 %)"], rows))


if __name__ == "__main__":
    main()
