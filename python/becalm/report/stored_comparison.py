"""The report of `compare --stored`: what differs, then every benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.nouns.stored_comparison import BenchmarkDifference, StoredComparison
from becalm.nouns.verdict import Answer
from becalm.report.design.terminal import grid
from becalm.report.page import Part, Picture, filled
from becalm.report.table import Table
from becalm.report.terminal import apart, findings
from becalm.wording.measurement import percent
from becalm.wording.stored_comparison import ends, mean_of, value

NAME = 16
"""Characters that a benchmark's name keeps before columns are left out: old and new values say more than it."""

NOT_SEEN = "not seen"
"""The word for a change that was not seen: it is short, so that both values fit next to it into 80 columns."""


def on_terminal(found: StoredComparison, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    first, *rest = found.sentence.splitlines()
    head = Group(Text(first, "" if plain else "bold"), *map(Text, rest))
    noticed = [findings(found.findings, plain)] if found.findings else []
    return apart([head, *(grid(each, plain, NAME) for each in tables(found)), *noticed])


def tables(found: StoredComparison) -> Iterator[Table]:
    """Yield every benchmark that both have, the largest slowdown first."""
    if not found.benchmarks:
        return
    level = f"{100 * found.confidence:g} % interval"
    repeated = any(each.shift is not None for each in found.benchmarks)
    head = ("benchmark", "old", "new", "change", level, "answer", *(("shift",) if repeated else ()), "runs")
    order = sorted(found.benchmarks, key=lambda each: -each.difference.harm[1])
    rows = tuple(_row(each, repeated, found.shift is None) for each in order)
    rows += tuple(
        (mean_of(each), "", "", f"{percent(each.difference, sign=True)} %", *[""] * (len(head) - 4))
        for each in found.geometric_means
    )
    numbers = tuple(index for index in range(1, len(head)) if head[index] != "answer")
    note = "shift: standard deviation between sessions of the same program." if repeated else ""
    # Of a narrow terminal runs and old values go first.
    yield Table("", head, rows, numbers, note, spare=(len(head) - 1, 1, *((6,) if repeated else ()), 2), codes=0)


def as_html(found: StoredComparison) -> str:
    """Return the page."""
    from becalm.report import measured_figures as figures

    lines = found.sentence.splitlines()
    order = sorted(found.benchmarks, key=lambda each: -each.difference.harm[1])
    named = [replace(each.difference, name=each.name) for each in order]
    parts = [Part(each.title or "Benchmarks", table=each) for each in tables(found)]
    if forest := figures.ratios(named, "difference from the old one"):
        alone = "" if found.bounded else " They hold for the runs alone."
        caption = f"Intervals at {100 * found.confidence:g} % for all together; the line is no change.{alone}"
        parts.insert(0, Part("Differences", (Picture(forest, caption),)))
    return filled(
        "measured.html",
        title="becalm compare --stored",
        answer=lines[0] if lines else "",
        mood="",
        lines=lines[1:],
        parts=parts,
        findings=found.findings,
        facts="",
    )


def _row(each: BenchmarkDifference, repeated: bool, alone: bool) -> tuple[str, ...]:
    d, shown = each.difference, value(each)
    shift = ("" if each.shift is None else f"{percent(each.shift)} %",) if repeated else ()
    # Of the runs alone it is no more than a question.
    doubt = "?" if alone and each.shift is None and d.worse is not None else ""
    return (
        each.name,
        shown(each.old),
        shown(each.new),
        f"{percent(d.estimate, (d.high - d.low) / 2, sign=True)} %",
        ends(d),
        NOT_SEEN if d.answer is Answer.NO_DIFFERENCE_DETECTED else f"{d.answer}{doubt}",
        *shift,
        f"{each.old_runs:,}, {each.new_runs:,}",
    )
