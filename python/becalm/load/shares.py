"""The largest parts of an amount that several processes share: single processes, else names, else control groups.

Public: ByteShare, largest, amount, byte_shares.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from becalm.load.others import ProcessUse
from becalm.load.waits import LEVELS, Level
from becalm.stats.culprits import LEAST


class ByteShare(msgspec.Struct, frozen=True):
    """A process, or several of one name or control group, with its bytes and its share of all bytes.

    `pid`: None for several processes; `count`: their number.
    """

    level: Level
    name: str
    pid: int | None
    group: str
    count: int
    size_bytes: int
    share: float


def amount(uses: Sequence[ProcessUse]) -> float:
    """Return the sum of what processes took."""
    return float(sum(use.amount for use in uses))


def largest(uses: Sequence[ProcessUse], least: float) -> tuple[Level, list[list[ProcessUse]]]:
    """Return those with at least an amount, the most first: processes, or names or control groups if no process has it.

    The list is empty where nobody has it.
    """
    for level, key in LEVELS:
        together: dict[object, list[ProcessUse]] = {}
        for use in uses:
            together.setdefault(key(use), []).append(use)
        if named := [own for own in together.values() if amount(own) >= least > 0]:
            return level, sorted(named, key=amount, reverse=True)
    return Level.GROUP, []


def byte_shares(uses: Sequence[ProcessUse], whole: float) -> tuple[ByteShare, ...]:
    """Return those with a fifth of all bytes or more."""
    level, named = largest(uses, LEAST * whole)
    return tuple(_share(level, own, whole) for own in named)


def _share(level: Level, uses: Sequence[ProcessUse], whole: float) -> ByteShare:
    name, group, pids = identity(uses)
    taken = amount(uses)
    return ByteShare(level, name, pids[0] if len(pids) == 1 else None, group, len(pids), int(taken), taken / whole)


def identity(uses: Sequence[ProcessUse]) -> tuple[str, str, list[int | None]]:
    """Return what processes have in common: name (else the group's), control group (else none), and their numbers."""
    pids = list(dict.fromkeys(use.pid for use in uses))
    groups, names = {use.group for use in uses}, {use.name for use in uses}
    group = groups.pop() if len(groups) == 1 else ""
    return names.pop() if len(names) == 1 else group, group, pids
