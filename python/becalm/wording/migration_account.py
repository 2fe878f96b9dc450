"""Sentences about what moves cost at sweet spots and elsewhere."""

from __future__ import annotations

from becalm.migration.account import Accounted, Mean
from becalm.wording.measurement import counted, duration

WHY = {
    "spot": "at a spot", "not_worth_waiting": "not worth waiting", "waited_enough": "waited enough",
    "hard_limit": "at the limit", "unknown": "not known", "ended": "ended before",
}  # fmt: skip
"""Why those that were to wait were moved when they were."""


def sentence(found: Accounted) -> str:
    """Whether waiting for sweet spots gains anything."""
    gain, cost = found.gain("time_ns"), found.cost("random", "time_ns")
    where = f"{'within its' if found.to == 'same' else 'to another'} last-level cache"
    moved = f"{counted(len(found.trials), 'move')} of {found.words} {where}"
    if gain.sure and gain.value > 0:
        spots = time(found.cost("spot", "time_ns"))
        return (
            f"Waiting for sweet spots gains {time(gain)} a move: {moved} cost {spots} each instead of {time(cost)} at "
            "random moments."
        )
    if gain.sure:
        lost = time(Mean(-gain.value, gain.half))
        return f"Waiting for sweet spots loses {lost} a move: {moved} cost {time(cost)} each at random moments."
    if all(each.why != "spot" for each in found.trials):
        return (
            f"Nothing to gain by waiting for sweet spots: of {moved}, which cost {time(cost)} each at random moments, "
            "none came to be made at one."
        )
    bound = gain.value + gain.half
    return (
        f"Nothing to gain by waiting for sweet spots: {moved} cost {time(cost)} each at random moments, and a gain "
        f"above {duration(max(0.0, bound))} would have been seen."
    )


def whys(found: Accounted) -> str:
    """What became of those that were to wait."""
    many = {why: sum(each.why == why for each in found.trials) for why in WHY}
    said = ", ".join(f"{count} {WHY[why]}" for why, count in many.items() if count)
    waited = sum(each.waited_ns for each in found.trials) / len(found.trials)
    return (
        f"Of those that waited: {said}; {duration(waited)} in the mean. Rules: {found.rules}, p = {found.reuse:g}, "
        f"windows of {duration(found.window_ns)}. Without the direct cost of a switch; ± is half of a 95 % interval."
    )


def time(mean: Mean) -> str:
    """A time with its interval."""
    return f"{duration(mean.value)} ± {duration(mean.half)}"


def count(mean: Mean) -> str:
    """A count with its interval."""
    return f"{mean.value:,.0f} ± {mean.half:,.0f}"
