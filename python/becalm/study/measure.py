"""The one measuring loop.

`measure` asks a plan for a block, hands it to a host, and passes the host's events to a callback before the history
gets the runs. Ctrl-C sets a flag instead of raising an exception: the current run is aborted, everything finished is
kept, and the loop ends as if the plan were done. A second Ctrl-C raises the usual exception.
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

    `take` is called with every event, before the history gets the runs. `detail`: how closely the load of the machine
    is observed. `stop_on_failure`: whether a run that does not end well ends its block. Raises the errors of the host,
    the plan and `take`; all earlier events were taken by then.
    """

    def stop() -> None:
        history.interrupted = True
        host.stop()

    with interrupts.handle_signals(), interrupts.stop_at_signal(stop):
        while not history.interrupted and (block := plan(history)) is not None:
            for event in host.measure(MeasureRequest(history.next_seq, block, detail, stop_on_failure)):
                take(event)
                if isinstance(event, Runs):
                    history.extend(event.rows)
            if history.failure is not None:
                return
