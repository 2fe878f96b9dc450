"""Sentences about programs that were kept running next to others.

Public: trouble, hardly_ran; both read what the agent counted of a neighbour (docs/reference/protocol.md, `measure`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from becalm.wording.printable import one_line

OFTEN = 3
"""The number of short lives in a measurement that cannot be chance."""

MOSTLY_AWAY = 0.1
"""The share of the time above which a neighbour was away too long to count as steady."""


def hardly_ran(counts: Mapping[str, Any]) -> bool:
    """Return whether a neighbour ended at once again and again and loaded nothing. `counts`: as in `trouble`."""
    return bool(counts["short"] >= OFTEN)


def trouble(name: str, program: str, counts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the failures of a neighbour; none where it just ran. `counts`: in the agent's form."""
    name, program = one_line(name), one_line(program)
    if counts["failures"]:
        how = f"exit code {counts['status']}"
        if counts["status"] is None:
            how = "it could not be started again"
        elif counts["status"] < 0:
            how = f"signal {-counts['status']}"
        yield (
            f"{name} failed while it ran next to {program} ({how}), and was started again: some of "
            "the measurements next to it are partly without it."
        )
    if hardly_ran(counts):
        yield (
            f"{name} often ended within a millisecond of its start, and was started again more and more slowly: it is "
            f"not a steady neighbour of {program}. Give it more to do."
        )
    elif not counts["failures"] and counts["kept_ns"] and counts["away_ns"] > MOSTLY_AWAY * counts["kept_ns"]:
        share = 100 * counts["away_ns"] / counts["kept_ns"]
        yield (
            f"{name} did not run for {share:.0f} % of the time in which it was to run next to {program}: it ends so "
            "often that restarting it takes this long. Give it more to do."
        )
