"""Known load on a host while it measures: the result of `Host.loading`, and the load that an agent makes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Protocol

from becalm.errors import BecalmError
from becalm.nouns.demand import LoadResult


class RunningLoad(Protocol):
    """Load that is being made on a host."""

    def end(self) -> LoadResult:
        """End the load and return what it really did. Raises MachineError if somebody ended it before."""
        ...


class AgentLoad:
    """Load that an agent makes by a process, until `end`."""

    def __init__(self, unload: Callable[[], LoadResult]) -> None:
        self._unload = unload
        self.running = True

    def end(self) -> LoadResult:
        """End the load and return what it really did."""
        self.running = False
        return self._unload()


@contextlib.contextmanager
def running_load(load: Callable[[], object], unload: Callable[[], LoadResult]) -> Iterator[RunningLoad]:
    """Make load for as long as the context lasts."""
    load()
    agent_load = AgentLoad(unload)
    try:
        yield agent_load
    finally:
        if agent_load.running:
            with contextlib.suppress(BecalmError):
                agent_load.end()
