"""Pairs of programs that ran at the same time on two CPUs, and again with the CPUs exchanged.

A group is two rounds in which both programs start at once. A fair coin decides which of them runs on which CPU in the
first round; the second exchanges them. Let x be the logarithm of the time on the second CPU less that on the first.
Noise that affects both CPUs alike cancels in x. The rest, b, is how much slower the second CPU was at that moment, and

x / 2 = b / 2 - theta / 2 + theta * [the candidate ran on the second CPU]

So x / 2 has the same form as the logarithm of a time in a round of turns: noise of any kind, with theta added in one of
two places that a fair coin has drawn. The estimator of `becalm.stats.paired` applies unchanged, with its random signs
and its neighbours: a CPU that is always slower cancels, and one that becomes slower is subtracted as drift.
"""

from __future__ import annotations

import numpy as np

from becalm.stats.arrays import Floats, Ints
from becalm.stats.paired import NO_PAIRS, PairedDifferences


def at_once_pairs(reference: Floats, candidate: Floats, side: Ints, number: Ints) -> PairedDifferences:
    """Return a pair for each group.

    `reference`, `candidate`: natural logarithms of the times, shape (groups, 2), in the order of the two rounds.
    `side`: 1 where the candidate ran on the second CPU in the first round, else 0; `number`: the number of the group,
    increasing; both of shape (groups,).
    """
    if len(side) == 0:
        return NO_PAIRS
    half = (candidate - reference) / 2
    # x / 2 of the first and of the second round; the sign is that of the candidate's side.
    first = np.where(side == 1, half[:, 0], -half[:, 0])
    second = np.where(side == 1, -half[:, 1], half[:, 1])
    on_second = np.where(side == 1, first, second)
    on_first = np.where(side == 1, second, first)
    return PairedDifferences.of(on_first, on_second, 2 * number + side, 2 * number + 1 - side)


def tournament_pairs(log_wall: Floats, rounds: Ints, meetings: Ints, programs: tuple[int, int]) -> PairedDifferences:
    """Return a pair for each tournament of several programs: the difference of two of them by least squares.

    `log_wall`: natural logarithms of the times, shape (programs, rounds of the study). `rounds`: positions of the
    rounds of each tournament, shape (tournaments, 2 * parts); `meetings`: the two programs of each meeting, shape
    (tournaments, parts, meetings, 2). `programs`: the reference and the candidate.

    Each of k programs meets each other one once, with the same variance. Then the least squares estimate of a program's
    log time is the mean of its differences from all programs (itself included), and the estimated difference of two
    programs has 2 / k of the variance of their own meeting's difference. In each meeting noise is added in one of two
    places that a coin has drawn, so the noise of the whole tournament has a random sign, too.
    """
    if len(rounds) == 0:
        return NO_PAIRS
    count, tournaments = len(log_wall), np.arange(len(rounds))[:, np.newaxis, np.newaxis]
    first, second = meetings[..., 0], meetings[..., 1]
    # The mean of both rounds of a part, in which the programs of a meeting have run on both CPUs.
    halves = [
        log_wall[second, rounds[:, place::2, np.newaxis]] - log_wall[first, rounds[:, place::2, np.newaxis]]
        for place in (0, 1)
    ]
    difference = (halves[0] + halves[1]) / 2
    level = np.zeros((len(rounds), count))
    np.add.at(level, (tournaments, second), difference / count)
    np.add.at(level, (tournaments, first), -difference / count)
    nothing = np.zeros(len(rounds))
    return PairedDifferences(level[:, programs[1]] - level[:, programs[0]], nothing, nothing)
