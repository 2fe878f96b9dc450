"""The report of a co-run profile: the losses of each program next to others, times by itself, pressure ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from string import ascii_uppercase

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from becalm.report.forms import listed
from becalm.report.table import Table as Cells
from becalm.report.table_width import Fitted
from becalm.results.corun import CoRunProfile, Degradation
from becalm.wording.corun import where
from becalm.wording.numbers import duration, percent
from becalm.wording.printable import printable

WIDEST = 5
"""The number of programs for which a square table fits into 80 columns; more are listed by pairs."""

MOST_ROWS = 40


def on_terminal(profile: CoRunProfile, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal."""
    return Group(*_parts(profile, plain))


def tables(profile: CoRunProfile) -> Iterator[Cells]:
    """Yield the programs, then the losses of each next to others."""
    yield listed(_programs(profile))
    yield listed(_list(profile, list(profile.degradations)))


def _parts(profile: CoRunProfile, plain: bool) -> Iterator[RenderableType]:
    yield Text(profile.sentence, "" if plain else "bold")
    yield Text()
    yield Fitted(_programs(profile), (1,), (0,))
    yield Text()
    pairs = [
        degradation
        for degradation in profile.degradations
        if len(degradation.alongside) == 1 and not degradation.same_core
    ]
    if len(profile.programs) <= WIDEST:
        yield Text("share of its speed in % that each loses alongside", "dim")
        yield _square(profile)
        rest = [
            degradation
            for degradation in profile.degradations
            if len(degradation.alongside) > 1 or degradation.same_core
        ]
    else:
        rest = sorted(profile.degradations, key=lambda degradation: -degradation.cost)
    if rest:
        yield Fitted(_list(profile, rest[:MOST_ROWS]), (0, 1), (3,))
    if len(rest) > MOST_ROWS:
        yield Text(f"and {len(rest) - MOST_ROWS:,} more lines: --json", "dim")
    if pairs:
        yield Text(where(profile), "dim")
    for remark in profile.remarks:
        yield Text(f"• {remark}", "" if plain else "yellow")
    if profile.study is not None:
        yield Text()
        yield Text(f"Study {profile.study}. Which programs belong together: becalm place {profile.study}")


def _programs(profile: CoRunProfile) -> Table:
    table = _columns("", "program", "alone", "pressure rank", "sensitivity rank", left=2)
    tasks = {task.name: task for task in profile.tasks()}
    pressure = _ranks({name: task.pressure for name, task in tasks.items()})
    sensitivity = _ranks({name: task.sensitivity for name, task in tasks.items()})
    for index, program in enumerate(profile.programs):
        solo = "fails" if program.solo_s is None else duration(program.solo_s * 1e9)
        ranks = (pressure.get(program.name, ""), sensitivity.get(program.name, ""))
        table.add_row(_letter(index), printable(program.name), solo, *ranks)
    return table


def _square(profile: CoRunProfile) -> Table:
    """Return the table in which the rows lose speed next to the columns."""
    names = [program.name for program in profile.programs]
    table = _columns("", *(_letter(index) for index in range(len(names))), left=1)
    for index, name in enumerate(names):
        cells = [_cell(profile.degradation(name, (other,))) if other != name else "" for other in names]
        table.add_row(_letter(index), *cells)
    return table


def _list(profile: CoRunProfile, degradations: list[Degradation]) -> Table:
    table = _columns("program", "alongside", "loses %", "rounds", left=2)
    for degradation in degradations:
        alongside = (
            ", ".join(printable(name) for name in degradation.alongside) + degradation.same_core * " (same core)"
        )
        table.add_row(printable(degradation.program), alongside, _cell(degradation), str(degradation.rounds))
    return table


def _cell(degradation: Degradation | None) -> str:
    if degradation is None:
        return "?"
    if not math.isfinite(degradation.low):
        return f"{percent(degradation.cost)} ± ?"
    half = (degradation.high - degradation.low) / 2
    return f"{percent(degradation.cost, half)} ± {percent(half, half)}"


def _ranks(values: dict[str, float | None]) -> dict[str, str]:
    """Return the ranks of values, 1 for the largest; unknown values have none."""
    known = sorted((value for value in values.values() if value is not None), reverse=True)
    return {name: str(known.index(value) + 1) for name, value in values.items() if value is not None}


def _letter(index: int) -> str:
    return ascii_uppercase[index] if index < len(ascii_uppercase) else str(index + 1)


def _columns(*heads: str, left: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, head in enumerate(heads):
        table.add_column(head, justify="left" if index < left else "right", no_wrap=True)
    return table
