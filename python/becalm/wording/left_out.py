"""Sentences about entries of a file from which no value was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from becalm.wording.printable import one_line

NAMED = 6
"""The number of entries named in a sentence; the JSON has all of them."""


def left_out(program: str, n: Mapping[str, Any]) -> str:
    """Return the sentence about entries that were left out for one reason."""
    return f"Left out of {one_line(str(n.get('of') or 'the file'))}: {entries(n['entries'])}: {one_line(n['reason'])}."


def local_time(program: str, n: Mapping[str, Any]) -> str:
    """Return the sentence about dates without a time zone."""
    return (
        f"Dates in {one_line(str(n.get('of') or 'the file'))} have no time zone ({n['first']} is the first): they were "
        f"read as local time of this machine, UTC{n['offset']}. If they come from a machine elsewhere, "
        "import with its zone before the command, such as TZ=Europe/Berlin."
    )


def processors(program: str, n: Mapping[str, Any]) -> str:
    """Return the sentence about benchmarks that ran on another number of processors, as far as their names tell."""
    old_count, new_count = (
        f"{number} processors" if number else "an unknown number" for number in (n["old"], n["new"])
    )
    names = entries([(name, 1) for name in n["benchmarks"]])
    return (
        f"The numbers at the end of the names of {names} were read as numbers of processors, as Go writes them there: "
        f"the old ones ran on {old_count}, the new ones on {new_count}, which is another experiment. If the numbers "
        "belong to the names, these are different benchmarks."
    )


def entries(pairs: Sequence[Sequence[Any]]) -> str:
    """Return the names of entries, with the number of values where it is more than one."""
    names = [one_line(str(name)) + (f" ({count:,} values)" if count > 1 else "") for name, count in pairs[:NAMED]]
    more = len(pairs) - NAMED
    return ", ".join(names) + (f" and {more:,} more" if more > 0 else "")
