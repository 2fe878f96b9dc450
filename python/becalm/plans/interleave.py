"""Plans: what to run next, as a pure function of what has been measured and a random generator.

`StoppingRule` decides when enough has been measured; `interleave` makes the next block of randomly ordered rounds. The
measuring loop (`becalm.study.measure`) asks a plan for blocks until it returns None. A round runs every program once,
in random order and with one size of environment, so that drift, layout and position affect all programs alike.
Programs that cannot be the fastest may be retired: later rounds have only the others.
"""

from __future__ import annotations

import math

import numpy as np

from becalm.nouns.run import Block, Step
from becalm.nouns.stopping_rule import StoppingRule
from becalm.plans.history import History

LARGEST_PADDING = 4096
"""Largest padding of the environment, bytes: one page, the stack's offset within a page and a cache way (Mytkowicz
2009)."""

FIRST_BLOCK_NS = 200_000_000
LONGEST_BLOCK_NS = 2_000_000_000
LARGEST_BLOCK = 5_000

GROWTH = 0.2
"""Share of the time spent so far that a block takes: looks at the data are few and even on a log scale."""


def interleave(history: History, goal: StoppingRule, rng: np.random.Generator) -> Block:
    """Return the next block: warm-up rounds first, then as many random rounds as are useful before the next look."""
    left = goal.warmup - history.warmups // history.programs
    if left > 0:
        # A file from elsewhere may ask for any number of warm-ups.
        most = max(1, LARGEST_BLOCK // history.programs)
        return _draw(range(-left, min(most - left, 0)), history.programs, tuple(range(history.programs)), rng)
    numbers = range(history.next_round, history.next_round + next_rounds(history, goal))
    return _draw(numbers, history.programs, history.active, rng)


def _draw(numbers: range, programs: int, active: tuple[int, ...], rng: np.random.Generator) -> Block:
    """Return the rounds of these numbers. Each round draws its random numbers in turn, so that a seed gives the same
    rounds however they are divided into blocks; sorting uniform random numbers gives a uniformly random order.
    """
    uniform = rng.random((len(numbers), 1 + programs))
    table = np.zeros((len(numbers), len(active), 4), dtype=np.int64)
    table[:, :, 0] = np.array(active)[np.argsort(uniform[:, [1 + program for program in active]], axis=1)]
    table[:, :, 2] = (uniform[:, :1] * LARGEST_PADDING).astype(np.int64)
    table[:, :, 3] = np.array(numbers)[:, np.newaxis]
    return Block(tuple(map(Step._make, table.reshape(-1, 4).tolist())))


def next_rounds(history: History, goal: StoppingRule) -> int:
    """Return the number of rounds of the next block, whose time grows with the time spent, within limits."""
    if history.complete == 0:
        rounds = 1
        per_round_ns = math.inf
    else:
        per_round_ns = max(history.round_ns, 1.0)
        block_ns = min(max(FIRST_BLOCK_NS, GROWTH * history.elapsed_ns), LONGEST_BLOCK_NS)
        rounds = int(min(block_ns / per_round_ns, LARGEST_BLOCK / len(history.active)))
    if goal.budget_ns is not None and history.complete:
        rounds = min(rounds, round((goal.budget_ns - history.elapsed_ns) / per_round_ns))
    if goal.runs is not None:
        rounds = min(rounds, goal.runs - history.rounds)
    return max(rounds, 1)
