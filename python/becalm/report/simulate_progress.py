"""The progress of a long simulation: a line on a terminal that is redrawn, elsewhere a line now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.live import Live
from rich.text import Text

from becalm import system_clock
from becalm.report.progress import PLAIN_EVERY_S
from becalm.report.terminal import console
from becalm.wording.simulate import progress

Report = Callable[[int, float], None]
"""A callback for the simulated time, ns, and the share of the tasks that have ended."""


@contextmanager
def progress_of_simulation(*, quiet: bool = False, lines: bool = True, plain: bool = False) -> Iterator[Report]:
    """Yield the progress display that suits standard error.

    Arguments:
        quiet: write nothing.
        lines: where standard error is not a terminal, write a line every ten seconds.
        plain: use ASCII only, and lines that are not redrawn.
    """
    out = console(plain=plain, stderr=True)
    if quiet:
        yield lambda now_ns, ended: None
    elif out.is_terminal and not plain:
        with Live(
            console=out, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        ) as display:
            yield lambda now_ns, ended: display.update(
                Text(progress(now_ns, ended), overflow="ellipsis", no_wrap=True), refresh=True
            )
    else:
        last = system_clock.monotonic()

        def print_line(now_ns: int, ended: float) -> None:
            nonlocal last
            if lines and system_clock.monotonic() - last >= PLAIN_EVERY_S:
                last = system_clock.monotonic()
                out.print(progress(now_ns, ended), markup=False)

        yield print_line
