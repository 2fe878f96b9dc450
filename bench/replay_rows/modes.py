"""Bimodality of coarse values: rounding is no mode, and true modes are found.

Raw values of 4,803 Go benchmarks of 230 projects, in the order of trials (Grambow, Laaber, Leitner & Bermbach 2021 use
the same data). https://github.com/sealuzh/benchmark-instability-prediction-replication-package at fa6202c, CC BY 4.0:

    DIR/go-benchmarks-30x/values.csv.gz         project;benchmark;params;141 107 141 …

Series of 40 values and more that are not constant. Rules were chosen on every other line. A series has no true modes
here where no value of its grid is found less than half as often as a smaller and a larger one that make up a tenth of
the series each. Hartigan's dip is the excess mass of the values as they are, for their number.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from becalm.stats.arrays import Floats
from becalm.stats.bimodality import LEVEL, bimodal, excess_mass, tail
from replay_rows.figures import Figure, Table, share

SOURCE = "sealuzh/benchmark-instability-prediction-replication-package at fa6202c"
LEAST, COARSE, DRAWS, SIZE = 40, 10, 200, 100
DEVIATIONS = (0.3, 0.5, 1.0, 2.0, 4.0, 10.0)
"""Standard deviations of simulated values in units of their rounding."""

SHAPES: tuple[tuple[str, Callable[[np.random.Generator], Floats]], ...] = (
    ("normal", lambda rng: rng.standard_normal(SIZE)),
    ("log-normal", lambda rng: np.exp(0.8 * rng.standard_normal(SIZE))),
    ("uniform", lambda rng: 3 * rng.random(SIZE)),
)


def read(data: Path) -> list[Floats]:
    """Return all series in the order of the file. Raises SystemExit where there are none."""
    path = data / "go-benchmarks-30x" / "values.csv.gz"
    if not path.is_file():
        raise SystemExit(f"There is no {path}; {SOURCE} has it.")
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()[2:]
    return [np.array(line.rpartition(";")[2].split(), np.float64) for line in lines]


def without_modes(values: Floats) -> bool:
    """Return whether no value of the grid is rare between two common ones."""
    distinct, counts = np.unique(values, return_counts=True)
    cells = np.rint((distinct - distinct[0]) / np.diff(distinct).min()).astype(int)
    grid = np.zeros(cells[-1] + 1)
    grid[cells] = counts
    sides = np.minimum(np.maximum.accumulate(grid), np.maximum.accumulate(grid[::-1])[::-1])
    return not bool(((sides >= len(values) / 10) & (grid < sides / 2)).any())


def dip(values: Floats) -> bool:
    """Return whether Hartigan's dip test calls a series bimodal at the level of becalm."""
    return tail(excess_mass(np.sort(values))[0], len(values)) < LEVEL


def becalm(values: Floats) -> bool:
    """Return whether becalm calls a series bimodal."""
    return bimodal(values).detected


RULES = (("becalm", becalm), ("Hartigan's dip", dip))


def replay(data: Path, quick: bool) -> list[Table]:
    """Return how often series of few different values, and simulated ones, are called bimodal."""
    lines = read(data)[: 200 if quick else None]
    long_lines = [(line, values) for line, values in enumerate(lines) if len(values) >= LEAST and np.ptp(values) > 0]
    coarse = [(line, values) for line, values in long_lines if len(np.unique(values)) <= COARSE]
    parts = {"choosing half": 0, "judging half": 1}
    rows = []
    for name, rule in RULES:
        for part, odd in parts.items():
            rows.append((f"{name}, {part}", _real([values for line, values in coarse if line % 2 == odd], rule)))
    draws = 20 if quick else DRAWS
    measures = ("called bimodal, without true modes", "with true modes")
    title = f"{len(coarse)} series of Go benchmarks with at most {COARSE} different values"
    return [Table(title, SOURCE, measures, tuple(rows)), _one_mode(draws), _two_modes(draws)]


def _real(series: Sequence[Floats], rule: Callable[[Floats], bool]) -> tuple[Figure, ...]:
    groups = [[values for values in series if without_modes(values) is single] for single in (True, False)]
    return tuple(share(sum(map(rule, group)), len(group)) for group in groups)


def _one_mode(draws: int) -> Table:
    rows = []
    for name, rule in RULES:
        cells = []
        for _, draw in SHAPES:
            rounded = [
                np.round(1000 + deviation * draw(np.random.default_rng([seed, round(10 * deviation)])))
                for deviation in DEVIATIONS
                for seed in range(draws)
            ]
            cells.append(share(sum(map(rule, rounded)), len(rounded)))
        rows.append((name, tuple(cells)))
    title = f"Called bimodal: {SIZE} values of one mode, rounded to a unit of 0.1 to 3.3 standard deviations"
    return Table(title, "simulated", tuple(name for name, _ in SHAPES), tuple(rows))


def _two_modes(draws: int) -> Table:
    units = (4.0, 2.0, 1.0, 0.5, 0.0)
    rows = []
    for name, rule in RULES:
        for apart in (6, 10):
            cells = []
            for unit in units:
                hits = 0
                for seed in range(draws):
                    rng = np.random.default_rng([seed, apart])
                    values = 1000 + rng.standard_normal(SIZE) + apart * (rng.random(SIZE) < 0.4)
                    hits += rule(np.round(values / unit) * unit if unit else values)
                cells.append(share(hits, draws))
            rows.append((f"{name}, modes {apart} apart", tuple(cells)))
    measures = tuple(f"unit of {unit:g}" if unit else "not rounded" for unit in units)
    return Table(f"Called bimodal: {SIZE} values, 40 % of them in a second mode, in standard deviations",
                 "simulated", measures, tuple(rows))  # fmt: skip
