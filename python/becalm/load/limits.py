"""Limits for network errors and for repeated NFS calls, beyond which something is broken rather than busy.

Pure functions: loads in, `Beyond` values out; an unknown count is not evidence and not zero.

Public: Limit, Beyond, LIMITS, beyond.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from becalm.load.record import Load

FEWEST = 3
"""The number of events below which no share is reported: a single lost packet is not a fault."""


class Limit(msgspec.Struct, frozen=True):
    """The largest share `most` of the events `of` that may end as `events`: both are columns of Load.

    `kind`: the kind of the finding.
    """

    kind: str
    events: str
    of: str
    most: float


LIMITS = (
    # Loukides 1990, System Performance Tuning: errors of an interface belong below a fortieth of a per cent. Collisions
    # are among them, of which a shared medium has up to 5 % (Hunt 2002, TCP/IP Network Administration, 13.4): the limit
    # is for switched networks, which have none.
    Limit("network_errors", "net_errors", "net_packets", 0.00025),
    # Stern, Eisler & Labiaga 2001, Managing NFS and NIS, 18.1: from one call in twenty on, look for the loss.
    Limit("nfs_retransmissions", "nfs_retransmissions", "nfs_calls", 0.05),
)


class Beyond(msgspec.Struct, frozen=True):
    """A number of `events` among `of` that is more than the limit allows."""

    limit: Limit
    events: int
    of: int


def beyond(loads: Sequence[Load], limits: Sequence[Limit] = LIMITS) -> list[Beyond]:
    """Return the limits that the loads together exceed. Loads in which either count is unknown are left out."""
    beyonds = []
    for limit in limits:
        pairs = [(getattr(load, limit.events), getattr(load, limit.of)) for load in loads]
        known = [(events, of) for events, of in pairs if events is not None and of is not None]
        events, of = (sum(column) for column in zip(*known, strict=True)) if known else (0, 0)
        if events >= FEWEST and events > limit.most * of:
            beyonds.append(Beyond(limit, int(events), int(of)))
    return beyonds
