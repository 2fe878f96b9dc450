"""Sentences of findings on what else the machine did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from becalm.wording.measurement import percent

Numbers = Mapping[str, Any]

NAMED_ROUNDS = 8
"""Rounds that a sentence lists."""


def contaminated(program: str, n: Numbers) -> str:
    """Rounds during which the machine was not quiet; `dropped`: they were left out, as was asked for beforehand."""
    rounds, complete, counts = n["rounds"], n["complete"], n["measures"]
    beyond = ", ".join(
        f"{_LIMITS[measure](most)} in {counts[measure]:,}"
        for measure, most in n["limits"].items()
        if counts.get(measure)
    )
    first = ", ".join(map(str, rounds[:NAMED_ROUNDS]))
    more = ", …" if len(rounds) > NAMED_ROUNDS else ""
    every = len(rounds) == complete > 1
    head, which = (
        (f"All {complete:,}", "") if every else (f"{len(rounds):,} of {complete:,}", f"; rounds {first}{more}")
    )
    said = f"{head} rounds were contaminated by other load ({beyond}{which})"
    if n["dropped"]:
        return f"{said}. They are left out by the rule {n['rule']}, for all programs; {complete - len(rounds):,} count."
    said += ". They are kept and counted. `becalm explain` says what it did"
    return f"{said}." if every else f"{said}; --drop-contaminated '{n['rule']}' leaves such rounds out."


def contamination_unknown(program: str, n: Numbers) -> str:
    """Rounds of which a rule cannot say whether they were contaminated: what it needs is not known."""
    rounds, complete = n["rounds"], n["complete"]
    what = ", ".join(f"{measure} in {count:,}" for measure, count in n["measures"].items())
    said = (
        f"Of {len(rounds):,} of {complete:,} rounds it is not known whether they were contaminated by the rule "
        f"{n['rule']}: this machine's record lacks {what}"
    )
    if n["dropped"]:
        return f"{said}. They are left out (--unknown-contamination drop)."
    return f"{said}. They are kept and counted; --unknown-contamination drop leaves them out."


_LIMITS: Mapping[str, Callable[[float], str]] = {
    "cpu": lambda most: f"others used more than {percent(most, 0.1)} % of the CPUs",
    "queue": lambda most: f"more than {most:g} runnable tasks a CPU",
    "steal": lambda most: f"more than {percent(most, 0.1)} % stolen",
    "page-outs": lambda most: f"more than {most:g} MiB/s paged out",
}


def no_load(program: str, n: Numbers) -> str:
    """A study that explains nothing."""
    return (
        f"Study {n['study']} has no record of load: it was made with --no-load, by an older becalm or by another tool. "
        "Measure again to explain: becalm run -- COMMAND, then becalm explain."
    )


def no_delay(program: str, n: Numbers) -> str:
    """A program without a delay."""
    return f"{program} on {n['machine']}: its runs hold no CPU time and none was unloaded, so no delay can be computed."
