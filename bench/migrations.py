"""The cost of moving a program at sweet spots, at random moments and never, over caches and working sets: simulated.

    python bench/migrations.py --document docs/explanation/sweetspots.md
    python bench/migrations.py --quick     # few moves of few programs: shows that it works

A program in phases runs on caches of a sixteenth of the thesis's size, with pages of a fourth. Moments are drawn at
random. From the same placement of pages, the program is simulated three times: not moved, moved at that moment, and
moved at the next spot after it by the waiting rule (becalm.migration.account). A cost is processor time above that of
not moving, without the direct cost of a switch; intervals are Student's over the pairs. Nothing in it depends on the
machine that it runs on.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from becalm.migration.account import Accounted, account
from becalm.migration.rules import rules_named
from campaign import table
from fill import put

SCALE = 4
LLC = (6 << 20) // SCALE**2
L2 = 262144 // SCALE**2
SHARES = {"same": (0.03, 0.25), "other": (0.03, 0.25, 0.75, 1.5)}
"""Working sets as shares of a last-level cache. 0.03 is three quarters of an L2, and within a cache no more is lost."""

TO = {"same": 1, "other": 2}
WORDS = {"same": "within one LLC", "other": "to another LLC"}
POLICIES = (("as published", 0.8, 312_500), ("patient", 0.0, 312_500), ("patient, short windows", 0.0, 100_000))
"""p of the waiting rule (0: it waits as long as what was counted is worth), and the window, ns: T is 5 ms by 16."""

PHASE_CYCLES = 8_000_000
PHASES, MOVES = 6, 8
BLOCK = "migrations"


def accounted(share: float, to: str, policy: tuple[str, float, int], moves: int, phases: int) -> Accounted:
    """Compute one cell."""
    _, reuse, window = policy
    lines = int(LLC * share) // 64
    latency = 10 if lines * 64 <= L2 else 40 if share <= 1 else 300
    program = {"phases": {"bytes": lines * 64, "sweeps": max(2, PHASE_CYCLES // (lines * latency)), "phases": phases}}
    cost: dict[str, Any] = {"counted": "references", "miss_ns": 12.9} if to == "same" else {"miss_ns": 96.8}
    request = {
        "machine": {
            "cpus": 4, "llcs": 2, "l1": {"bytes": 32768 // SCALE, "ways": 8}, "l2": {"bytes": L2, "ways": 8},
            "llc": {"bytes": LLC, "ways": 12},
        },
        "page_bytes": 4096 // SCALE, "tick_ns": window // 20, "tasks": [{"program": program}],
        "question": {"rules": rules_named("rise").within(window), "waiting": {"reuse": reuse, **cost}},
    }  # fmt: skip
    return Accounted("phases", to, "rise", reuse, window, tuple(account(request, TO[to], moves, 1)))


def report(moves: int, phases: int, most: int) -> str:
    """Return the table as Markdown."""
    rows = []
    for to in TO:
        for share in SHARES[to][:most]:
            for policy in POLICIES:
                result = accounted(share, to, policy, moves, phases)
                random, spot = (result.cost(arm, "time_ns") for arm in ("random", "spot"))
                gain = result.gain("time_ns")
                pays = "pays" if gain.sure and gain.value > 0 else "loses" if gain.sure else "nothing to gain"
                rows.append(
                    [
                        WORDS[to], f"{share:g}", policy[0],
                        *(f"{cost.value / 1e3:.1f} ± {cost.half / 1e3:.1f} µs" for cost in (random, spot, gain)),
                        f"{result.at_spots} of {moves}", pays,
                    ]
                )  # fmt: skip
            print(f"{WORDS[to]}, {share:g} of it: done", file=sys.stderr)
    head = ["Moved", "Working set, LLCs", "Waiting", "At a random moment", "At a spot", "Gain", "At spots", ""]
    return table(head, rows)


def main() -> None:
    """Simulate, print, and put it into a document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--document", type=Path, help="put the table into this document")
    parser.add_argument("--quick", action="store_true", help="few moves of few programs: shows that it works")
    chosen = parser.parse_args()
    body = report(3, 3, 1) if chosen.quick else report(MOVES, PHASES, 4)
    print(body)
    if chosen.document is not None:
        put(chosen.document, BLOCK, body)


if __name__ == "__main__":
    main()
