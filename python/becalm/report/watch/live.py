"""The live view: a table of measures that is redrawn after each interval, with earlier values.

`live_view` yields a function that takes Instants; on a terminal it draws on the alternate screen and restores the
terminal, elsewhere it prints one line per interval.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from becalm.load.live import Followed, Instant
from becalm.load.metrics import Unit
from becalm.report.terminal import console
from becalm.report.watch import lines
from becalm.report.watch.history import Track, WatchHistory
from becalm.report.watch.numbers import number, size, sparkline
from becalm.wording.numbers import counted, duration, spent
from becalm.wording.printable import process_name

COLUMN_WIDTHS = {"label": 13, "now": 11, "mean": 11, "peak": 11}
NARROWEST = 8
"""The number of characters of a sparkline on the narrowest terminal."""

ALARMS = {"steal": 0.05, "pressure_memory": 0.05, "page_out": 1.0, "net_errors": 1.0, "nfs_retransmissions": 1.0}
"""The values from which a measure is red, since by itself it slows programs down."""

STATES = {"R": "running", "S": "sleeping", "D": "waiting for a device", "T": "stopped", "t": "traced", "Z": "ended"}


@contextmanager
def live_view(
    title: str, every: str, *, live: bool = True, plain: bool = False, out: Console | None = None
) -> Iterator[Callable[[Instant], None]]:
    """Yield a function that shows an interval. `title`: the subject; `every`: the length of intervals, in words."""
    to = out or console(plain=plain)
    if live and to.is_terminal and not plain:
        view = View(title, every)
        # A slow terminal must not be drawn on more often than intervals end.
        with Live(console=to, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as screen:

            def draw(instant: Instant) -> None:
                view.history.add(instant)
                screen.update(view.draw(to.width, to.height), refresh=True)

            screen.update(Text(f"{title}: the first interval …", "dim"), refresh=True)
            yield draw
        if view.history.instants:
            to.print(ended(view.history))
        return
    begun = False

    def write(instant: Instant) -> None:
        nonlocal begun
        if not begun:
            to.print(lines.head(instant.process is not None), markup=False)
        begun = True
        to.print(lines.line(instant), markup=False)
        # A reader of a pipe expects each line at once.
        with contextlib.suppress(AttributeError):
            to.file.flush()

    yield write


class View:
    """The content of the screen."""

    def __init__(self, title: str, every: str, *, plain: bool = False) -> None:
        self.history = WatchHistory()
        self._title, self._every, self._plain = title, every, plain

    def draw(self, width: int = 80, height: int = 24) -> RenderableType:
        """Return the whole view for a terminal of this size."""
        latest = self.history.latest
        if latest is None:
            return Text()
        parts: list[RenderableType] = [self._head(latest, width)]
        if latest.process is not None:
            parts += [Text(), *self._process(latest.process, width)]
        below = list(self._below(latest, width))
        own = sum(track.shown for track in self.history.process) + 4 if latest.process is not None else 0
        # Four lines are headings and blank.
        room = max(1, height - 4 - own - len(below))
        parts += [Text(), self._table(fitting(list(self.history.tracks()), room), width), *below]
        return Group(*parts)

    def _head(self, latest: Instant, width: int) -> Table:
        cpus = latest.load.cpus if latest.load else None
        row = Table.grid(expand=True)
        row.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        row.add_column(no_wrap=True, justify="right")
        time = datetime.fromtimestamp(latest.at_ns / 1e9).strftime("%H:%M:%S")
        machine = f"{self._title}" + (f", {counted(cpus, 'CPU')}" if cpus else "")
        row.add_row(Text(machine, "bold"), Text(f"every {self._every}   {time}   q ends", "dim"))
        return row

    def _process(self, followed: Followed, width: int) -> Iterator[RenderableType]:
        whole = self.history.followed() or followed
        yield Text(about(followed), "bold", no_wrap=True, overflow="ellipsis")
        yield self._table([track for track in self.history.process if track.shown], width)
        yield Text(sums(whole), no_wrap=True, overflow="ellipsis")

    def _table(self, tracks: list[Track], width: int) -> Table:
        room = max(NARROWEST, width - sum(COLUMN_WIDTHS.values()) - 4)
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
        table.add_column("", width=COLUMN_WIDTHS["label"], no_wrap=True)
        table.add_column("now", justify="right", width=COLUMN_WIDTHS["now"], no_wrap=True)
        table.add_column("", width=room, no_wrap=True)
        table.add_column("mean", justify="right", width=COLUMN_WIDTHS["mean"], no_wrap=True, style="dim")
        table.add_column("peak", justify="right", width=COLUMN_WIDTHS["peak"], no_wrap=True, style="dim")
        for track in tracks:
            measure = track.measure
            values = list(track.values)[-room:]
            cpus = self._cpus() if measure.unit is Unit.TASKS else 0.0
            line = sparkline(values, room, measure.unit, least=cpus, plain=self._plain)
            style = "red" if (track.now or 0.0) >= ALARMS.get(measure.name, float("inf")) else "cyan"
            table.add_row(
                measure.label,
                number(track.now, measure.unit),
                Text(line.rjust(room), style),
                number(track.mean, measure.unit),
                number(track.peak, measure.unit),
            )
        return table

    def _cpus(self) -> float:
        load = self.history.latest.load if self.history.latest else None
        return float((load.cpus if load else None) or 1)

    def _below(self, latest: Instant, width: int) -> Iterator[RenderableType]:
        yield Text()
        if self.history.consumers:
            named = (
                f"{process_name(consumer.name)} {100 * (consumer.cpus or 0.0):.0f} %"
                for consumer in self.history.consumers
            )
            yield Text("most CPU time  " + "   ".join(named), no_wrap=True, overflow="ellipsis")
        if unseen := self.history.unseen():
            yield Text("not available  " + ", ".join(unseen), "dim", no_wrap=True, overflow="ellipsis")
        if latest.skipped:
            yield Text(f"{counted(latest.skipped, 'reading')} left out: showing them took too long", "yellow")


def fitting(tracks: list[Track], room: int) -> list[Track]:
    """Return the tracks that get a line: tracks that were always zero are dropped first, then the last ones."""
    while len(tracks) > room:
        idle = [track for track in tracks if not track.peak]
        tracks.remove(idle[-1] if idle else tracks[-1])
    return tracks


def about(followed: Followed) -> str:
    """Return a line about a process: name, number, threads, state."""
    after = followed.after
    # The letter is the state of the first thread only.
    state = "ended" if followed.ended else "" if after.threads > 1 else STATES.get(after.state, after.state)
    memory = "" if after.resident_bytes is None or followed.ended else f", {size(after.resident_bytes)} resident"
    threads = counted(after.threads, "thread")
    return f"{process_name(after.name)}, process {followed.pid}: {threads}{f', {state}' if state else ''}{memory}"


def sums(followed: Followed) -> str:
    """Return a line with the times that a followed process ran and waited, and its delay."""
    run, wait = followed.moved("run_ns"), followed.moved("wait_ns")
    cpu = run if followed.exact else followed.cpu_ns
    parts = [f"in {spent(followed.interval_ns)}: ran {'?' if cpu is None else duration(cpu)}"]
    parts.append(f"waited for a CPU {'?' if wait is None else duration(wait)}")
    if followed.delay is not None:
        parts.append(f"delay factor {followed.delay:.3f}")
    if not followed.exact and run is not None:
        parts.append("threads that came and went in between are not in the waits")
    return ", ".join(parts)


def ended(history: WatchHistory) -> RenderableType:
    """Return the summary that remains on the terminal after the view."""
    parts = [Text(f"Watched for {spent(history.elapsed_ns)}, {counted(history.instants, 'interval')}.")]
    if (followed := history.followed()) is not None:
        parts += [Text(about(followed)), Text(sums(followed))]
    for name in ("cpu", "queue", "steal"):
        track = next(candidate for candidate in history.machine if candidate.measure.name == name)
        if track.known:
            unit = track.measure.unit
            parts.append(
                Text(f"{track.measure.label}: mean {number(track.mean, unit)}, peak {number(track.peak, unit)}")
            )
    return Group(*parts)
