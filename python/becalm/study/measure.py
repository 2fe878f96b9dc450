"""The one measuring loop.

`measure` asks a plan for a block, hands it to a host, and gives what the host tells to whoever keeps it before the
history sees the runs. Ctrl-C is a flag here, not an exception: the current run is aborted, everything finished is kept,
and the loop ends as if the plan had said so. A second Ctrl-C is the usual exception.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from becalm.hosts import Event, Host, LoadDetail, MeasureRequest, Runs
from becalm.nouns.run import Block, Run
from becalm.study import interrupts


class Record(Protocol):
    """The part of a record of runs that the loop needs (`becalm.plans.history`, `becalm.tuning.trial_log`)."""

    interrupted: bool
    failure: Run | None

    @property
    def next_seq(self) -> int:
        """The number of the next run."""
        ...

    def extend(self, rows: Sequence[Run]) -> None:
        """Take finished runs."""


Remembered = TypeVar("Remembered", bound=Record)


def measure(
    host: Host,
    plan: Callable[[Remembered], Block | None],
    history: Remembered,
    take: Callable[[Event], None],
    *,
    detail: LoadDetail = LoadDetail.NONE,
    stop_on_failure: bool = True,
) -> None:
    """Run blocks until the plan is done, a workload fails, or the person interrupts.

    `take` is given every event, of runs before the history sees them. `detail`: how closely it is observed what else
    the machine does. `stop_on_failure`: whether the rest of a block is left out after a run that does not end well.
    Raises what the host, the plan or `take` raises; what the host has told was taken by then.
    """

    def stop() -> None:
        history.interrupted = True
        host.stop()

    with interrupts.heard(), interrupts.joined(stop):
        while not history.interrupted and (block := plan(history)) is not None:
            for event in host.measure(MeasureRequest(history.next_seq, block, detail, stop_on_failure)):
                take(event)
                if isinstance(event, Runs):
                    history.extend(event.rows)
            if history.failure is not None:
                return
