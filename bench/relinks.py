"""The error rate of `compare --layouts`, next to a comparison of one pair of builds. Simulated, so the truth is known.

    python bench/relinks.py                                            # 500 studies of each kind, a minute
    python bench/relinks.py --studies 4000 --document docs/explanation/statistics.md      # its table

Each study has k layouts of two programs that take equally long on average. Layouts are normal, or one in ten of them is
slow. Rounds go on until noise is a tenth of the variance, as becalm does, for ROUNDS at most.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

from becalm.analysis.compare import LOOK_GROWTH
from becalm.analysis.layouts import FEWEST, SMALL
from becalm.stats.arrays import Floats
from becalm.stats.layouts import center_by_rounds, compare_layouts, layout_sample
from becalm.stats.paired import RepeatedPairs
from fill import put

LAYOUTS = (2, 4, 10, 20)
NOISE = 0.01
SPREADS = (0.0, 0.5, 2.0, 10.0)
"""The standard deviation between layouts, in standard deviations of the noise."""

ROUNDS = 60
SLOW = 0.1
"""The share of slow layouts, where they are not normal."""


def layouts(rng: np.random.Generator, count: int, spread: float, slow: bool) -> Floats:
    """Return the logarithms of the mean times of some layouts, with this standard deviation."""
    own = (rng.random(count) < SLOW) / math.sqrt(SLOW * (1 - SLOW)) if slow else rng.standard_normal(count)
    return np.asarray(spread * own, dtype=np.float64)


def called(old: Floats, new: Floats) -> tuple[bool, int]:
    """Return whether the layouts of two programs are called different, and after how many rounds."""
    rounds = FEWEST
    while True:
        first, second, _ = center_by_rounds(old[:, :rounds], new[:, :rounds])
        estimate = compare_layouts(layout_sample(first), layout_sample(second), rounds)
        if estimate.noise_share <= SMALL or rounds == old.shape[1]:
            return estimate.low > 0 or estimate.high < 0, rounds
        rounds = min(old.shape[1], math.ceil(rounds * LOOK_GROWTH))


def pair_called(rng: np.random.Generator, old: Floats, new: Floats) -> bool:
    """Return whether a comparison calls one layout of each different, looking once."""
    order = rng.random(len(old)) < 0.5
    turns = 2 * np.arange(len(old))
    look = RepeatedPairs().look(old, new, turns + order, turns + ~order, 1.0)
    return look.low > 0 or look.high < 0


def rates(count: int, spread: float, slow: bool, studies: int, seed: int) -> tuple[float, float, float]:
    """Return the shares of studies that call equal programs different, by layouts and by one pair, and the rounds."""
    rng = np.random.default_rng([seed, count, round(10 * spread), slow])
    wrong = pairs = rounds = 0
    for _ in range(studies):
        old, new = (
            layouts(rng, count, spread * NOISE, slow)[:, np.newaxis] + NOISE * rng.standard_normal((count, ROUNDS))
            for _ in range(2)
        )
        different, taken = called(old, new)
        wrong, rounds = wrong + different, rounds + taken
        pairs += pair_called(rng, old[0], new[0])
    return wrong / studies, pairs / studies, rounds / studies


def table(studies: int, seed: int) -> str:
    """Return the table as Markdown."""
    lines = ["| layouts | layout / noise | called by layouts | rounds | called by one pair |", "| --- " * 5 + "|"]
    kinds = [(count, spread, False) for count in LAYOUTS for spread in SPREADS]
    kinds += [(count, SPREADS[-1], True) for count in LAYOUTS[1:]]
    for count, spread, slow in kinds:
        wrong, pairs, rounds = rates(count, spread, slow, studies, seed)
        name = f"{spread:g}{', one in ten slow' if slow else ''}"
        lines.append(f"| {count} | {name} | {100 * wrong:.1f} % | {rounds:.0f} | {100 * pairs:.1f} % |")
    return "\n".join(lines)


def main() -> None:
    """Print the table, and write it into a document on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="shows in seconds that it works")
    parser.add_argument("--document", type=Path, help="put the table there, between its marks")
    chosen = parser.parse_args()
    text = table(10 if chosen.quick else chosen.studies, chosen.seed)
    print(text)
    if chosen.document is not None:
        put(chosen.document, "relinks", text)


if __name__ == "__main__":
    main()
