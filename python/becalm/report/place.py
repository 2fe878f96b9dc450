"""Advice on placement on the terminal, in Markdown and as a page: the placement, the costs of pairs, the gain."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.report import markdown, place_figures
from becalm.report.design.terminal import grid
from becalm.report.page import Part, filled
from becalm.report.table import Table
from becalm.results.place import PlacementAdvice, SharingShape
from becalm.wording import place as wording
from becalm.wording.place import percent
from becalm.wording.printable import printable

MOST_PAIRS = 6
"""The number of costliest pairs that are shown."""


def on_terminal(
    advice: PlacementAdvice, *, explain: bool = False, plain: bool = False, columns: int = 80
) -> RenderableType:
    """Return the sentence, the sharing, the costliest pairs, and further notes."""
    del columns
    parts: list[RenderableType] = [Text(advice.sentence, "" if plain else "bold")]
    for table in tables(advice):
        parts += [Text(), grid(table, plain)]
    remarks = wording.notes(advice)
    parts += [Text(), *(Text(remark, "" if plain else "dim") for remark in remarks)]
    if explain:
        parts += [Text(), *(Text(reason) for reason in wording.explained(advice))]
    return Group(*parts)


def as_markdown(advice: PlacementAdvice) -> str:
    """Return the report in Markdown, with the reasons."""
    lines = [f"**{markdown.escaped(advice.sentence)}**"]
    for table in tables(advice):
        lines += ["", *markdown.grid(table)]
    for note in (*wording.notes(advice), *wording.explained(advice)):
        lines += ["", markdown.escaped(note)]
    return markdown.written(lines)


def as_html(advice: PlacementAdvice) -> str:
    """Return the page."""
    sharing, *costly = tables(advice)
    pictures = tuple(place_figures.pictures(advice))
    parts = [
        Part("Programs in each round" if advice.shape is SharingShape.ROUNDS else "Programs on each chip", (), sharing)
    ]
    if pictures or costly:
        parts.append(Part("Costs of pairs, and the gain", pictures, costly[0] if costly else None))
    return filled(
        "parts.html",
        title="becalm place",
        lines=(advice.sentence, *wording.notes(advice), *wording.explained(advice)),
        parts=parts,
        findings=(),
        facts="",
    )


def tables(advice: PlacementAdvice) -> Iterator[Table]:
    """Yield the sharing and the costliest pairs."""
    rows: list[tuple[str, ...]] = []
    for number, names in enumerate(advice.sharing):
        lost = ", ".join(percent(advice.degradation[name]) for name in names)
        placed = ", ".join(map(printable, names)) or "nobody"
        if advice.shape is SharingShape.ROUNDS:
            rows.append((str(number + 1), placed, lost))
        else:
            cpus = ",".join(map(str, advice.chips[number].cpus)) or "?"
            rows.append((str(number), cpus, placed, lost))
    if advice.shape is SharingShape.ROUNDS:
        yield Table("", ("round", "programs", "lose next to each other"), tuple(rows))
    else:
        yield Table("", ("chip", "CPUs", "programs", "lose"), tuple(rows))
    pairs = tuple(
        (
            printable(cost.first), printable(cost.second), percent(cost.of_first, cost.error),
            percent(cost.of_second, cost.error), "yes" if advice.together(cost.first, cost.second) else "no",
        )
        for cost in advice.costliest[:MOST_PAIRS]
    )  # fmt: skip
    if pairs:
        yield Table("", ("costliest pairs", "", "loses", "loses", "together"), pairs, (2, 3), names=(0, 1))
