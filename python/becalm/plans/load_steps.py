"""The plan of an experiment with controlled load: one program, next to one known load after another
(docs/how-to/explain.md).

The runs of round r have the load of step r next to them; warm-ups have no load and negative round numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from becalm.nouns.demand import Demand
from becalm.nouns.run import Block, Step
from becalm.plans.interleave import LARGEST_PADDING
from becalm.plans.run_log import RunLog

WARMUPS = 2
"""Runs without load at the beginning, not counted: they fill caches and show how long the program takes."""

BLOCK_NS = 500_000_000
LARGEST_BLOCK = 20
"""The most runs of a short program next to one load: several are needed before the load's counters move."""


def load_steps(log: RunLog, loads: Sequence[Demand], rng: np.random.Generator) -> Block | None:
    """Return the block for the next load: as many runs as fit into `BLOCK_NS`, judged by the time of the warm-ups."""
    if not log.rows:
        return Block(tuple(_step(number - WARMUPS, rng) for number in range(WARMUPS)))
    number = log.rows[-1].round + 1
    if number == len(loads):
        return None
    warmups = [run for run in log.rows if run.warmup]
    run_ns = (warmups[-1].started_ns + warmups[-1].took_ns - warmups[0].started_ns) / len(warmups)
    repeat = int(min(max(BLOCK_NS / max(run_ns, 1.0), 1.0), LARGEST_BLOCK))
    load = loads[number]
    return Block(tuple(_step(number, rng) for _ in range(repeat)), alongside=None if load.empty else load)


def _step(number: int, rng: np.random.Generator) -> Step:
    return Step(0, 0, int(rng.random() * LARGEST_PADDING), number)
