"""Hosts whose machine can be watched: those with an agent. Simulated ones have no load of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from becalm.errors import UsageError
from becalm.hosts import Host


@runtime_checkable
class Watchable(Protocol):
    """What a watcher needs of a host (docs/reference/protocol.md: `read`, `follow`, `stop`)."""

    name: str

    def facts(self) -> dict[str, Any]:
        """What the machine is and allows."""
        ...

    def read(self, sources: Sequence[str], *, changes: bool = False, consumers: int = 0) -> dict[str, Any]:
        """What the machine says now, by source."""
        ...

    def follow(
        self, pid: int, period_ns: int, sources: Sequence[str], *, consumers: int = 0
    ) -> Iterator[dict[str, Any]]:
        """What a running process does, reading by reading."""
        ...

    def stop(self) -> None:
        """End what is under way; safe to call from a signal handler or another thread."""
        ...


def watchable(host: Host) -> Watchable:
    """The host as one that can be watched. Raises UsageError when it is a simulated one."""
    if not isinstance(host, Watchable):
        raise UsageError(f"The host {host.name} is simulated: there is no machine whose load could be watched.")
    return host
