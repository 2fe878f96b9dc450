"""Advice on placement on the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.nouns.placement_advice import PlacementAdvice, Shape
from becalm.report.design.terminal import grid
from becalm.report.table import Table
from becalm.wording import placement as wording
from becalm.wording.placement import percent
from becalm.wording.printable import printable

MOST_PAIRS = 6
"""The costliest are shown."""


def on_terminal(found: PlacementAdvice, *, explain: bool = False, plain: bool = False) -> RenderableType:
    """The sentence, who is where, the costliest pairs, and what else must be known."""
    parts: list[RenderableType] = [Text(found.sentence, "" if plain else "bold")]
    for table in tables(found):
        parts += [Text(), grid(table, plain)]
    said = wording.notes(found)
    parts += [Text(), *(Text(each, "" if plain else "dim") for each in said)]
    if explain:
        parts += [Text(), *(Text(each) for each in wording.explained(found))]
    return Group(*parts)


def tables(found: PlacementAdvice) -> Iterator[Table]:
    """Who is where; the costliest pairs."""
    rows: list[tuple[str, ...]] = []
    for number, names in enumerate(found.sharing):
        lost = ", ".join(percent(found.degradation[name]) for name in names)
        shown = ", ".join(map(printable, names)) or "nobody"
        if found.shape is Shape.ROUNDS:
            rows.append((str(number + 1), shown, lost))
        else:
            cpus = ",".join(map(str, found.chips[number].cpus)) or "?"
            rows.append((str(number), cpus, shown, lost))
    if found.shape is Shape.ROUNDS:
        yield Table("", ("round", "programs", "lose beside each other"), tuple(rows))
    else:
        yield Table("", ("chip", "CPUs", "programs", "lose"), tuple(rows))
    pairs = tuple(
        (
            f"{printable(each.one)}, {printable(each.other)}", percent(each.of_one, each.error),
            percent(each.of_other, each.error), "yes" if found.together(each.one, each.other) else "no",
        )
        for each in found.costliest[:MOST_PAIRS]
    )  # fmt: skip
    if pairs:
        yield Table("", ("costliest pairs", "loses", "loses", "together"), pairs, (1, 2))
