"""The tables of one watched run as text in cells, the same for the terminal, Markdown and HTML."""

from __future__ import annotations

from becalm.load.delay import PARALLEL_CPU, UNLOADED
from becalm.load.metrics import MEASURES, Unit, find
from becalm.load.run_report import MeasureCourse, Watched
from becalm.load.waterfall import Bar, Waterfall
from becalm.report.table import Table
from becalm.report.watch.numbers import number
from becalm.wording.numbers import counted, duration

WHERE = "Where the time went"
MACHINE = "What the machine did during the run"
DELAY = "Delay factor"


def delays(watched: Watched) -> Table | None:
    """Return the table of the delay factor and the expected one; None without a delay."""
    delay = watched.delay
    if delay is None:
        return None
    base = "time of an unloaded run" if delay.reference == UNLOADED else delay.reference
    rows = [("observed", f"{delay.factor:.2f}", f"wall time / {base}")]
    queue, cpus = watched.queue, watched.cpus
    parallel = watched.waterfall is not None and (watched.waterfall.parallel or 1.0) > 1
    why = "run queue not known"
    if queue is None and watched.load is not None and watched.load.queue is not None:
        why = "run queue of its own CPUs not known"
    if queue is not None and cpus is not None:
        own = ", its own tasks in it," if parallel else ""
        why = f"run queue of {queue:.2f}{own} on {counted(round(cpus), 'CPU')}, equal shares"
    rows.append(("expected (equal)", _factor(delay.mund), why))
    if delay.shared is not None:
        low, high = delay.shared
        span = _factor(low) if high - low < 0.005 else f"{_factor(low)} to {_factor(high)}"
        rows.append(("expected (shares)", span, "by nice, groups and quota"))
    counting = f"1 + wait for others / {PARALLEL_CPU}" if parallel else "1 + run-queue wait / CPU time, counted"
    rows.append(("from the run queue", _factor(delay.exact), counting))
    return Table(DELAY, ("", "", ""), tuple(rows), (1,), " ".join(delay.failed))


def _factor(value: float | None) -> str:
    return "?" if value is None else f"{value:.2f}"


def bars(falls: Waterfall) -> Table:
    """Return the table of the waterfall: every bar, including unknown ones; its notes have their parts."""
    rows = [(bar.name, seconds(bar), share(bar), kind(bar)) for bar in falls.bars]
    rows.append(("wall time", duration(falls.wall_ns), "100 %", ""))
    notes = [remark(bar) for bar in falls.bars]
    if falls.parallel is not None:
        notes.append(
            f"It had several threads or processes, {falls.parallel:.3g} at work at a time on average: their seconds do "
            "not add up to wall time and were divided by that, so these bars are estimates."
        )
    return Table(WHERE, ("", "time", "share", ""), tuple(rows), (1, 2), "\n".join(filter(None, notes)))


def seconds(bar: Bar) -> str:
    """Return the length of a bar; "?" where it is unknown."""
    return "?" if bar.ns is None else duration(bar.ns)


def share(bar: Bar) -> str:
    """Return the share of a bar in the wall time."""
    return "" if bar.share is None else f"{100 * bar.share:.1f} %"


def kind(bar: Bar) -> str:
    """Return whether a bar was counted or estimated."""
    return "not known" if bar.ns is None else "exact" if bar.exact else "estimate"


def remark(bar: Bar) -> str:
    """Return the interval and the parts of a bar, or why it is unknown; empty without any."""
    texts = []
    if bar.ns is not None and bar.low is not None and bar.high is not None and not bar.exact:
        texts.append(f"between {duration(bar.low)} and {duration(bar.high)}")
    texts += [f"{part.name} {duration(part.ns)}" for part in bar.parts if part.ns]
    texts += [bar.note] if bar.note and bar.ns is None else []
    return f"{bar.name[0].upper()}{bar.name[1:]}: {', '.join(texts)}." if texts else ""


def machine(watched: Watched) -> Table:
    """Return the table of mean, peak and time of the peak of each measure."""
    rows = tuple((course.label, *cells(course)) for course in watched.courses)
    return Table(MACHINE, ("", "mean", "peak", "at"), rows, (1, 2, 3), untold(watched))


def cells(course: MeasureCourse) -> tuple[str, str, str]:
    """Return the cells of a measure: mean, peak, time of the peak."""
    unit = Unit(course.unit)
    when = "" if course.peak_ns is None or not course.peak else duration(course.peak_ns)
    return number(course.mean, unit), "" if course.peak is None else number(course.peak, unit), when


def untold(watched: Watched) -> str:
    """Return the sentence on the measures that this machine lacks; empty where it has all."""
    if watched.load is None:
        return ""
    missing = [
        measure.label for measure in MEASURES if measure.of(watched.load) is None and not find(measure.name).minor
    ]
    return f"Not available here: {', '.join(missing)}." if missing else ""
