"""Sentences about what moves cost at sweet spots and elsewhere."""

from __future__ import annotations

import math

from becalm.migration.account import Accounted, Mean
from becalm.migration.live_account import LiveAccounted, RelativeEffect
from becalm.wording.numbers import counted, duration

WHY = {
    "spot": "at a sweet spot", "not_worth_waiting": "not worth waiting", "waited_enough": "waited enough",
    "hard_limit": "at the limit", "unknown": "not known", "ended": "ended before",
}  # fmt: skip
"""The reasons for which waiting tasks were moved."""


def sentence(accounted: Accounted) -> str:
    """Return the sentence on whether waiting for sweet spots gains anything."""
    gain, cost = accounted.gain("time_ns"), accounted.cost("random", "time_ns")
    where = f"{'within its' if accounted.to == 'same' else 'to another'} last-level cache"
    moved = f"{counted(len(accounted.trials), 'move')} of {accounted.program} {where}"
    if gain.sure and gain.value > 0:
        spots = time(accounted.cost("spot", "time_ns"))
        return (
            f"Waiting for sweet spots gains {time(gain)} a move: {moved} cost {spots} each instead of {time(cost)} at "
            "random moments."
        )
    if gain.sure:
        lost = time(Mean(-gain.value, gain.half))
        return f"Waiting for sweet spots loses {lost} a move: {moved} cost {time(cost)} each at random moments."
    if all(trial.why != "spot" for trial in accounted.trials):
        return (
            f"Nothing to gain by waiting for sweet spots: of {moved}, which cost {time(cost)} each at random moments, "
            "none was made at one."
        )
    bound = gain.value + gain.half
    return (
        f"Nothing to gain by waiting for sweet spots: {moved} cost {time(cost)} each at random moments, and a gain "
        f"above {duration(max(0.0, bound))} would have been seen."
    )


def whys(accounted: Accounted) -> str:
    """Return how often the waiting moves were made for each reason, with their mean wait, and the rules."""
    counts = {why: sum(trial.why == why for trial in accounted.trials) for why in WHY}
    reasons = ", ".join(f"{count} {WHY[why]}" for why, count in counts.items() if count)
    waited = sum(trial.waited_ns for trial in accounted.trials) / len(accounted.trials)
    return (
        f"Moves that waited: {reasons}; mean wait {duration(waited)}. Rules: {accounted.rules}, p = "
        f"{accounted.reuse:g}, "
        f"windows of {duration(accounted.window_ns)}. The direct cost of a switch is not included; ± is half "
        "of a 95 % interval."
    )


def time(mean: Mean) -> str:
    """Return a time with half its interval, such as "12 µs ± 3 µs"."""
    return f"{duration(mean.value)} ± {duration(mean.half)}"


def count(mean: Mean) -> str:
    """Return a count with half its interval, such as "1,200 ± 30"."""
    return f"{mean.value:,.0f} ± {mean.half:,.0f}"


FINE = 0.1
"""The share below which percentages have two decimal places."""

LIVE_WHY = {**WHY, "asked": "at the drawn moment", "not_moved": "not moved, because the program had ended"}


def too_short(length_ns: int, least_ns: int) -> str:
    """Return the sentence about a program that ends before a move of it could be assessed."""
    return (
        f"The command runs for {duration(length_ns)}. becalm must first learn what is usual for it, so it has to run "
        f"for {duration(least_ns)}: give it more to do, or take a shorter --window."
    )


def share(effect: RelativeEffect | None) -> str:
    """Return an effect as a percentage, with its interval."""
    if effect is None:
        return "not known"
    if not known(effect):
        return f"{100 * effect.value:+.1f} % (not known)"
    ends = (effect.value, effect.low, effect.high)
    places = 2 if max(map(abs, ends)) < FINE else 1
    value, low, high = (f"{100 * end:+.{places}f}" for end in ends)
    return f"{value} % ({low} to {high})"


def known(effect: RelativeEffect) -> bool:
    """Return whether the interval of an effect ends on both sides."""
    return math.isfinite(effect.low) and math.isfinite(effect.high)


def live_sentence(accounted: LiveAccounted) -> str:
    """Return the sentence on whether waiting for sweet spots gains anything, by wall time."""
    waiting, moved = accounted.effect("waiting", "wall_ns"), accounted.effect("random", "wall_ns")
    rounds = counted(len(accounted.rounds), "round")
    cost = f"moves at random moments change the program's time by {share(moved)}"
    if waiting is None or not known(waiting):
        return f"{rounds} say nothing about waiting for sweet spots: {cost}."
    if waiting.high < 0:
        return f"Waiting for sweet spots gains: the program's time changes by {share(waiting)} in {rounds}; {cost}."
    if waiting.low > 0:
        return f"Waiting for sweet spots loses: the program's time changes by {share(waiting)} in {rounds}; {cost}."
    none = "" if "spot" in accounted.whys(2) else ", and no move was made at one"
    return (
        f"Nothing to gain by waiting for sweet spots in {rounds}: {cost}{none}. A gain above "
        f"{max(0.0, -100 * waiting.low):.2f} % is ruled out."
    )


def live_lines(accounted: LiveAccounted) -> list[str]:
    """Return lines with the outcomes of the moves, the events that were counted, and the remarks."""
    lines = []
    for arm, words in ((1, "At random moments"), (2, "At sweet spots")):
        reasons = ", ".join(f"{many} {LIVE_WHY.get(why, why)}" for why, many in accounted.whys(arm).items())
        lines.append(f"{words}: {reasons}.")
    waited = [round_.waited_ns[2] for round_ in accounted.rounds]
    where = {"same": "within its last-level cache", "other": "to another last-level cache", None: "anywhere else"}
    return [
        *lines,
        f"The mean wait was {duration(sum(waited) / len(waited))}; each move went {where[accounted.to]}, "
        f"to the least loaded CPU. Counted: {accounted.counted}; rules: {accounted.rules}, windows of "
        f"{duration(accounted.window_ns)}, "
        f"limit {duration(accounted.limit_ns)}. The three intervals of a column hold together at 95 %.",
        *accounted.remarks,
    ]
