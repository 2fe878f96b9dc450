"""A line for each interval, for pipes and logs: columns of fixed width, with "-" for unknown values."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

from becalm.load.live import Instant
from becalm.load.metrics import PROCESS, Unit, find


class LineColumn(msgspec.Struct, frozen=True):
    """A column with its heading, its width, and its measure."""

    head: str
    width: int
    measure: str


COLUMNS = (
    LineColumn("cpu%", 4, "cpu"),
    LineColumn("st%", 4, "steal"),
    LineColumn("irq%", 4, "interrupts"),
    LineColumn("run", 3, "queue"),
    LineColumn("pcpu%", 5, "pressure_cpu"),
    LineColumn("pio%", 4, "pressure_io"),
    LineColumn("out", 5, "page_out"),
    LineColumn("in", 5, "page_in"),
    LineColumn("read", 5, "disk_read"),
    LineColumn("write", 5, "disk_write"),
    LineColumn("recv", 5, "net_in"),
    LineColumn("sent", 5, "net_out"),
    LineColumn("nfs", 4, "nfs"),
)
"""The columns, 79 characters with the time; bytes per second have a binary suffix: 12k, 3.4M."""

OWN = (
    LineColumn("own%", 4, "process_cpu"),
    LineColumn("wait%", 5, "process_wait"),
)
"""The columns of a followed process, before the others."""

_PROCESS = {measure.name: measure for measure in PROCESS}


def head(process: bool) -> str:
    """Return the line of headings."""
    return " ".join(["time".ljust(8), *(column.head.rjust(column.width) for column in _columns(process))])


def line(instant: Instant) -> str:
    """Return the line of one interval."""
    time = datetime.fromtimestamp(instant.at_ns / 1e9).strftime("%H:%M:%S")
    cells = [_cell(column, instant).rjust(column.width) for column in _columns(instant.process is not None)]
    return " ".join([time, *cells])


def _columns(process: bool) -> Iterator[LineColumn]:
    if process:
        yield from OWN
    yield from COLUMNS


def _cell(column: LineColumn, instant: Instant) -> str:
    value: float | None = None
    unit = Unit.SHARE
    if (own := _PROCESS.get(column.measure)) is not None:
        value, unit = None if instant.process is None else own.of(instant.process), own.unit
    elif instant.load is not None:
        measure = find(column.measure)
        value, unit = measure.of(instant.load), measure.unit
    return short(value, unit)


def short(value: float | None, unit: Unit) -> str:
    """Return a value in at most five characters, mostly four, without its unit; "-" where it is unknown."""
    if value is None:
        return "-"
    if unit is Unit.SHARE:
        return f"{100 * value:.1f}" if value < 0.9995 else f"{100 * value:.0f}"
    if unit is Unit.TASKS:
        return f"{value:.0f}"
    step = 1024.0 if unit is Unit.BYTES else 1000.0
    for suffix in ("", "k", "M", "G"):
        if value < 999.5 or suffix == "G":
            return f"{value:.0f}{suffix}" if not suffix or value >= 9.95 else f"{value:.1f}{suffix}"
        value /= step
    raise AssertionError("unreachable")
