"""One program repeated for a fixed time, in blocks of a fixed length: the plan of the kernel that `doctor` runs."""

from __future__ import annotations

from becalm.nouns.run import Block, Step
from becalm.plans.history import History

WARMUPS = 10

BLOCK_NS = 500_000_000
"""Half a second per block, so that the progress display moves and pauses between blocks stay rare."""


def timed(history: History, budget_ns: float, run_ns: float) -> Block | None:
    """Return the next block, with runs that take about `run_ns` each; None when the time is used up."""
    if history.next_seq == 0:
        return Block(tuple(Step(0, 0, 0, number - WARMUPS) for number in range(WARMUPS)))
    left_ns = budget_ns - history.elapsed_ns
    if left_ns <= 0:
        return None
    size = max(1, round(min(left_ns, BLOCK_NS) / run_ns))
    return Block(tuple(Step(0, 0, 0, history.next_round + index) for index in range(size)))
