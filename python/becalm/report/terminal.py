"""A verdict on the terminal: sentences, then tables and plots made of characters."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from becalm.nouns.finding import Finding, Interval
from becalm.nouns.study import StoredStudy
from becalm.report import sort_order
from becalm.report.line_breaks import Trimmed
from becalm.report.table_width import Fitted, Names
from becalm.results.compare import Answer, Difference, Place, Summary, Verdict
from becalm.results.where import Where
from becalm.stats.bins import Histogram
from becalm.units import bind_units, release_units
from becalm.wording import compare, damage, short_names
from becalm.wording import where as where_words
from becalm.wording.compare import ranks
from becalm.wording.metric import further_cells, measured, median_of, per_second, quantity
from becalm.wording.numbers import Writing, duration, memory, percent
from becalm.wording.printable import distinct, lettered, one_line, printable

if TYPE_CHECKING:
    # A measurement starts without it.
    from becalm.wording.outcome import StudyOutcome

BLOCKS = " ▏▎▍▌▋▊▉█"

TOO_FEW = "too few runs for an interval"

PICTURED = 24
"""The width of a name next to its interval, in columns."""


def style(d: Difference) -> str:
    """Return the colour of an answer."""
    if d.answer is Answer.UNKNOWN:
        return "bold yellow"
    return "bold" if d.worse is None else "bold red" if d.worse else "bold green"


class Screen(Console):
    """A console that escapes what a terminal would obey in texts; becalm writes to terminals only through it."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield segments as rich makes them; control codes that rich itself sends are not escaped."""
        if isinstance(renderable, Text) and (text := lettered(renderable.plain, self.encoding)) != renderable.plain:
            # Styles of parts are not shifted along: terminals that lack signs mostly lack colours too.
            renderable = renderable.copy()
            renderable.plain = text
        if isinstance(renderable, Text) and (text := bind_units(renderable.plain)) != renderable.plain:
            # The length is the same, so styles of parts stay where they are.
            renderable = renderable.copy()
            renderable.plain = text
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(release_units(printable(segment.text)), segment.style)

    def render_str(self, text: str, **how: Any) -> Text:
        """Return text as rich lays it out, with replacements for signs that the encoding lacks."""
        return super().render_str(bind_units(lettered(text, self.encoding)), **how)

    def print(self, *objects: Any, **how: Any) -> None:
        """Print as rich does; in a file or a pipe, lines do not end with spaces."""
        if not self.is_terminal:
            objects = tuple(part if isinstance(part, str) else Trimmed(part) for part in objects)
        super().print(*objects, **how)


def console(*, plain: bool = False, stderr: bool = False) -> Console:
    """Return the console to print to: colours only on a terminal (rich obeys NO_COLOR), and not in plain output.

    Text in brackets or between colons is part of a name ("policy[batch]"), never rich's markup.
    """
    soft_wrap = not _terminal(stderr)
    return Screen(
        stderr=stderr, no_color=plain or None, highlight=False, markup=False, emoji=False, soft_wrap=soft_wrap
    )


def _terminal(stderr: bool) -> bool:
    return (sys.stderr if stderr else sys.stdout).isatty()


def verdict(result: Verdict, *, plain: bool = False) -> RenderableType:
    """Return the report for the terminal."""
    return Group(*_spaced(_parts(short_names.shortened(result), plain)))


def apart(parts: Iterable[RenderableType]) -> RenderableType:
    """Return parts with an empty line between them."""
    lines = [line for part in parts for line in (Text(), part)]
    return Group(*lines[1:])


def _spaced(parts: Iterator[RenderableType]) -> Iterator[RenderableType]:
    """Yield parts with an empty line between them, but not between sentences."""
    before: RenderableType | None = None
    for part in parts:
        if before is not None and not (isinstance(part, Text) and isinstance(before, Text)):
            yield Text()
        yield part
        before = part


def _parts(result: Verdict, plain: bool) -> Iterator[RenderableType]:
    styles = {d.sentence: style(d) for d in result.differences}
    for index, line in enumerate(result.sentence.splitlines()):
        yield Text(line, style=styles.get(line, "" if index else "bold"))
    if result.differences and not all(d.weak for d in result.differences):
        yield Fitted(_comparison(result, plain), (1,) if places(result) else (0,), (3,) if places(result) else (2,))
        if picture := _intervals(sorted_differences(result), plain):
            yield picture
    if result.further:
        yield Fitted(_further(result, plain), (0,), (4,))
    if result.where is not None:
        yield Text(where_words.sentence(result.where))
        yield Fitted(_where(result.where, plain), (0, 1), (1,))
        yield Text(where_words.legend(result.where), "dim")
    exact = result.exact
    for summary in result.summaries if result.kind == "run" and not exact else ():
        if len(result.summaries) > 1:
            yield Text(summary.name, "dim")
        yield _summary(summary, result.confidence)
        histogram = summary.metrics[0].histogram if summary.metrics else summary.histogram
        if histogram is not None and len(histogram.counts) > 1:
            yield _histogram(histogram, plain, measured(summary).shown)
        if summary.memory:
            yield memory_over_time(summary.memory, plain)
    if result.findings:
        yield findings(result.findings, plain)
    if result.study is not None:
        yield Group(Text(f"Study {result.study}, seed {result.seed}. Show again: becalm show {result.study}", "dim"))


def _comparison(result: Verdict, plain: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    ranked = {place.name: ranks(place.best, place.worst) for place in places(result)}
    if ranked:
        table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("program", overflow="fold", ratio=1)
    rates = any(summary.throughput for summary in result.summaries)
    median = "median" if result.metric is None else median_of(result.metric.name)
    for head in (median, *(("per second",) if rates else ()), "spread", "difference"):
        table.add_column(head, justify="right", no_wrap=True)
    exact = result.exact
    table.add_column("range" if exact else f"{100 * result.confidence:g} % interval", justify="right", no_wrap=True)
    by_name = {d.name: d for d in result.differences}
    for summary in sorted_summaries(result):
        d = by_name.get(summary.name)
        values = measured(summary)
        spread = f"{percent(values.cv.value)} %" if summary.runs > 1 else "?"
        cells = [
            *([ranked.get(summary.name, "")] if ranked else []),
            summary.name,
            values.shown(values.median.value),
            *([per_second(summary).removesuffix("/s")] if rates else []),
            spread,
        ]
        if d is None:
            cells += ["reference", ""]
        else:
            half = d.half
            known = math.isfinite(half)
            cells.append(f"{percent(d.estimate, half if known else None, sign=True)} %")
            ends = f"{percent(d.low, half, sign=True)} to {percent(d.high, half, sign=True)} %"
            unknown = left_out(result, summary.name) or ("counts vary" if exact and d.pairs > 1 else "not yet known")
            cells.append(("exact" if exact and d.low == d.high else ends) if known else unknown)
        table.add_row(*cells, style=None if d is None or plain else style(d).removeprefix("bold "))
    return table


def _further(comparison: Verdict, plain: bool) -> Table:
    """Return the table of differences in metrics recorded next to the compared one."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    several = len(comparison.summaries) > 2
    if several:
        table.add_column("program", overflow="fold", ratio=1)
    table.add_column("other metrics", overflow="fold")
    level = f"{100 * comparison.confidence:g} % interval"
    for head in ("reference", "mean", "difference", level):
        table.add_column(head, justify="right", no_wrap=True)
    before = ""
    for d in comparison.further:
        colour = None if d.worse is None else "red" if d.worse else "green"
        name = [d.name if d.name != before else ""] if several else []
        table.add_row(*name, d.metric, *further_cells(d), style=None if plain else colour)
        before = d.name
    return table


def _where(where: Where, plain: bool) -> Table:
    """Return the table of functions in which two programs differ."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for place, head in enumerate(where_words.HEAD):
        table.add_column(head, overflow="fold" if place < 2 else "ellipsis", justify="left" if place < 2 else "right")
    for function in where.functions:
        colour = ("red" if function.share > 0 else "green") if function.named else None
        table.add_row(*where_words.cells(function, where.source), style=None if plain else colour)
    if (rest := where_words.rest(where)) is not None:
        table.add_row(*rest)
    return table


def places(result: Verdict) -> tuple[Place, ...]:
    """Return the ranks of three or more programs, in order; empty for fewer."""
    return () if result.ranking is None else result.ranking.places


def left_out(result: Verdict, name: str) -> str:
    """Return the note that the program or the reference left the rounds before the interval was known."""
    rounds = {place.name: place.rounds for place in places(result)}
    most = max(rounds.values(), default=0)
    return f"left out after {rounds[name]}" if rounds.get(name, most) < most else ""


def sorted_summaries(result: Verdict) -> list[Summary]:
    """Return the programs in the requested order; by default the fastest first, where they are ranked."""
    if (chosen := sort_order.key()) is not None:
        return sorted(result.summaries, key=chosen)  # type: ignore[arg-type]
    order = {place.name: index for index, place in enumerate(places(result))}
    return sorted(result.summaries, key=lambda summary: order.get(summary.name, len(order)))


def sorted_differences(result: Verdict) -> list[Difference]:
    """Return the comparisons in the order of the programs."""
    order = {summary.name: index for index, summary in enumerate(sorted_summaries(result))}
    return sorted(result.differences, key=lambda difference: order.get(difference.name, len(order)))


def _intervals(differences: Sequence[Difference], plain: bool, width: int = 48) -> RenderableType | None:
    """Return a line for each comparison on a common axis in percent, with zero marked."""
    from becalm.report.axis import Axis  # A measurement starts without it.

    known = [d for d in differences if math.isfinite(d.low) and math.isfinite(d.high)]
    if not known:
        return None
    axis = Axis((end for d in known for end in (d.low, d.high)), width, plain=plain)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    names = distinct([d.name for d in known], PICTURED)
    for name, d in zip(names, known, strict=True):
        line = axis.interval(d.low, d.estimate, d.high, "o" if plain else "●")
        table.add_row(name, line, style=None if plain else style(d).removeprefix("bold "))
    table.add_row("", Text(axis.labels(8), "dim"))
    return table


def _summary(summary: Summary, confidence: float) -> Table:
    level = f"{100 * confidence:g} %"
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")

    def between(interval: Interval, shown: Callable[[float], str]) -> str:
        if not math.isfinite(interval.low):
            return TOO_FEW
        if shown is duration:
            return f"{level}: {compare.between(interval, shown)}"
        return f"{level}: {shown(interval.low)} to {shown(interval.high)}"

    mean, median, cv, shown = measured(summary)
    for name, estimate in (("mean", mean), ("median", median)):
        table.add_row(name, shown(estimate.value), between(estimate, shown))
    ends = math.isfinite(cv.low) and math.isfinite(cv.high)
    # No level is stated: rare long runs that were not seen would widen the interval, and their number is unknown.
    roughly = f"roughly {percent(cv.low)} to {percent(cv.high)} %" if ends else TOO_FEW
    if summary.runs > 1:
        table.add_row("spread", f"{percent(cv.value)} %", f"of the mean, {roughly}")
    else:
        table.add_row("spread", "?", "one run has none")
    if summary.metrics:
        table.add_row("range", shown(summary.metrics[0].minimum), f"to {shown(summary.metrics[0].maximum)}")
        for metric in summary.metrics[1:]:
            text = partial(quantity, unit=metric.unit)
            table.add_row(metric.name, text(metric.mean.value), between(metric.mean, text))
        if summary.mean_ns is not None:
            table.add_row("wall time", duration(summary.mean_ns.value), between(summary.mean_ns, duration))
    elif summary.min_ns is not None and summary.max_ns is not None:
        table.add_row("range", duration(summary.min_ns), f"to {duration(summary.max_ns)}")
    if (throughput := summary.throughput) is not None:
        text = partial(quantity, unit=f"{throughput.what}/s")
        table.add_row("throughput", text(throughput.per_second.value), between(throughput.per_second, text))
    if summary.user_ns is not None and summary.system_ns is not None:
        waited = "" if summary.wait_ns is None else f", waiting for a CPU {duration(summary.wait_ns)}"
        table.add_row("CPU time", duration(summary.user_ns), f"user, {duration(summary.system_ns)} system{waited}")
    if summary.max_rss_bytes is not None:
        table.add_row("memory", memory(summary.max_rss_bytes), "largest resident set")
    worth = ""
    if summary.effective_runs < 0.9 * summary.runs and not summary.metrics:
        worth = f"worth {summary.effective_runs:,.0f} independent ones: consecutive ones resemble each other"
    table.add_row("runs", f"{summary.runs:,}", worth)
    return table


def _histogram(histogram: Histogram, plain: bool, shown: Writing, width: int = 40) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", style="dim", no_wrap=True)
    most = max(histogram.counts)
    step = (histogram.high - histogram.low) / len(histogram.counts)
    if histogram.below:
        table.add_row(f"below {shown(histogram.low, step)}", "", str(histogram.below))
    for index, count in enumerate(histogram.counts):
        table.add_row(shown(histogram.low + (index + 0.5) * step, step), bar(count / most, width, plain), str(count))
    if histogram.above:
        table.add_row(f"above {shown(histogram.high, step)}", "", str(histogram.above))
    return table


MEMORY_ROWS = 16
"""The number of lines of a plot of memory over time."""


def memory_over_time(course: Sequence[tuple[float, float]], plain: bool, width: int = 40) -> RenderableType:
    """Return the plot of the resident memory of one run, from its start down to its end."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", style="dim", no_wrap=True)
    most = max(size for _, size in course)
    step = max(1, math.ceil(len(course) / MEMORY_ROWS))
    for place in range(0, len(course), step):
        piece = course[place : place + step]
        size = max(resident for _, resident in piece)
        table.add_row(duration(piece[0][0]), bar(size / most if most else 0.0, width, plain), memory(size))
    return Group(Text("memory over the time of one run", "dim"), table)


def bar(share: float, width: int, plain: bool) -> Text:
    """Return a bar for a share of the width; any share above 0 is visible."""
    if plain:
        return Text("#" * math.ceil(share * width))
    eighths = math.ceil(share * width * 8)
    return Text(BLOCKS[8] * (eighths // 8) + (BLOCKS[eighths % 8] if eighths % 8 else ""), "cyan")


def findings(facts: Sequence[Finding], plain: bool) -> Table:
    """Return the findings worth knowing, one point each."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(style="yellow")
    table.add_column(overflow="fold")
    for finding in short_names.brief_findings(facts):
        table.add_row("*" if plain else "•", finding.sentence)
    return table


def _when(ns: int) -> str:
    try:
        return datetime.fromtimestamp(ns / 1e9).strftime("%Y-%m-%d %H:%M")
    except (OSError, OverflowError, ValueError):
        return "?"


def listing(studies: Sequence[StoredStudy], outcomes: Mapping[int, StudyOutcome] | None = None) -> RenderableType:
    """Return the studies of a store, one line each. `outcomes`: the results of studies, None to leave them out."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("study", justify="right", no_wrap=True, min_width=5)
    table.add_column("when", no_wrap=True, min_width=16)
    table.add_column("kind", no_wrap=True, min_width=7)
    table.add_column("runs", justify="right", no_wrap=True, min_width=7)
    table.add_column("programs", overflow="ellipsis", no_wrap=True)
    if outcomes is not None:
        table.add_column("result", overflow="ellipsis", no_wrap=True)
    for study in studies:
        names = (study.study.title,) if study.study.title else [workload.name for workload in study.study.workloads]
        wrong = damage.damage(study)
        programs = Text(f"damaged: {wrong}", "yellow") if wrong else Names([one_line(name) for name in names])
        cells: list[RenderableType] = [
            str(study.number),
            _when(study.created_ns),
            Text(study.study.kind),
            f"{study.runs:,}",
            programs,
        ]
        if outcomes is not None:
            cells.append(_cell(outcomes.get(study.number)))
        table.add_row(*cells)
    return Fitted(table, (4,) if outcomes is None else (4, 5), (1, 3))


def _cell(outcome: StudyOutcome | None) -> RenderableType:
    """Return the outcome of a study, coloured if it failed or was interrupted."""
    if outcome is None or not outcome.shown:
        return Text("")
    return Names([outcome.shown]) if outcome.well else Text(outcome.shown, "yellow")
