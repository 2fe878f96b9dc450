"""A design to be run: what it is, and its runs in the order to make them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.nouns.design import Design
from becalm.report.design.terminal import grid
from becalm.report.table import Table
from becalm.report.terminal import apart, findings


def on_terminal(found: Design, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the design in words, then its runs."""
    first, *rest = found.sentence.splitlines()
    parts: list[RenderableType] = [Group(Text(first, "" if plain else "bold"), *(Text(line) for line in rest))]
    parts += [grid(each, plain) for each in tables(found)]
    if found.findings:
        parts.append(findings(found.findings, plain))
    return apart(parts)


def tables(found: Design) -> Iterator[Table]:
    """Yield the runs, then what cannot be told apart."""
    heads = [f"{each.name}, {each.unit}" if each.unit else each.name for each in found.factors]
    blocks = ["block"] if found.blocks > 1 else []
    rows = tuple(
        (
            str(run.run),
            *([str(run.block)] if blocks else []),
            run.point,
            *(level if isinstance(level, str) else f"{level:.6g}" for level in run.levels),
            *("" for _ in found.responses),
        )
        for run in found.runs
    )
    head = ("run", *blocks, "point", *heads, *found.responses)
    numbers = tuple(index for index in range(len(head)) if head[index] != "point")
    yield Table("Runs", head, rows, numbers)
    if found.aliases:
        told = tuple((" = ".join(each), _named(found, each[0])) for each in found.aliases)
        yield Table("Cannot be told apart", ("effects", "the first is of"), told, note="Effects of up to two factors.")


def _named(found: Design, word: str) -> str:
    return ", ".join((found.letters or {})[letter] for letter in word.lstrip("-"))
