"""Known load on a host while it measures: what `Host.loading` gives, and the load that an agent makes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Protocol

from becalm.errors import BecalmError
from becalm.nouns.demand import Made


class LoadBeside(Protocol):
    """Load that is being made on a host."""

    def end(self) -> Made:
        """End it now; what it really did. Raises MachineError when it was ended by somebody before."""
        ...


class AgentLoad:
    """Load that an agent makes, a process beside it, until it is told to end."""

    def __init__(self, unload: Callable[[], Made]) -> None:
        self._unload = unload
        self.up = True

    def end(self) -> Made:
        """End it now."""
        self.up = False
        return self._unload()


@contextlib.contextmanager
def beside(load: Callable[[], object], unload: Callable[[], Made]) -> Iterator[LoadBeside]:
    """Have load made; on leaving it has ended, whatever happened."""
    load()
    agent_load = AgentLoad(unload)
    try:
        yield agent_load
    finally:
        if agent_load.up:
            with contextlib.suppress(BecalmError):
                agent_load.end()
