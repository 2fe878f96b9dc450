"""Sentences of findings on whether programs were measured at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from becalm.wording.numbers import counted, percent

Numbers = Mapping[str, Any]

CLEAR = 3
"""The number of standard errors from which a slowdown is shown."""

ENOUGH = 12
"""The rounds in turns from which their error shows whether the difference changes when programs run at once."""

VAGUE = 0.1
"""The bound of a slowdown, a fraction, above which it says little."""

BACK = {
    "few": "too few runs fit in the time to find out whether running both at the same time tells more",
    "slowed": "they slow each other down when they run at the same time",
    "changed": "a difference between them changes when they run at the same time",
    "wide": "one of them uses more than one CPU",
    "failed": "one of them failed when both ran at the same time",
    "machine": "the confirmed programs differ in settings of the machine, which apply to all that run at the same time",
}
"""Reasons to return to turns (`becalm.plans.schedule.BackToTurns`)."""


def alongside(program: str, n: Numbers) -> str:
    """Return the sentences about programs that ran at the same time."""
    where = f"Measured alongside each other on CPUs {n['cpus'][0]} and {n['cpus'][1]}"
    parts = [f"{where}: {_slowed(n['slowdowns'], n['slowdown_error'])}."]
    if n["starts"]:
        parts.append(f"{n['near']:,} of {counted(n['starts'], 'pair')} started within 20 µs.")
    change, error = n["change"], n["change_error"]
    if n["turns"] >= ENOUGH and change is not None and error is not None and abs(change) > CLEAR * error:
        subject = "Their difference is" if len(n["slowdowns"]) == 2 else "A difference is up to"
        parts.append(
            f"{subject} {percent(abs(change))} % away from that in turns, so it holds only when they run alongside "
            "each other."
        )
    if n["most_cpus"] > 1.1:
        parts.append(f"By itself a program used {n['most_cpus']:.1f} CPUs, and here it had one: use --schedule turns.")
    return " ".join(parts)


def _slowed(slowdowns: list[float | None], error: float | None) -> str:
    """Return the clause on how much programs slowed each other."""
    known = [slowdown for slowdown in slowdowns if slowdown is not None]
    if len(known) < len(slowdowns) or error is None:
        return "too few runs in turns tell whether that slowed them"
    least, most = max(min(known), 0.0), max(known)
    if most <= max(CLEAR * error, 0.0):
        bound = max(most, 0.0) + 2 * error
        if bound > VAGUE:
            return f"it is not known whether that slowed them; if so, by less than {percent(bound)} %"
        none = "neither" if len(known) == 2 else "none"
        return f"{none} was slowed by more than {percent(bound)} %"
    if most - min(known) <= CLEAR * error:
        return f"each was slowed by {percent(sum(known) / len(known))} %"
    if len(known) > 2:
        return f"they were slowed by {percent(least)} % to {percent(most)} %"
    return f"the first was slowed by {percent(max(known[0], 0.0))} %, the second by {percent(max(known[1], 0.0))} %"


def confirmed_alongside(program: str, n: Numbers) -> str:
    """Return the sentence about a confirmation whose programs ran at the same time."""
    where = f"Confirmed alongside each other on CPUs {n['cpus'][0]} and {n['cpus'][1]}"
    return f"{where}: {counted(n['starts'], 'pair')}, of which {n['near']:,} started within 20 µs."


def turns(program: str, n: Numbers) -> str:
    """Return the sentence about programs that ran in turns although both schedules were allowed."""
    return f"The programs took turns: {BACK.get(n['reason'], n['reason'])}."
