"""The live view of `becalm sweetspots`: the counts of each second, redrawn on a terminal, as lines elsewhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from becalm.migration.tally import TallyInterval
from becalm.report.terminal import console

MOST = 12
"""The number of seconds that are shown."""


def line(interval: TallyInterval, ratio: bool) -> str:
    """Return the line of one second. `ratio`: whether the counts are references and misses of a cache."""
    where = ",".join(str(cpu) for cpu in interval.cpus) or "none"
    if interval.unknown:
        counts = "counts unknown: records were lost"
    elif ratio:
        share = (
            "no references"
            if interval.ratio is None
            else f"{100 * interval.ratio:.1f} % of {interval.references:,} missed"
        )
        counts = share
    else:
        counts = f"{interval.references:,} counted, {interval.misses:,} of them new or minor: no miss ratio"
    return f"{interval.switches:,} switches, {interval.preempted:,} preempted; CPU {where}; {counts}"


@contextmanager
def live_view(
    ratio: bool, *, plain: bool = False, redraw: bool = True, out: Console | None = None
) -> Iterator[Callable[[TallyInterval], None]]:
    """Yield a function that shows a second on standard error. `redraw`: on a terminal, redraw the last seconds."""
    to = out or console(plain=plain, stderr=True)
    if not (redraw and to.is_terminal and not plain):
        yield lambda interval: to.print(Text(line(interval, ratio)), soft_wrap=True)
        return
    seconds: deque[TallyInterval] = deque(maxlen=MOST)
    with Live(Text("recording; Ctrl-C ends it", "dim"), console=to, auto_refresh=False, transient=True) as screen:

        def draw(interval: TallyInterval) -> None:
            seconds.append(interval)
            screen.update(_table(seconds, ratio), refresh=True)

        yield draw


def _table(seconds: deque[TallyInterval], ratio: bool) -> Table:
    table = Table(box=None, pad_edge=False, caption="Ctrl-C ends recording", caption_justify="left")
    names = (
        "switches",
        "preempted",
        "CPU",
        "references" if ratio else "counted",
        "missed" if ratio else "new or minor",
    )
    for name in names:
        table.add_column(name, justify="right")
    for second in seconds:
        share = f"{100 * second.ratio:.1f} %" if ratio and second.ratio is not None else f"{second.misses:,}"
        counts = ("unknown", "unknown") if second.unknown else (f"{second.references:,}", share)
        table.add_row(
            f"{second.switches:,}", f"{second.preempted:,}", ",".join(map(str, second.cpus)) or "none", *counts
        )
    return table
