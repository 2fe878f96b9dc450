"""The one measuring loop.

`measure` asks a plan for a block, hands it to a host, and gives every row to the sink (the store) before the history
sees it. Ctrl-C is a flag here, not an exception: the current run is aborted, everything finished is kept, and the
loop ends as if the plan had said so. A second Ctrl-C is the usual exception.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol, TypeVar

from becalm.hosts import Host, Noticed
from becalm.load.record import LoadSink
from becalm.nouns.progress import ProgressListener
from becalm.nouns.run import Block, Run
from becalm.study import interrupts

Sink = Callable[[Sequence[Run], dict[int, tuple[str, str]]], None]
"""Takes finished runs and the texts (standard error, standard output) of some of them, by sequence number."""


class Record(Protocol):
    """What the loop needs of whoever remembers the runs (`becalm.nouns.history`, `becalm.tuning.trial_log`)."""

    next_seq: int
    interrupted: bool
    failure: Run | None

    def extend(self, rows: Sequence[Run]) -> None:
        """Take finished runs."""


Remembered = TypeVar("Remembered", bound=Record)


def measure(
    host: Host,
    plan: Callable[[Remembered], Block | None],
    history: Remembered,
    sink: Sink,
    listener: ProgressListener,
    noticed: Callable[[Noticed], None] | None = None,
    loads: LoadSink | None = None,
    load: str = "totals",
) -> None:
    """Run blocks until the plan is done, a workload fails, or the person interrupts.

    `noticed` is told, after each block, what the host saw of its settings; `loads` takes what else the machine did,
    which is not observed without it: in totals or, with `load` "series", over time as well. Raises what the host, a
    sink or `noticed` raises; rows a host has delivered have been given to the sink by then.
    """
    texts: dict[int, tuple[str, str]] = {}

    def on_text(seq: int, stderr: str, stdout: str) -> None:
        texts[seq] = (stderr, stdout)

    with _interrupts(host, history):
        while not history.interrupted and (block := plan(history)) is not None:
            for rows in host.measure(history.next_seq, block, on_text=on_text, on_load=loads, load=load):
                sink(rows, dict(texts))
                texts.clear()
                history.extend(rows)
                listener.running(history.next_seq)
            if texts:
                sink((), dict(texts))
                texts.clear()
            if noticed is not None:
                noticed(host.noticed())
            if history.failure is not None:
                return


@contextmanager
def _interrupts(host: Host, history: Record) -> Iterator[None]:
    """Turn the first SIGINT or SIGTERM into a clean stop; a second one gets its usual effect."""
    if threading.current_thread() is not threading.main_thread():

        def told() -> None:
            history.interrupted = True
            host.stop()

        with interrupts.joined(told):
            yield
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    before: dict[signal.Signals, Any] = {}

    def stop(number: int, frame: FrameType | None) -> None:
        for each in signals:
            signal.signal(each, before[each])
        history.interrupted = True
        host.stop()

    for each in signals:
        before[each] = signal.signal(each, stop)
    try:
        yield
    finally:
        for each in signals:
            signal.signal(each, before[each])
