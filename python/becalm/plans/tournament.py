"""Pairs of several programs that run at once: rounds of a tournament, each pair once, in random order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

Pair = tuple[int, int]


def tournament(programs: int, rng: np.random.Generator) -> Iterator[Pair]:
    """Yield pairs without end: all pairs once, then all again in another order, and so on.

    Programs are assigned to places at random, and places meet by the circle method (Kirkman 1847, Cambridge and Dublin
    Math. J. 2:191): in each part of a tournament every program runs once, except one that rests if their number is odd.
    So at any time two programs have run about equally often, and any two pairs equally often to within one.
    Raises ValueError for fewer than two programs.
    """
    if programs < 2:
        raise ValueError(f"Pairs need two programs; there are {programs}.")
    return _pairs(programs, rng)


def _pairs(programs: int, rng: np.random.Generator) -> Iterator[Pair]:
    while True:
        order = [int(program) for program in rng.permutation(programs)]
        places: list[int | None] = [*order, *([None] if programs % 2 else [])]
        last = len(places) - 1
        for turn in rng.permutation(last):
            circle = [places[0], *(places[1 + (place + int(turn)) % last] for place in range(last))]
            meetings = [(circle[place], circle[last - place]) for place in range(len(places) // 2)]
            for place in rng.permutation(len(meetings)):
                first, second = meetings[place]
                if first is not None and second is not None:
                    yield (first, second) if first < second else (second, first)
