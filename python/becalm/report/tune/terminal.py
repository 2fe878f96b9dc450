"""A tune study on the terminal: the answer and the next commands, then the tables behind it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from becalm.report.design.tables import short as surface_tables
from becalm.report.design.terminal import grid as surface_grid
from becalm.report.table import Table
from becalm.report.table_width import Fitted
from becalm.report.terminal import apart, findings
from becalm.report.tune import response, tables
from becalm.results.design_fit import DesignFit
from becalm.results.tune import AblationEffect, TuneVerdict
from becalm.wording import tune as sentences
from becalm.wording.short_names import brief
from becalm.wording.tune import factor

WIDTH = 44
"""The width of the plot of intervals in characters."""

FIRST = 24
"""The number of characters that the first column of a table keeps, however narrow the terminal."""

STYLES = {"helps": "green", "expendable": "yellow", "undecided": ""}


def search_result(verdict: TuneVerdict, *, plain: bool = False) -> RenderableType:
    """Return the report for the terminal. `plain`: ASCII except for the units, no colours."""
    verdict = brief(verdict, verdict.programs)
    return apart(_parts(_ascii(verdict) if plain else verdict, plain))


def _ascii(verdict: TuneVerdict) -> TuneVerdict:
    """Return the verdict with ASCII signs in the sentences of its findings."""
    findings_ = tuple(replace(finding, sentence=finding.sentence.replace("±", "+-")) for finding in verdict.findings)
    return replace(verdict, findings=findings_)


def _parts(verdict: TuneVerdict, plain: bool) -> Iterator[RenderableType]:
    lines = verdict.sentence.splitlines()
    answers = len(sentences.headline(verdict))
    style = "bold green" if verdict.settings else "bold yellow"
    yield Group(*(Text(line, "" if plain or index >= max(1, answers) else style) for index, line in enumerate(lines)))
    yield _now(verdict, plain)
    for program, table in tables.terminal(verdict):
        if not verdict.settings and table.title in (tables.KNOBS, tables.TESTS):
            # The effects of settings that are not recommended are only in the whole report.
            continue
        title = f": {program}" if program and len(verdict.programs) > 1 else ""
        yield _grid(table, plain, title)
        if table.title == tables.KNOBS:
            mine = [contribution for contribution in verdict.contributions if contribution.program == program]
            if picture := _forest(mine, verdict, plain):
                yield picture
    if verdict.fit is not None:
        yield from _surface(verdict.fit, response.trials(verdict), plain)
    if verdict.findings:
        yield findings(verdict.findings, plain)
    more = "" if verdict.study is None else f" Whole report: becalm export {verdict.study} --format html --to FILE."
    yield Text(tables.facts(verdict) + more, "" if plain else "dim")


def _surface(fit: DesignFit, title: str, plain: bool) -> Iterator[RenderableType]:
    """Yield the report of the surface fitted to the trials of the search."""
    lines = [Text(line) for line in fit.sentence.splitlines()]
    yield Group(Text(title, "" if plain else "bold"), *lines)
    if fit.findings:
        yield findings(fit.findings, plain)
    # A constant needs only the table of models, which shows why it was chosen.
    flat = all(response_fit.model == "mean" for response_fit in fit.responses)
    yield from (surface_grid(table, plain) for table in surface_tables(fit) if not flat or table.title == "Models")


def _now(verdict: TuneVerdict, plain: bool) -> RenderableType:
    grid = Grid(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(style="" if plain else "bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for index, (command, effect) in enumerate(sentences.commands(verdict)):
        grid.add_row("" if index else "Now type", command, effect)
    if not verdict.settings:
        return grid
    return Group(grid, Text(f"It sets   {sentences.settings_text(verdict.settings)}"))


def _grid(table: Table, plain: bool, title: str = "") -> RenderableType:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, head in enumerate(table.head):
        right = index in table.numbers
        least = min(FIRST, max(len(row[0]) for row in table.rows)) if index == 0 else None
        justify: Literal["left", "right"] = "right" if right else "left"
        grid.add_column(head, justify=justify, overflow="fold", no_wrap=right, min_width=least)
    for row in table.rows:
        grid.add_row(*(cell.replace("±", "+-") for cell in row) if plain else row)
    fitted = Fitted(grid, spare=table.spare) if table.numbers else grid
    return Group(Text(table.title + title, "bold"), fitted, *([Text(table.note, "dim")] if table.note else []))


def _forest(contributions: Sequence[AblationEffect], verdict: TuneVerdict, plain: bool) -> RenderableType | None:
    """Return a line for each knob with the interval of its ratio on a logarithmic axis, 1 and the margin marked."""
    known = [c for c in contributions if c.ratio.low > 0 and math.isfinite(c.ratio.high)]
    if not known:
        return None
    limit = 1 + verdict.margin
    low = math.log(min(0.9, *(c.ratio.low for c in known)))
    high = math.log(max(limit * 1.1, *(c.ratio.high for c in known)))

    def at(value: float) -> int:
        return round((math.log(value) - low) / (high - low) * (WIDTH - 1))

    bar, left, right, point, mark = ("-", "|", "|", "o", ":") if plain else ("─", "├", "┤", "●", "┊")
    grid = Grid(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column(overflow="ellipsis", no_wrap=True, max_width=24)
    grid.add_column(no_wrap=True)
    for effect in known:
        cells = [" "] * WIDTH
        cells[at(1.0)] = cells[at(limit)] = mark
        for index in range(at(effect.ratio.low), at(effect.ratio.high) + 1):
            cells[index] = bar
        cells[at(effect.ratio.low)], cells[at(effect.ratio.high)] = left, right
        cells[at(effect.ratio.value)] = point
        style = "" if plain else STYLES.get(tables.decision(effect, verdict), "dim")
        grid.add_row(f"without {effect.knob}", Text("".join(cells).rstrip(), style))
    axis = [" "] * (WIDTH + 6)
    for value, label in ((1.0, "1"), (limit, f"{limit:g}"), (math.exp(high), f"{factor(math.exp(high))} x")):
        start = min(max(0, at(value) - len(label) // 2), WIDTH + 6 - len(label))
        if all(cell == " " for cell in axis[max(0, start - 1) : start + len(label) + 1]):
            axis[start : start + len(label)] = label
    grid.add_row(
        response.without(verdict) if tables.timed(verdict) else "times the spread",
        Text("".join(axis).rstrip(), "" if plain else "dim"),
    )
    return grid
