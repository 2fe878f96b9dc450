"""The watched values in Prometheus' text exposition format, version 0.0.4.

Names follow Prometheus' rules: base units in the name, `_total` for values that only grow, labels for values of one
kind. Counts are exposed as sums since watching began, so that `rate()` is exact for any scrape interval. The engine's
table lists the columns of a load that are exposed, with their names. A value that the machine does not report is not
exposed, instead of zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import msgspec

from becalm._version import VERSION
from becalm.load.live import Instant, ProcessCounts
from becalm.load.record import Load
from becalm.nouns.tables import LoadColumn, load_columns

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[tuple[str, str], ...]


class MetricSeries(msgspec.Struct, frozen=True):
    """A series: its metric and labels, and the column of a Load that it sums, times `factor`."""

    metric: str
    column: str
    factor: float
    labels: Labels = ()


SECONDS = 1e-9

_FACTORS = {"ns": SECONDS, "kHz": 1000.0}
"""The factor from the unit of a column to Prometheus' base unit."""


def _row(column: LoadColumn) -> MetricSeries:
    name, *label = re.split(r'[{}="]+', column.metric.rstrip('"}'))
    return MetricSeries(name, column.name, _FACTORS.get(column.unit, 1), ((label[0], label[1]),) if label else ())


_EXPOSED = [column for column in load_columns() if column.metric]

COUNTERS = tuple(_row(column) for column in _EXPOSED if column.kind == "difference")

GAUGES = tuple(_row(column) for column in _EXPOSED if column.kind == "state")

PROCESS = (
    MetricSeries("becalm_process_cpu_seconds_total", "run_ns", SECONDS),
    MetricSeries("becalm_process_wait_seconds_total", "wait_ns", SECONDS),
    MetricSeries("becalm_process_block_seconds_total", "block_ns", SECONDS),
    MetricSeries("becalm_process_minor_faults_total", "minor_faults", 1),
    MetricSeries("becalm_process_major_faults_total", "major_faults", 1),
    MetricSeries("becalm_process_voluntary_switches_total", "voluntary", 1),
    MetricSeries("becalm_process_involuntary_switches_total", "involuntary", 1),
    MetricSeries("becalm_process_read_bytes_total", "read_bytes", 1),
    MetricSeries("becalm_process_written_bytes_total", "written_bytes", 1),
    MetricSeries("becalm_process_resident_bytes", "resident_bytes", 1),
    MetricSeries("becalm_process_threads", "threads", 1),
)


def _helps() -> dict[str, str]:
    """Return the help of the metrics of loads: the meaning of their columns, by label where several share a metric."""
    helps: dict[str, str] = {}
    for column in _EXPOSED:
        row = _row(column)
        meaning = "".join(f"{value}: " for _, value in row.labels) + column.meaning
        helps[row.metric] = (
            f"{helps[row.metric]}; {meaning}" if row.metric in helps else meaning[:1].upper() + meaning[1:]
        )
    return {metric: f"{meaning}." for metric, meaning in helps.items()}


HELP = {
    **_helps(),
    "becalm_info": "Version of becalm and the machine that it watches.",
    "becalm_process_cpu_seconds_total": "CPU time of all threads of the process that were seen.",
    "becalm_process_wait_seconds_total": "Time its threads were ready but not running.",
    "becalm_process_block_seconds_total": "Time its threads waited for block devices.",
    "becalm_process_minor_faults_total": "Page faults for which nothing was read.",
    "becalm_process_major_faults_total": "Page faults for which something was read.",
    "becalm_process_voluntary_switches_total": "Voluntary context switches.",
    "becalm_process_involuntary_switches_total": "Context switches against its will.",
    "becalm_process_read_bytes_total": "Read from storage by the process.",
    "becalm_process_written_bytes_total": "Written to storage by the process.",
    "becalm_process_resident_bytes": "Resident memory of the process.",
    "becalm_process_threads": "Threads of the process.",
    "becalm_watched_seconds_total": "Time that was watched.",
    "becalm_watch_skipped_total": "Readings left out because reading or showing them took too long.",
    "becalm_watch_unknown_total": "Intervals in which a sum could not grow, because its counter was not known.",
    "becalm_watch_last_timestamp_seconds": "When the last reading was made, Unix time.",
}


@dataclass(slots=True)
class Exposition:
    """The sums over what was watched. `host` becomes a label of `becalm_info`."""

    host: str
    sums: dict[MetricSeries, float] = field(default_factory=dict)
    unknown: dict[MetricSeries, int] = field(default_factory=dict)
    watched_ns: int = 0
    latest: Instant | None = None

    def add(self, instant: Instant) -> None:
        """Add an interval."""
        self.latest = instant
        load = instant.load
        if load is None:
            return
        self.watched_ns += load.interval_ns
        for row in COUNTERS:
            value = getattr(load, row.column)
            if value is not None:
                self.sums[row] = self.sums.get(row, 0.0) + value * row.factor
            else:
                self.unknown[row] = self.unknown.get(row, 0) + 1

    def text(self) -> str:
        """Return the exposition, which ends with a line feed, as the format requires."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield from _metric("becalm_info", [((("version", VERSION), ("host", self.host)), 1.0)])
        yield from _group(COUNTERS, self.sums.get)
        latest = self.latest
        if latest is None:
            return
        load = latest.load
        if load is not None:
            yield from _group(GAUGES, _of(load))
        if latest.process is not None:
            own = (("pid", str(latest.process.pid)), ("name", latest.process.after.name))
            yield from _group(PROCESS, _of(latest.process.after), own)
        yield from _metric("becalm_watched_seconds_total", [((), self.watched_ns * SECONDS)])
        yield from _metric("becalm_watch_skipped_total", [((), float(latest.skipped))])
        missing = [
            ((("metric", row.metric), *row.labels), float(count))
            for row, count in self.unknown.items()
            if row in self.sums
        ]
        if missing:
            yield from _metric("becalm_watch_unknown_total", missing)
        yield from _metric("becalm_watch_last_timestamp_seconds", [((), latest.at_ns * SECONDS)])


def _of(counts: Load | ProcessCounts) -> Callable[[MetricSeries], float | None]:
    def value(row: MetricSeries) -> float | None:
        number = getattr(counts, row.column)
        return None if number is None else float(number) * row.factor

    return value


def _group(
    rows: tuple[MetricSeries, ...], value: Callable[[MetricSeries], float | None], labels: Labels = ()
) -> Iterator[str]:
    """Yield all samples of a metric together, as the format requires."""
    for metric in dict.fromkeys(row.metric for row in rows):
        samples = [((*labels, *row.labels), value(row)) for row in rows if row.metric == metric]
        known = [(labels_of, number) for labels_of, number in samples if number is not None]
        if known:
            yield from _metric(metric, known)


def _metric(name: str, samples: list[tuple[Labels, float]]) -> Iterator[str]:
    yield f"# HELP {name} {HELP[name]}"
    yield f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}"
    for labels, value in samples:
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
        yield f"{name}{f'{{{inside}}}' if inside else ''} {_number(value)}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(round(value, 9))


def _escaped(text: str) -> str:
    """Return a label's value: backslash, quote and line feed are escaped, invalid UTF-8 is replaced."""
    clean = text.encode("utf-8", "replace").decode()
    return clean.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
