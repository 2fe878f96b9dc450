"""The cost of moves, on the terminal and in Markdown."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.migration.account import Accounted
from becalm.report import markdown
from becalm.report.design.terminal import grid
from becalm.report.table import Table
from becalm.wording import migration_account as wording


def on_terminal(found: Accounted, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the sentence and the table."""
    del columns
    head = Text(found.sentence, "" if plain else "bold")
    return Group(head, Text(), grid(table(found), plain), Text(), Text(wording.whys(found), "" if plain else "dim"))


def as_markdown(found: Accounted) -> str:
    """Return the same in Markdown."""
    return markdown.written([f"**{found.sentence}**", "", *markdown.grid(table(found)), "", wording.whys(found)])


def table(found: Accounted) -> Table:
    """Return a row for each way of moving, and their difference."""
    rows = [
        (words, *(wording.count(found.cost(arm, name)) for name in ("references", "misses")), _time(found, arm))
        for words, arm in (("at a random moment", "random"), ("at a sweet spot", "spot"))
    ]
    gains = (wording.count(found.gain("references")), wording.count(found.gain("misses")))
    rows.append(("less at spots", *gains, wording.time(found.gain("time_ns"))))
    return Table("", ("moved", "references more", "misses more", "time more"), tuple(rows), (1, 2, 3))


def _time(found: Accounted, arm: str) -> str:
    return wording.time(found.cost(arm, "time_ns"))
