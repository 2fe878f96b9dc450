"""The rates at which explain names the injected cause, and a cause where there is none: simulated campaigns.

    python bench/explain.py [--campaigns 100] [--runs 30]

The programs and the machine are models (becalm.load.simulated): 2 CPUs, run-to-run noise of 2 %, one run in twenty
hit by something unrecorded. Each campaign draws its own loads.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from becalm.load.attribution import FALSE_NAMING
from becalm.load.background_load import observed
from becalm.load.evidence import evidence
from becalm.load.simulated import CAUSES_OF, LoadedMachine, LoadedProgram, Sensitivity, hypercube, simulate
from campaign import OUT, Record, begun, percent, save, saved, table

LOADS = ("spinners", "page_outs", "disk", "network")
DELAYS = (0.1, 0.25, 0.5)
"""Delay at full load, as a share of the unloaded time; for the CPU, share of Mund's expectation."""


def answers(sensitive: Sensitivity, campaigns: int, runs: int, machine: LoadedMachine, seed: int) -> Counter[str]:
    """Count the answers over campaigns."""
    result: Counter[str] = Counter()
    for number in range(campaigns):
        rng = np.random.default_rng((seed, number))
        levels = hypercube(runs, rng, LOADS)
        value, loads = simulate(levels, LoadedProgram(sensitive=sensitive), machine, rng)
        shown = evidence(observed(1, "model", ["program"], value, loads), designed=True, seed=number)
        assert shown is not None
        result[shown.attribution.cause or str(shown.attribution.answer)] += 1
    return result


def measure(campaigns: int, runs: int) -> Record:
    """Return the answers, a row for each level of the machine's record, cause (None: none) and delay."""
    rows: list[Record] = []
    for level in (3, 1):
        machine = LoadedMachine(level=level)
        for name in LOADS:
            for delay in DELAYS:
                counts = answers(Sensitivity(**{name: delay}), campaigns, runs, machine, 1)
                named = counts.pop(CAUSES_OF[name], 0)
                row: Record = {"level": level, "cause": CAUSES_OF[name], "delay": delay, "campaigns": campaigns}
                rows.append({**row, "named": named, "others": dict(counts.most_common())})
                print(worded(rows[-1]), file=sys.stderr)
        counts = answers(Sensitivity(), 3 * campaigns, runs, machine, 2)
        wrong = sum(count for what, count in counts.items() if what in CAUSES_OF.values())
        row = {"level": level, "cause": None, "delay": 0.0, "campaigns": 3 * campaigns, "named": wrong}
        rows.append({**row, "others": dict(counts.most_common())})
        print(worded(rows[-1]), file=sys.stderr)
    return {"runs": runs, "rows": rows}


def worded(row: Record) -> str:
    """Format a row as a line of progress."""
    what = f"{row['cause']}, {percent(row['delay'], 0)}" if row["cause"] else "no cause"
    return f"level {row['level']}, {what}: a cause named in {row['named']} of {row['campaigns']}"


def report(result: Record) -> str:
    """Format as Markdown how often the true cause was named, a row for each delay and level."""
    head = ("slowdown at full load", "record", *(str(CAUSES_OF[name]) for name in LOADS))
    records = {3: "with delay accounting", 1: "without"}
    rows = [
        [
            percent(delay, 0),
            records[level],
            *(f"{row['named']} of {row['campaigns']}" for row in result["rows"]
              if row["cause"] and (row["level"], row["delay"]) == (level, delay)),
        ]
        for delay in sorted(DELAYS, reverse=True)
        for level in records
    ]  # fmt: skip
    return f"{result['runs']} runs a campaign.\n\n{table(head, rows)}"


def judged(rows: Sequence[Record]) -> list[str]:
    """Compare the stated rate of causes named where there is none with the measured one."""
    return [
        f"no cause there, level {row['level']}: one was named in {row['named']} of {row['campaigns']}, stated at most "
        f"{percent(FALSE_NAMING, 0)}: " + ("met" if row["named"] <= FALSE_NAMING * row["campaigns"] else "not met")
        for row in rows
        if row["cause"] is None
    ]


def main() -> None:
    """Measure, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--campaigns", type=int, default=100)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--out", type=Path, default=OUT / "explain.json")
    parser.add_argument("--quick", action="store_true", help="two campaigns of each: shows that it works")
    parser.add_argument("--report", action="store_true", help="print the table of what was simulated last")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.campaigns, chosen.out = 2, chosen.out.with_name("explain-quick.json")
    if not chosen.report:
        save(chosen.out, {**begun(), **measure(chosen.campaigns, chosen.runs)})
    result = saved(chosen.out)
    print(report(result))
    print("\n".join(["", *judged(result["rows"])]))


if __name__ == "__main__":
    main()
