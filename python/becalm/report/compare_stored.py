"""The report of `compare --stored`: the differences, then every benchmark."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.text import Text

from becalm.report.design.terminal import grid
from becalm.report.page import Part, Picture, filled
from becalm.report.table import Table
from becalm.report.terminal import apart, findings
from becalm.results.compare import Answer
from becalm.results.compare_stored import BenchmarkDifference, StoredComparison
from becalm.wording.compare_stored import ends, mean_of, value
from becalm.wording.numbers import percent

NAME = 16
"""The length of a name, in characters, below which columns are left out instead: values matter more than a name."""

NOT_SEEN = "not seen"
"""The word for a change that was not seen, short enough for both values to fit next to it in 80 columns."""


def on_terminal(comparison: StoredComparison, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    first, *rest = comparison.sentence.splitlines()
    head = Group(Text(first, "" if plain else "bold"), *map(Text, rest))
    noticed = [findings(comparison.findings, plain)] if comparison.findings else []
    return apart([head, *(grid(table, plain, NAME) for table in tables(comparison)), *noticed])


def tables(comparison: StoredComparison) -> Iterator[Table]:
    """Yield the table of the benchmarks that both sides have, the largest slowdown first."""
    if not comparison.benchmarks:
        return
    level = f"{100 * comparison.confidence:g} % interval"
    repeated = any(benchmark.shift is not None for benchmark in comparison.benchmarks)
    head = ("benchmark", "old", "new", "change", level, "answer", *(("shift",) if repeated else ()), "runs")
    order = sorted(comparison.benchmarks, key=lambda benchmark: -benchmark.difference.harm[1])
    rows = tuple(_row(benchmark, repeated, comparison.shift is None) for benchmark in order)
    rows += tuple(
        (mean_of(mean), "", "", f"{percent(mean.difference, sign=True)} %", *[""] * (len(head) - 4))
        for mean in comparison.geometric_means
    )
    numbers = tuple(index for index in range(1, len(head)) if head[index] != "answer")
    note = "shift: standard deviation between sessions of the same program." if repeated else ""
    # On a narrow terminal, runs and old values are the first to go.
    yield Table("", head, rows, numbers, note, spare=(len(head) - 1, 1, *((6,) if repeated else ()), 2), codes=0)


def as_html(comparison: StoredComparison) -> str:
    """Return the page."""
    from becalm.report import compare_figures as figures

    lines = comparison.sentence.splitlines()
    order = sorted(comparison.benchmarks, key=lambda benchmark: -benchmark.difference.harm[1])
    named = [replace(benchmark.difference, name=benchmark.name) for benchmark in order]
    parts = [Part(table.title or "Benchmarks", table=table) for table in tables(comparison)]
    if forest := figures.ratios(named, "difference from the old one"):
        alone = "" if comparison.bounded else " They hold only for these runs."
        caption = f"Intervals at {100 * comparison.confidence:g} % for all together; the line means no change.{alone}"
        parts.insert(0, Part("Differences", (Picture(forest, caption),)))
    return filled(
        "compare.html",
        title="becalm compare --stored",
        answer=lines[0] if lines else "",
        mood="",
        lines=lines[1:],
        parts=parts,
        findings=comparison.findings,
        facts="",
    )


def _row(difference: BenchmarkDifference, repeated: bool, alone: bool) -> tuple[str, ...]:
    d, text = difference.difference, value(difference)
    shift = ("" if difference.shift is None else f"{percent(difference.shift)} %",) if repeated else ()
    # Runs alone, without sessions, leave the answer in question.
    doubt = "?" if alone and difference.shift is None and d.worse is not None else ""
    return (
        difference.name,
        text(difference.old),
        text(difference.new),
        f"{percent(d.estimate, (d.high - d.low) / 2, sign=True)} %",
        ends(d),
        NOT_SEEN if d.answer is Answer.NO_DIFFERENCE_DETECTED else f"{d.answer}{doubt}",
        *shift,
        f"{difference.old_runs:,}, {difference.new_runs:,}",
    )
