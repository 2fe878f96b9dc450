"""The cost of moves, on the terminal and in Markdown."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.migration.account import Accounted
from becalm.report import markdown
from becalm.report.design.terminal import grid
from becalm.report.table import Table
from becalm.wording import migrate_account as wording


def on_terminal(accounted: Accounted, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the sentence and the table."""
    del columns
    head = Text(accounted.sentence, "" if plain else "bold")
    return Group(
        head, Text(), grid(tables(accounted)[0], plain), Text(), Text(wording.whys(accounted), "" if plain else "dim")
    )


def as_markdown(accounted: Accounted) -> str:
    """Return the sentence and the table in Markdown."""
    return markdown.written(
        [f"**{accounted.sentence}**", "", *markdown.grid(tables(accounted)[0]), "", wording.whys(accounted)]
    )


def tables(accounted: Accounted) -> tuple[Table]:
    """Return the table: a row for each way of moving, and their difference."""
    rows = [
        (words, *(wording.count(accounted.cost(arm, name)) for name in ("references", "misses")), _time(accounted, arm))
        for words, arm in (("at a random moment", "random"), ("at a sweet spot", "spot"))
    ]
    gains = (wording.count(accounted.gain("references")), wording.count(accounted.gain("misses")))
    rows.append(("less at sweet spots", *gains, wording.time(accounted.gain("time_ns"))))
    table = Table("", ("moved", "references more", "misses more", "time more"), tuple(rows), (1, 2, 3))
    return (table,)


def _time(accounted: Accounted, arm: str) -> str:
    return wording.time(accounted.cost(arm, "time_ns"))
