"""The cost of moves for a real program, on the terminal, in Markdown and as a page."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.migration.live_account import PAIRS, QUANTITIES, LiveAccounted
from becalm.report.design.terminal import grid
from becalm.report.table import Table
from becalm.wording import migrate_account as wording

NAMES = {
    "random": "at random, to not moved",
    "spot": "at spots, to not moved",
    "waiting": "at spots, to at random",
}
HEAD = {
    "wall_ns": "wall time more",
    "cpu_ns": "CPU time more",
    "references": "references more",
    "misses": "misses more",
}


def on_terminal(accounted: LiveAccounted, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the sentence, the tables, and the outcomes of the moves."""
    del columns
    parts: list[RenderableType] = [Text(accounted.sentence, "" if plain else "bold")]
    for table in tables(accounted):
        parts += [Text(), grid(table, plain)]
    return Group(*parts)


def tables(accounted: LiveAccounted) -> Iterator[Table]:
    """Yield the tables of times, and of counts where they are known; the last note has the outcomes of the moves."""
    note = " ".join(wording.live_lines(accounted))
    effects = {(pair, name): accounted.effect(pair, name) for pair in PAIRS for name in QUANTITIES}
    known = any(effects[pair, name] is not None for pair in PAIRS for name in QUANTITIES[2:])
    groups = (QUANTITIES[:2], QUANTITIES[2:]) if known else (QUANTITIES[:2],)
    for names in groups:
        rows = tuple((NAMES[pair], *(wording.share(effects[pair, name]) for name in names)) for pair in PAIRS)
        yield Table(
            "", ("moved", *(HEAD[name] for name in names)), rows, (1, 2), note=note if names is groups[-1] else ""
        )
