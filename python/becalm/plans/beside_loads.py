"""A designed experiment with load: one program, beside one known load after another (docs/how-to/explain.md).

Runs of round r are beside the load of step r; warm-ups, without any load, have negative rounds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from becalm.nouns.demand import Demand
from becalm.nouns.run import Block, Step
from becalm.plans.interleave import LARGEST_PADDING
from becalm.plans.run_log import RunLog

WARMUPS = 2
"""Unloaded runs first, not counted: caches fill, and the program's length becomes known."""

BLOCK_NS = 500_000_000
LARGEST_BLOCK = 20
"""Short programs are run several times beside one load, so that its counters have moved."""


def beside_loads(log: RunLog, loads: Sequence[Demand], rng: np.random.Generator) -> Block | None:
    """Return the runs with the next load: as many as the time that the warm-ups took leaves room for."""
    if not log.rows:
        return Block(tuple(_step(number - WARMUPS, rng) for number in range(WARMUPS)))
    number = log.rows[-1].round + 1
    if number == len(loads):
        return None
    warmups = [run for run in log.rows if run.warmup]
    each_ns = (warmups[-1].started_ns + warmups[-1].took_ns - warmups[0].started_ns) / len(warmups)
    repeat = int(min(max(BLOCK_NS / max(each_ns, 1.0), 1.0), LARGEST_BLOCK))
    load = loads[number]
    return Block(tuple(_step(number, rng) for _ in range(repeat)), beside=None if load.empty else load)


def _step(number: int, rng: np.random.Generator) -> Step:
    return Step(0, 0, int(rng.random() * LARGEST_PADDING), number)
