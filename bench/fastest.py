"""The rate at which a wrong program is called the fastest. Simulated with known truth; programs are dropped as
`compare` does.

    python bench/fastest.py                  # 100 studies of each noise
    python bench/fastest.py --seeds 2000     # the table of docs/explanation/statistics.md
    python bench/fastest.py --quick

K programs take turns in random order, and a program that cannot be the fastest is left out of later rounds. When all
programs are alike, calling one the fastest is wrong. When one is 2 standard deviations of noise faster than the others,
dropping it is wrong. There are also rows with few rounds, where Student's t decides. Needs no machine to be quiet.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from becalm.stats.elimination import GROWTH, Elimination
from coverage import NOISES, Noise, table
from fill import put

ALPHA = 0.05


def looks(rounds: int) -> list[int]:
    """Return the numbers of rounds at which the data are looked at."""
    result = [1]
    while result[-1] < rounds:
        result.append(min(rounds, max(result[-1] + 1, math.ceil(result[-1] * GROWTH))))
    return result


def study(noise: Noise, programs: int, rounds: int, faster: float, seed: Sequence[int]) -> tuple[int | None, bool]:
    """Return which program is called the fastest, if one is, and whether program 0 was dropped. `faster`: its
    advantage."""
    rng = np.random.default_rng(seed)
    drawn = noise(rng, programs * rounds)
    wall = np.empty((programs, rounds))
    position = np.empty((programs, rounds), dtype=np.int32)
    active, at, done = list(range(programs)), 0, 0
    race = Elimination(programs, ALPHA)
    for until in looks(rounds):
        for number in range(done, until):
            for program in rng.permutation(active):
                wall[program, number] = 0.01 * (drawn[at] - (faster if program == 0 else 0.0))
                position[program, number] = at
                at += 1
        done = until
        race.look([series[:done] for series in wall], [series[:done] for series in position], active, done / rounds)
        for program in [index for index in active if race.out(index)]:
            active.remove(program)
        if len(active) < 2:
            break
    return (active[0] if len(active) == 1 else None), race.out(0)


def rates(noise: Noise, programs: int, rounds: int, seeds: int) -> tuple[float, float, float]:
    """Return the shares of studies in which one of equal programs is called the fastest, and in which one that is
    faster is dropped, or found."""
    number = list(NOISES.values()).index(noise)
    equal = [study(noise, programs, rounds, 0.0, (number, rounds, seed)) for seed in range(seeds)]
    ahead = [study(noise, programs, rounds, 2.0, (number, rounds, seed, 1)) for seed in range(seeds)]
    called = sum(winner is not None for winner, _ in equal)
    return called / seeds, sum(out for _, out in ahead) / seeds, sum(winner == 0 for winner, _ in ahead) / seeds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100, help="studies of each noise")
    parser.add_argument("--programs", type=int, default=6)
    parser.add_argument("--quick", action="store_true", help="show that it works")
    parser.add_argument("--document", type=Path, help="put the table there, between its marks")
    chosen = parser.parse_args()
    seeds = 3 if chosen.quick else chosen.seeds
    print(f"{chosen.programs} programs, {seeds} studies of each.\n")
    head = ("Noise", "rounds", "equal: one called the fastest", "one ahead: put out", "one ahead: found")
    rows = []
    for name, noise in NOISES.items():
        for rounds in (4, 8, 60):
            shares = rates(noise, chosen.programs, rounds, seeds)
            rows.append([name, str(rounds), *(f"{100 * value:.1f} %" for value in shares)])
    text = table(head, rows)
    print(text)
    if chosen.document is not None:
        put(chosen.document, "fastest", text)


if __name__ == "__main__":
    main()
