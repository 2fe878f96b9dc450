"""Rounds in which everything runs once, in random order: the plan of a suite (docs/how-to/suite.md)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from becalm.nouns.run import Block, Step
from becalm.plans.run_log import RunLog


def rounds(
    log: RunLog, cells: Sequence[tuple[int, int]], warmed: Sequence[int], count: int, rng: np.random.Generator
) -> Block | None:
    """Return the next of `count` rounds, after one in which the cells at the positions `warmed` warm up.

    `cells`: the runs of a round, each a workload and its settings. Random numbers are drawn once per round, so that a
    seed gives the same order however often the log was filled again.
    """
    number = log.next_round
    if number is None:
        number = -1 if warmed else 0
    if number == count:
        return None
    positions = warmed if number < 0 else range(len(cells))
    order = [positions[index] for index in rng.permutation(len(positions))]
    return Block(tuple(Step(cells[index][0], cells[index][1], 0, number) for index in order))
