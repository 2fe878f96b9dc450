"""A host that makes known load next to programs: from before the first run of a block to its end.

The load is made by the host (`Host.loading`), on the machine on which the programs run.
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
"""The time between the start of a load and that of a run, s, in which queues fill and the scheduler moves tasks."""


class LoadedHost(Wrapper[Host]):
    """A host that makes the load of blocks (`Block.alongside`). Raises UsageError for a host that cannot make load."""

    def __init__(self, inner: Host, settle_s: float = SETTLE_S) -> None:
        need(inner.name, inner.abilities(), Ability.LOADED)
        super().__init__(inner)
        self._settle_s = settle_s
        self._stopped = threading.Event()

    def measure(self, request: MeasureRequest) -> Iterator[Event]:
        """Measure as on every host; the last event is the load that was really made. Raises MachineError if it ended
        early."""
        self._stopped.clear()
        demand = request.block.alongside
        with contextlib.ExitStack() as stack:
            loading = None if demand is None else stack.enter_context(self.inner.loading(demand))
            # Also without load: that of the previous block may still have effects.
            if self._stopped.wait(self._settle_s):
                return
            try:
                yield from self.inner.measure(request)
            except GeneratorExit:
                # A caller that stops in the middle does not wait for the rest.
                self.inner.stop()
                raise
            if loading is None:
                return
            load = loading.end()
        yield LoadMade(load)
        if load.failure is not None and not self._stopped.is_set():
            raise MachineError(f"The load did not last: {load.failure} What was measured before is stored.")

    def stop(self) -> None:
        """End the current block, also before its first run."""
        self._stopped.set()
        self.inner.stop()
