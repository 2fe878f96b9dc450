"""How often explain names the injected cause, and how often one where there is none: simulated campaigns.

    python bench/explain.py [--campaigns 100] [--runs 30]

The programs and the machine are models (becalm.load.simulated): 2 CPUs, run-to-run noise of 2 %, one run in twenty
hit by something unrecorded. Each campaign draws its own loads.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import numpy as np

from becalm.load.attribution import FALSE_NAMING
from becalm.load.background_load import observed
from becalm.load.evidence import evidence
from becalm.load.simulated import CAUSES_OF, Machine, Program, Sensitivity, hypercube, simulate

LOADS = ("spinners", "page_outs", "disk", "network")
DELAYS = (0.1, 0.25, 0.5)
"""Delay at full load, as a share of the unloaded time; for the CPU, share of Mund's expectation."""


def answers(sensitive: Sensitivity, campaigns: int, runs: int, machine: Machine, seed: int) -> Counter[str]:
    """What was said in how many campaigns."""
    found: Counter[str] = Counter()
    for number in range(campaigns):
        rng = np.random.default_rng((seed, number))
        levels = hypercube(runs, rng, LOADS)
        made, loads = simulate(levels, Program(sensitive=sensitive), machine, rng)
        shown = evidence(observed(1, "model", ["program"], made, loads), designed=True, seed=number)
        assert shown is not None
        found[shown.attribution.cause or str(shown.attribution.answer)] += 1
    return found


def main() -> None:
    """Print one line a case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--campaigns", type=int, default=100)
    parser.add_argument("--runs", type=int, default=30)
    given = parser.parse_args()
    for level in (3, 1):
        machine = Machine(level=level)
        sys.stdout.write(f"capability level {level}\n")
        for name in LOADS:
            for delay in DELAYS:
                found = answers(Sensitivity(**{name: delay}), given.campaigns, given.runs, machine, 1)
                named = found.pop(CAUSES_OF[name], 0)
                rest = ", ".join(f"{count} {what}" for what, count in found.most_common())
                sys.stdout.write(f"  {CAUSES_OF[name]:8} {delay:4.0%}: named in {named} of {given.campaigns}; {rest}\n")
                sys.stdout.flush()
        found = answers(Sensitivity(), 3 * given.campaigns, given.runs, machine, 2)
        wrong = sum(count for what, count in found.items() if what in CAUSES_OF.values())
        rest = ", ".join(f"{count} {what}" for what, count in found.most_common())
        sys.stdout.write(
            f"  none: a cause named in {wrong} of {3 * given.campaigns} (stated {FALSE_NAMING:.0%}); {rest}\n"
        )


if __name__ == "__main__":
    main()
