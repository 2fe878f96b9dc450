"""A host beside whose programs known load is made: what a block asks for is up before its first run, and then ends.

The load is made by the host (`Host.loading`), on the machine that the programs run on.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from becalm.errors import MachineError
from becalm.hosts.abilities import Ability, need
from becalm.hosts.events import Event, LoadMade
from becalm.hosts.protocol import Host, MeasureRequest
from becalm.hosts.wrapper import Wrapper

SETTLE_S = 0.3
"""The time between the beginning of a load and that of a run, s: queues fill, the scheduler moves tasks."""


class LoadedHost(Wrapper[Host]):
    """A host that makes the load that blocks ask for (`Block.beside`). Raises UsageError for a host that cannot make
    load."""

    def __init__(self, inner: Host, settle_s: float = SETTLE_S) -> None:
        need(inner.name, inner.abilities(), Ability.LOADED)
        super().__init__(inner)
        self._settle_s = settle_s
        self._stopped = threading.Event()

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Measure as on every host; the last event is the load that was really made. Raises MachineError if it ended
        early."""
        self._stopped.clear()
        demand = request.block.beside
        with contextlib.ExitStack() as stack:
            loading = None if demand is None else stack.enter_context(self.inner.loading(demand))
            # Without load, too: that of the block before may still have its effects.
            if self._stopped.wait(self._settle_s):
                return
            try:
                yield from self.inner.measure(request)
            except GeneratorExit:
                # Whoever leaves in the middle need not wait for the rest.
                self.inner.stop()
                raise
            if loading is None:
                return
            made = loading.end()
        yield LoadMade(made)
        if made.failure is not None and not self._stopped.is_set():
            raise MachineError(f"The load did not last: {made.failure} What was measured before is kept.")

    def stop(self) -> None:
        """End what is under way, also before its first run."""
        self._stopped.set()
        self.inner.stop()
