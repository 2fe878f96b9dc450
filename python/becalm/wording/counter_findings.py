"""Sentences of findings on what the processor counted: more instructions, or slower ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from becalm.wording.numbers import percent

Numbers = Mapping[str, Any]


def counted(program: str, n: Numbers) -> str:
    """Return the sentence on what counted the instructions, and what the counts mean."""
    if n["callgrind"]:
        return (
            "Instructions were counted by callgrind, since the processor has no counter for them here: the counts are "
            "exact, but no measure of time, as one instruction may take a hundred times as long as another."
        )
    return "Instructions were counted by the processor. They are no measure of time: some take longer than others."


def instructions(program: str, n: Numbers) -> str:
    """Return the sentence on whether a difference is one of work or of the speed of the work."""
    (more, far), (rate, low) = (_known(n[which]) for which in ("instructions", "rate"))
    level, ref = f"{100 * n['confidence']:g} %", n["reference"]
    if more is None or rate is None:
        return f"Too few pairs to tell whether {program} executes more instructions than {ref}, or slower ones."
    work, speed = f"{_amount(more, far)} instructions", _amount(rate, low)
    if more == 0 and rate == 0:
        return (
            f"{program} executes as many instructions as {ref}, and as many per cycle: no difference above "
            f"{percent(max(far, low))} % in either ({level})."
        )
    if more and not rate:
        meaning = "it does more work" if more > 0 else "it does less work"
        body = f"{program} executes {work} than {ref} and {speed} per cycle: {meaning}, at the same speed"
    elif rate and not more:
        meaning = "each instruction takes longer" if rate < 0 else "each instruction takes less time"
        body = f"{program} executes {work} as {ref} and {speed} per cycle: the same work, and {meaning}"
    else:
        body = f"{program} executes {work} than {ref} and {speed} per cycle"
        body += ": more work, and slower" if more > 0 > rate else ": less work, and faster" if more < 0 < rate else ""
    hint = " Branch misses and cache misses next to them may say why." if rate < 0 else ""
    return f"{body} ({level}).{hint}"


def _known(ends: Sequence[float | None]) -> tuple[float | None, float]:
    """Return the estimate and the reach of its interval; 0 where no difference is shown, None if unknown."""
    estimate, low, high = ends
    if estimate is None or low is None or high is None:
        return None, 0.0
    if low <= 0 <= high:
        return 0.0, max(abs(low), abs(high))
    return estimate, (high - low) / 2


def _amount(value: float, half: float) -> str:
    if value == 0:
        return "as many"
    return f"{percent(abs(value), half)} % {'more' if value > 0 else 'fewer'}"
