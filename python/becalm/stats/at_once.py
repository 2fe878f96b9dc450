"""Pairs of programs that ran at the same time, on two CPUs, and again with the CPUs exchanged.

A group is two rounds in which both programs start at once. Which of them runs on which CPU is a fair coin in the first
round, and exchanged in the second. Let x be the logarithm of the time on the second CPU less that on the first. Noise
that hits both CPUs alike is not in x. What is left, b, is how much slower the second CPU was at that moment, and

    x / 2 = b / 2 - theta / 2 + theta * [the candidate ran on the second CPU]

So x / 2 is to a group what the logarithm of a time is to a round of turns: a noise of any kind, and theta added in one
of two places that a fair coin has drawn. The estimator of `becalm.stats.paired` serves as it is, its random signs and
its neighbours too: a CPU that is slower all the time cancels, and one that becomes slower is taken off as a drift.
"""

from __future__ import annotations

import numpy as np

from becalm.stats.arrays import Floats, Ints
from becalm.stats.paired import NO_PAIRS, Pairs


def at_once_pairs(reference: Floats, candidate: Floats, side: Ints, number: Ints) -> Pairs:
    """Return a pair for each group.

    `reference`, `candidate`: natural logarithms of the times, shape (groups, 2), in the order of the two rounds.
    `side`: 1 where the candidate ran on the second CPU in the first round, else 0; `number`: of the group, increasing;
    both of shape (groups,).
    """
    if len(side) == 0:
        return NO_PAIRS
    half = (candidate - reference) / 2
    # x / 2 of the first and of the second round; the sign is that of the candidate's side.
    first = np.where(side == 1, half[:, 0], -half[:, 0])
    second = np.where(side == 1, -half[:, 1], half[:, 1])
    on_second = np.where(side == 1, first, second)
    on_first = np.where(side == 1, second, first)
    return Pairs.of(on_first, on_second, 2 * number + side, 2 * number + 1 - side)
