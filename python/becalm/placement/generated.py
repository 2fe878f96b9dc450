"""Random programs with the distribution of the known ones, and workloads of them, with the best sharing of each.

The logarithms of memory lines, times alone, CPI and sensitivity are drawn from the normal distribution with the means
and covariances of the known programs. Eleven programs have C(11, 8) = 165 workloads of eight, the number on which
Anderson (2013) trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from becalm.placement.model import Cache, Characterisation, Program, of_sets

FLOOR_LINES = 0.005
"""Half of the last digit of the known programs' lines, which stands for 0 in logarithms."""

FLOOR_SENSITIVITY = 0.0005

MOST_LINES = 100.0
"""The most memory lines per 1,000 instructions of a program, 6.4 bytes per instruction; above, it is drawn again."""

MOST_RATE = 60.0
"""The most lines per 1,000 cycles, likewise: 12 GB/s alone, as many as the most demanding known program."""

PROGRAMS, TASKS, ROOM = 11, 8, 4


def drawn(known: Characterisation, count: int, random: np.random.Generator) -> tuple[Program, ...]:
    """Return `count` programs, drawn at random."""
    rows = np.log(
        [
            (max(program.lines, FLOOR_LINES), program.solo_s, program.cpi, max(program.sensitivity, FLOOR_SENSITIVITY))
            for program in known.programs
        ]
    )
    mean, covariance = rows.mean(axis=0), np.cov(rows, rowvar=False)
    programs: list[Program] = []
    while len(programs) < count:
        lines, solo_s, cpi, sensitivity = (
            float(value) for value in np.exp(random.multivariate_normal(mean, covariance))
        )
        # The shares of the loss with the smallest part of the cache that remain with twice and four times this part.
        seven, fourteen = random.uniform(0.1, 0.65), random.uniform(0.0, 0.65)
        if lines <= MOST_LINES and lines / cpi <= MOST_RATE:
            curve = (
                (3.5, 1 + sensitivity), (7.0, 1 + sensitivity * seven), (14.0, 1 + sensitivity * seven * fourteen),
            )  # fmt: skip
            programs.append(Program(f"task {len(programs) + 1}", cpi, lines, lines, solo_s, curve))
    return tuple(programs)


@dataclass(frozen=True)
class Generated:
    """Programs, and every workload of eight of them on two chips of four."""

    programs: tuple[Program, ...]
    cache: Cache

    @cached_property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        """All sets of four programs."""
        return tuple(combinations(range(len(self.programs)), ROOM))

    @cached_property
    def lost(self) -> NDArray[np.float64]:
        """The losses of the members of each set (row)."""
        return of_sets(self.programs, self.sets, self.cache)

    @cached_property
    def workloads(self) -> tuple[tuple[int, ...], ...]:
        """All sets of eight programs, each sorted by memory lines, most first."""
        order = sorted(range(len(self.programs)), key=lambda program: -self.programs[program].lines)
        return tuple(combinations(order, TASKS))

    @cached_property
    def _worth(self) -> dict[tuple[int, ...], float]:
        return {members: float(lost) for members, lost in zip(self.sets, self.lost.sum(axis=1), strict=True)}

    def worth(self, workload: Sequence[int], first: Sequence[int]) -> float:
        """Return the mean degradation of a workload if the tasks `first` share one chip and the others the second."""
        rest = set(workload) - set(first)
        return (self._worth[tuple(sorted(first))] + self._worth[tuple(sorted(rest))]) / len(workload)

    def best(self, workload: Sequence[int]) -> tuple[int, ...]:
        """Return the tasks on the chip of the first task in the best sharing."""
        first, rest = workload[0], workload[1:]
        return min(
            ((first, *others) for others in combinations(rest, ROOM - 1)), key=lambda four: self.worth(workload, four)
        )


def distributed(workload: Sequence[int]) -> tuple[int, ...]:
    """Return DI's choice of the tasks on the chip of the first one: ranks 1, 8, 3, 6 of tasks sorted by pressure."""
    return (workload[0], workload[7], workload[2], workload[5])
