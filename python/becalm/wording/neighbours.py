"""Sentences on programs that were kept running beside others.

Public: trouble, of what the agent counted of one (docs/reference/protocol.md, `measure`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from becalm.wording.printable import one_line

OFTEN = 3
"""The number of short lives in a measurement that are no accident."""

MOSTLY_AWAY = 0.1
"""A neighbour that did not run for more than this share of the time was no steady one."""


def hardly_ran(did: Mapping[str, Any]) -> bool:
    """Return whether a neighbour ended at once again and again and pressed on nothing. `did`: as in `trouble`."""
    return bool(did["short"] >= OFTEN)


def trouble(name: str, program: str, did: Mapping[str, Any]) -> Iterator[str]:
    """Yield the failures of a neighbour; none where it just ran. `did`: in the agent's form."""
    name, program = one_line(name), one_line(program)
    if did["failures"]:
        how = f"exit code {did['status']}"
        if did["status"] is None:
            how = "it could not be started again"
        elif did["status"] < 0:
            how = f"signal {-did['status']}"
        yield (
            f"{name} failed while it was kept running beside {program} ({how}), and was started again: what was "
            "measured beside it is partly without it."
        )
    if hardly_ran(did):
        yield (
            f"{name} often ended within a millisecond of its start, and was started again more and more slowly: it is "
            f"no steady neighbour of {program}. Give it more to do."
        )
    elif not did["failures"] and did["kept_ns"] and did["away_ns"] > MOSTLY_AWAY * did["kept_ns"]:
        share = 100 * did["away_ns"] / did["kept_ns"]
        yield (
            f"{name} was away for {share:.0f} % of the time in which it was kept running beside {program}: it ends so "
            "often that starting it again shows. Give it more to do."
        )
