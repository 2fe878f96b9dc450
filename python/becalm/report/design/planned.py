"""A design to be run: its description, and its runs in the order to make them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.report.design.terminal import grid
from becalm.report.table import Table
from becalm.report.terminal import apart, findings
from becalm.results.design import Design


def on_terminal(design: Design, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the description of the design, then its runs."""
    first, *rest = design.sentence.splitlines()
    parts: list[RenderableType] = [Group(Text(first, "" if plain else "bold"), *(Text(line) for line in rest))]
    parts += [grid(table, plain) for table in tables(design)]
    if design.findings:
        parts.append(findings(design.findings, plain))
    return apart(parts)


def tables(design: Design) -> Iterator[Table]:
    """Yield the runs, then the effects that cannot be told apart."""
    heads = [f"{factor.name}, {factor.unit}" if factor.unit else factor.name for factor in design.factors]
    blocks = ["block"] if design.blocks > 1 else []
    rows = tuple(
        (
            str(run.run),
            *([str(run.block)] if blocks else []),
            run.point,
            *(level if isinstance(level, str) else f"{level:.6g}" for level in run.levels),
            *("" for _ in design.responses),
        )
        for run in design.runs
    )
    head = ("run", *blocks, "point", *heads, *design.responses)
    numbers = tuple(index for index in range(len(head)) if head[index] != "point")
    yield Table("Runs", head, rows, numbers)
    if design.aliases:
        rows = tuple((" = ".join(group), _named(design, group[0])) for group in design.aliases)
        yield Table("Not distinguishable", ("effects", "the first is of"), rows, note="Effects of up to two factors.")


def _named(design: Design, word: str) -> str:
    return ", ".join((design.letters or {})[letter] for letter in word.lstrip("-"))
