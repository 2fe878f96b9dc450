"""The progress of a long simulation: a line on a terminal that changes, elsewhere a line now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.live import Live
from rich.text import Text

from becalm import system_clock
from becalm.report.progress import PLAIN_EVERY_S
from becalm.report.terminal import console
from becalm.wording.simulate import progress

Told = Callable[[int, float], None]
"""A callback for the simulated time, ns, and the share of the tasks that have ended."""


@contextmanager
def progress_of_simulation(*, quiet: bool = False, lines: bool = True, plain: bool = False) -> Iterator[Told]:
    """Yield the display for the kind of standard error.

    Arguments:
        quiet: nothing at all.
        lines: where it is no terminal, a line every ten seconds.
        plain: ASCII only, without a line that changes.
    """
    out = console(plain=plain, stderr=True)
    if quiet:
        yield lambda now_ns, ended: None
    elif out.is_terminal and not plain:
        with Live(
            console=out, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        ) as shown:
            yield lambda now_ns, ended: shown.update(
                Text(progress(now_ns, ended), overflow="ellipsis", no_wrap=True), refresh=True
            )
    else:
        last = system_clock.monotonic()

        def told(now_ns: int, ended: float) -> None:
            nonlocal last
            if lines and system_clock.monotonic() - last >= PLAIN_EVERY_S:
                last = system_clock.monotonic()
                out.print(progress(now_ns, ended), markup=False)

        yield told
