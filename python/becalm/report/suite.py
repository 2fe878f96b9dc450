"""The report of a suite."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from becalm.nouns.rating import Rated, Ratings, Tuning
from becalm.report.fitted import Fitted
from becalm.report.table import Table as Cells
from becalm.wording.measurement import duration
from becalm.wording.metric import quantity
from becalm.wording.suite import UNKNOWN, copies, number

BY_CPU = "by CPU time"


def on_terminal(found: Ratings, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the sentences, then a table for each tuning."""
    parts: list[RenderableType] = [Text(line, style="" if plain else "bold") for line in found.sentence.splitlines()]
    for tuning in found.tunings:
        table = Table(title=_title(tuning), title_justify="left", box=None, pad_edge=False)
        for index, name in enumerate(_heads(found)):
            table.add_column(name, justify="right" if index else "left", no_wrap=True)
        for row in _rows(found, tuning, plain):
            table.add_row(*row)
        parts += [Text(), Fitted(table, (0,), (3, 1, 7, 5)[: 4 if found.copies is not None else 2])]
    if found.study is not None:
        parts += [
            Text(),
            Text(f"Study {found.study}. Show again: becalm show {found.study}", style="" if plain else "dim"),
        ]
    return Group(*parts)


def tables(found: Ratings) -> Iterator[Cells]:
    """Yield a table for each tuning."""
    for tuning in found.tunings:
        rows = tuple(tuple(row) for row in _rows(found, tuning, False))
        yield Cells(_title(tuning), tuple(_heads(found)), rows, tuple(range(1, len(_heads(found)))))


def as_markdown(found: Ratings) -> str:
    """Return the same as Markdown."""
    lines = [f"# {found.suite}", "", *(f"{line}  " for line in found.sentence.splitlines())]
    for tuning in found.tunings:
        heads = _heads(found)
        lines += ["", f"## {_title(tuning)}", "", _cells(heads), _cells(["---", *["---:"] * (len(heads) - 1)])]
        lines += [_cells([cell.replace("|", "\\|") for cell in row]) for row in _rows(found, tuning, False)]
    return "\n".join(lines) + "\n"


def _cells(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _title(tuning: Tuning) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in tuning.settings.items())
    return f"{tuning.name} ({settings})" if settings else tuning.name


def _heads(found: Ratings) -> list[str]:
    rates = [f"{copies(found.copies)}", "rate", "delay"] if found.copies is not None else []
    by_cpu = [BY_CPU] if _beside(found) else []
    return ["program", "reference", "median" if found.by_metric else "time", "spread", "ratio", *rates, *by_cpu]


def _beside(found: Ratings) -> bool:
    """Return whether there was other load during any run of one copy."""
    return any(each.contaminated for tuning in found.tunings for each in tuning.programs)


def _rows(found: Ratings, tuning: Tuning, plain: bool) -> list[list[str]]:
    rows = [_row(found, each) for each in tuning.programs]
    mean = ["geometric mean", "", "", "", number(tuning.ratio)]
    rows.append([*mean, "", number(tuning.rate), ""] if found.copies is not None else mean)
    if _beside(found):
        known = [number(each.cpu_ratio) if each.contaminated else "" for each in tuning.programs]
        rows = [[*row, cell] for row, cell in zip(rows, [*known, ""], strict=True)]
    return [[cell.replace(UNKNOWN, "-") for cell in row] for row in rows] if plain else rows


def _row(found: Ratings, each: Rated) -> list[str]:
    if each.metric:
        ends = [UNKNOWN if value is None else quantity(value, each.unit) for value in (each.reference, each.median)]
    else:
        ends = [UNKNOWN if value is None else duration(value) for value in (each.reference_ns, each.median_ns)]
    known = [each.name, *ends, _spread(each), number(each.ratio)]
    if found.copies is None:
        return known
    together = UNKNOWN if each.rate_median_ns is None else duration(each.rate_median_ns)
    return [*known, together, number(each.rate), UNKNOWN if each.delay is None else f"{each.delay:.2f}"]


def _spread(each: Rated) -> str:
    """Return the range of the runs over the median, as three runs have no useful standard deviation."""
    values, median = (each.values, each.median) if each.metric else (each.times_ns, each.median_ns)
    if median is None or len(values) < 2:
        return UNKNOWN
    return f"{(max(values) - min(values)) / median * 100:.1f} %"
