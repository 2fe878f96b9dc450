"""Loops of several runs in a row, each program in turn and the programs in random order: the plan of a survey."""

from __future__ import annotations

import numpy as np

from becalm.nouns.run import Block, Step
from becalm.plans.history import History


def loops(history: History, count: int, runs: int, warmups: int, rng: np.random.Generator) -> Block | None:
    """Return the next of `count` loops, with `runs` runs of each program, after a loop of `warmups` runs."""
    if history.next_seq == 0 and warmups:
        numbers = range(-warmups, 0)
    elif history.next_round >= count * runs:
        return None
    else:
        numbers = range(history.next_round, history.next_round + runs)
    order = rng.permutation(history.programs)
    return Block(tuple(Step(int(program), 0, 0, number) for program in order for number in numbers))
