"""Hosts whose machine can be watched: those with an agent. Simulated ones have no load of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

from becalm.errors import UsageError
from becalm.hosts import Host
from becalm.load.live import Reading


@runtime_checkable
class Watchable(Protocol):
    """What a watcher needs of a host (docs/reference/protocol.md: `read`, `follow`, `stop`)."""

    name: str

    def facts(self) -> dict[str, Any]:
        """What the machine is and allows."""
        ...

    def read(self, *, consumers: int = 0) -> Reading:
        """What the machine did since the reading before; `consumers`: so many processes are named."""
        ...

    def follow(self, pid: int, period_ns: int, *, consumers: int = 0) -> Iterator[tuple[dict[str, Any], Reading]]:
        """What a running process does, reading by reading, and what the machine did meanwhile."""
        ...

    def stop(self) -> None:
        """End what is under way; safe to call from a signal handler or another thread."""
        ...


def watchable(host: Host) -> Watchable:
    """The host as one that can be watched. Raises UsageError when it is a simulated one."""
    if not isinstance(host, Watchable):
        raise UsageError(f"The host {host.name} is simulated: there is no machine whose load could be watched.")
    return host
