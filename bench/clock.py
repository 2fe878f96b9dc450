"""What timers can show, side by side in one run: t_min and t_diff of each, and ratios to PAPI and clock_gettime.

    python bench/clock.py
    python bench/clock.py --quick

The evaluation is becalm's own (crates/becalm-core/examples/clock.rs, which this builds): unlike the agent it is linked
dynamically and can load PAPI where that is installed (Debian: libpapi-dev). Wanted: a pair of reads of at most 40 ns;
t_min and t_diff nowhere worse than those of clock_gettime through the vDSO, and 2.2 to 30 and 1.9 to 40 times better
than PAPI's system call where the step of the counter does not bind. Where it does, no timer can be better, and the
table says so.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from campaign import OUT, Record, begun, describe, save, saved, table, timed
from observe import built

OURS = "barrier"
VDSO = "clock_gettime"
PAPI = "PAPI_get_real_nsec"
LARGEST_PAIR_NS = 40.0
BOUND = 50
"""t_min of a counter that steps by Q and has no other error, in Q: 1 / (2 ε) with ε = 0.01."""
SLACK = 1.25
"""t_min within this factor of that bound is the step's, and so is no timer's merit."""


def measure(seconds: float, flushes: list[str], timers: list[str]) -> Record:
    """Events of one evaluation, sorted by kind."""
    request = {"budget_ns": int(seconds * 1e9), "filter": "robust", "search": "grid", "seed": 1}
    request |= {"flushes": flushes, "timers": timers}
    print(f"evaluating timers for {seconds:.0f} s", file=sys.stderr)
    events = [json.loads(line) for line in timed([built("clock"), json.dumps(request)]).stdout.splitlines()]
    trust = next(event for event in events if event["event"] == "trust")
    kinds = ("cell", "absent")
    return {"trust": trust, **{kind: [event for event in events if event["event"] == kind] for kind in kinds}}


def report(result: Record) -> str:
    """Markdown: the machine, the clock, the table, what is missing."""
    trust = result["trust"]["trust"]
    step = "unknown" if trust["quantum_ns"] is None else f"{trust['quantum_ns']:.1f} ns"
    head = (
        f"Machine: {describe(result['machine'])}. {trust['source']} at {trust['hz'] / 1e6:.1f} MHz, step {step}; "
        f"core {trust['core_ghz']:.2f} GHz. Times in ns.\n\n"
    )
    rows = [
        [
            f"`{cell['timer']}`",
            cell["flush"],
            f"{cell['median_cost']:.0f}",
            _ns(cell["t_min"]),
            "yes" if bound(cell) else "no",
            _ns(cell["t_diff"]),
            *(_ratio(result, cell, other) for other in (VDSO, PAPI)),
            cell["no_t_min"] or cell["no_t_diff"] or "",
        ]
        for cell in result["cell"]
    ]
    heads = ["Timer", "From", "Pair", "t_min", "Step binds", "t_diff", "vDSO / it", "PAPI / it", "Why not"]
    missing = [f"- {event['timer'] or event['flush']}: {event['reason']}" for event in result["absent"]]
    return head + table(heads, rows) + "\n\n" + "\n".join(missing)


def bound(cell: Record) -> bool:
    """Whether t_min is that of the counter's step."""
    found = cell["t_min"]
    return found is not None and cell["quantum"] is not None and found["ns"] <= SLACK * BOUND * cell["quantum"]


def _ns(found: Record | None) -> str:
    return "" if found is None else f"{found['ns']:.0f}"


def _ratio(result: Record, cell: Record, other: str) -> str:
    """t_min and t_diff of another timer over those of this one, at the same flush."""
    there = next((e for e in result["cell"] if e["timer"] == other and e["flush"] == cell["flush"]), None)
    if there is None or there is cell:
        return ""
    pairs = [(there[name], cell[name]) for name in ("t_min", "t_diff")]
    return ", ".join("?" if one is None or two is None else f"{one['ns'] / two['ns']:.1f}" for one, two in pairs)


def judged(result: Record) -> list[str]:
    """What the project wants here, and whether it was seen."""
    pair = result["trust"]["trust"]["median_cost_ns"]
    lines = [f"a pair of reads of at most {LARGEST_PAIR_NS:.0f} ns: {pair:.1f} ns: {_met(pair <= LARGEST_PAIR_NS)}"]
    for flush in dict.fromkeys(cell["flush"] for cell in result["cell"]):
        at = {cell["timer"]: cell for cell in result["cell"] if cell["flush"] == flush}
        ours, theirs = (at.get(name, {}).get("t_min") for name in (OURS, VDSO))
        if ours is None or theirs is None:
            lines.append(f"{flush}: t_min not worse than the vDSO's: not measured")
        else:
            # Each has its own range of repetitions; worse is what lies above all of the other's.
            worse = ours["range_ns"][0] > theirs["range_ns"][1]
            lines.append(
                f"{flush}: t_min not worse than the vDSO's: {ours['ns']:.0f} ns beside {theirs['ns']:.0f} ns: "
                + _met(not worse)
            )
    return lines


def _met(seen: bool) -> str:
    return "met" if seen else "not met"


def main() -> None:
    """Measure, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--flush", action="append", default=[], help="L1, L2, L3 or memory; all of them")
    parser.add_argument("--timer", action="append", default=[], help="a timer's name; all of them")
    parser.add_argument("--out", type=Path, default=OUT / "clock.json")
    parser.add_argument("--quick", action="store_true", help="shows in seconds that it works")
    parser.add_argument("--report", action="store_true", help="print the tables of what was measured last")
    chosen = parser.parse_args()
    if chosen.report:
        result = saved(chosen.out)
    else:
        if chosen.quick:
            chosen.out = chosen.out.with_name("clock-quick.json")
        seconds, flushes = (15.0, ["L1"]) if chosen.quick else (chosen.seconds, chosen.flush)
        result = {**begun(), **measure(seconds, flushes, chosen.timer)}
        save(chosen.out, result)
    print(report(result))
    print("\n" + "\n".join(judged(result)))


if __name__ == "__main__":
    main()
