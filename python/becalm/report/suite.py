"""The report of a suite."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from becalm.report.table import Table as Cells
from becalm.report.table_width import Fitted
from becalm.results.suite import Rated, Ratings, Tuning
from becalm.wording.metric import quantity
from becalm.wording.numbers import duration
from becalm.wording.suite import UNKNOWN, copies, number

BY_CPU = "by CPU time"


def on_terminal(ratings: Ratings, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the sentences, then a table for each tuning."""
    parts: list[RenderableType] = [Text(line, style="" if plain else "bold") for line in ratings.sentence.splitlines()]
    for tuning in ratings.tunings:
        table = Table(title=_title(tuning), title_justify="left", box=None, pad_edge=False)
        for index, name in enumerate(_heads(ratings)):
            table.add_column(name, justify="right" if index else "left", no_wrap=True)
        for row in _rows(ratings, tuning, plain):
            table.add_row(*row)
        parts += [Text(), Fitted(table, (0,), (3, 1, 7, 5)[: 4 if ratings.copies is not None else 2])]
    if ratings.study is not None:
        parts += [
            Text(),
            Text(f"Study {ratings.study}. Show again: becalm show {ratings.study}", style="" if plain else "dim"),
        ]
    return Group(*parts)


def tables(ratings: Ratings) -> Iterator[Cells]:
    """Yield a table for each tuning."""
    for tuning in ratings.tunings:
        rows = tuple(tuple(row) for row in _rows(ratings, tuning, False))
        yield Cells(_title(tuning), tuple(_heads(ratings)), rows, tuple(range(1, len(_heads(ratings)))))


def as_markdown(ratings: Ratings) -> str:
    """Return the report as Markdown."""
    lines = [f"# {ratings.suite}", "", *(f"{line}  " for line in ratings.sentence.splitlines())]
    for tuning in ratings.tunings:
        heads = _heads(ratings)
        lines += ["", f"## {_title(tuning)}", "", _cells(heads), _cells(["---", *["---:"] * (len(heads) - 1)])]
        lines += [_cells([cell.replace("|", "\\|") for cell in row]) for row in _rows(ratings, tuning, False)]
    return "\n".join(lines) + "\n"


def _cells(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _title(tuning: Tuning) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in tuning.settings.items())
    return f"{tuning.name} ({settings})" if settings else tuning.name


def _heads(ratings: Ratings) -> list[str]:
    rates = [f"{copies(ratings.copies)}", "rate", "delay"] if ratings.copies is not None else []
    by_cpu = [BY_CPU] if _alongside(ratings) else []
    return ["program", "reference", "median" if ratings.by_metric else "time", "spread", "ratio", *rates, *by_cpu]


def _alongside(ratings: Ratings) -> bool:
    """Return whether there was other load during any run of a single copy."""
    return any(program.contaminated for tuning in ratings.tunings for program in tuning.programs)


def _rows(ratings: Ratings, tuning: Tuning, plain: bool) -> list[list[str]]:
    rows = [_row(ratings, program) for program in tuning.programs]
    mean = ["geometric mean", "", "", "", number(tuning.ratio)]
    rows.append([*mean, "", number(tuning.rate), ""] if ratings.copies is not None else mean)
    if _alongside(ratings):
        known = [number(program.cpu_ratio) if program.contaminated else "" for program in tuning.programs]
        rows = [[*row, cell] for row, cell in zip(rows, [*known, ""], strict=True)]
    return [[cell.replace(UNKNOWN, "-") for cell in row] for row in rows] if plain else rows


def _row(ratings: Ratings, rated: Rated) -> list[str]:
    if rated.metric:
        ends = [UNKNOWN if value is None else quantity(value, rated.unit) for value in (rated.reference, rated.median)]
    else:
        ends = [UNKNOWN if value is None else duration(value) for value in (rated.reference_ns, rated.median_ns)]
    known = [rated.name, *ends, _spread(rated), number(rated.ratio)]
    if ratings.copies is None:
        return known
    together = UNKNOWN if rated.rate_median_ns is None else duration(rated.rate_median_ns)
    return [*known, together, number(rated.rate), UNKNOWN if rated.delay is None else f"{rated.delay:.2f}"]


def _spread(rated: Rated) -> str:
    """Return the range of the runs over the median, as three runs have no useful standard deviation."""
    values, median = (rated.values, rated.median) if rated.metric else (rated.times_ns, rated.median_ns)
    if median is None or len(values) < 2:
        return UNKNOWN
    return f"{(max(values) - min(values)) / median * 100:.1f} %"
