"""Sweet spots on the terminal, in Markdown and as a page: curves of miss ratios, spots, migrations with their costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.migration.sweetspots import Spotted, ratio
from becalm.report import markdown, sweetspots_figures
from becalm.report.design.terminal import grid
from becalm.report.page import Part, filled
from becalm.report.table import Table
from becalm.wording import sweetspots as wording
from becalm.wording.numbers import duration
from becalm.wording.printable import one_line

SHADES, ASCII = " ▁▂▃▄▅▆▇█", " .:-=+*#@"
COLUMNS = 56
"""The length of a curve in characters, with which a line fits into 80 columns."""

MOST = 12
"""The number of programs, of spots and of migrations that are listed."""


def on_terminal(spotted: Spotted, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the sentence, curves and tables."""
    del columns
    parts: list[RenderableType] = [
        Text(spotted.sentence, "" if plain else "bold"),
        Text(),
        Text(wording.legend(spotted)),
    ]
    parts += [Text(line) for line in curves(spotted, ASCII if plain else SHADES)]
    for table in tables(spotted):
        parts += [Text(), grid(table, plain)]
    if lines := wording.moved(spotted):
        parts += [Text(), *map(Text, lines)]
    parts += [Text(), Text(wording.origin(spotted), "" if plain else "dim")]
    return Group(*parts)


def as_markdown(spotted: Spotted) -> str:
    """Return the report in Markdown."""
    lines = [f"**{spotted.sentence}**", "", wording.legend(spotted), "", "```", *curves(spotted, SHADES), "```"]
    for table in tables(spotted):
        lines += ["", *([f"**{table.title}**", ""] if table.title else []), *markdown.grid(table)]
    for line in wording.moved(spotted):
        lines += ["", line]
    return markdown.written([*lines, "", wording.origin(spotted)])


def as_html(spotted: Spotted) -> str:
    """Return the page."""
    title, *lines = spotted.sentence.splitlines()
    programs, *others = tables(spotted)
    parts = [
        Part(
            wording.drawn(spotted),
            tuple(sweetspots_figures.curves(spotted)),
            programs,
        )
    ]
    parts += [Part(other.title[:1].upper() + other.title[1:] or "Sweet spots", (), other) for other in others]
    return filled(
        "parts.html",
        title=title,
        lines=(*lines, *wording.moved(spotted), wording.origin(spotted)),
        parts=parts,
        findings=(),
        facts="",
    )


def curves(spotted: Spotted, shades: str) -> list[str]:
    """Return the miss ratio over time as characters, a line per program, from 0 to its maximum; `?`: unknown."""
    lines = []
    first, last = spotted.detection["from_ns"], spotted.detection["until_ns"]
    for number, seen in list(enumerate(spotted.programs))[:MOST]:
        cells: list[list[int] | None] = [None] * COLUMNS
        for window in spotted.windows(number):
            ends = (window["from_ns"], max(window["from_ns"], window["until_ns"] - 1))
            begin, end = (min(COLUMNS - 1, (at - first) * COLUMNS // max(1, last - first)) for at in ends)
            for at in range(max(0, begin), end + 1) if window["known"] else ():
                cell = cells[at] or [0, 0]
                cells[at] = [cell[0] + window["references"], cell[1] + window["misses"]]
        ratios = [None if cell is None else ratio(*cell) for cell in cells]
        top = max((value for value in ratios if value is not None), default=0.0)
        curve = "".join("?" if value is None else shades[round(value / top * 8) if top else 0] for value in ratios)
        lines.append(f"{seen['task']:>7} |{curve}| {100 * top:.1f} %")
        lines += _marks(spotted, number)
    return lines


def _marks(spotted: Spotted, number: int) -> list[str]:
    """Return a line with a program's own marks below its curve; none where it set none."""
    first, last = spotted.detection["from_ns"], spotted.detection["until_ns"]
    times = [mark["time_ns"] for mark in spotted.detection.get("marks", ()) if mark["program"] == number]
    places = {min(COLUMNS - 1, max(0, (at - first) * COLUMNS // max(1, last - first))) for at in times}
    row = "".join("^" if at in places else " " for at in range(COLUMNS))
    return [f"{'marks':>7} |{row}| {len(times)}"] if times else []


def tables(spotted: Spotted) -> Iterator[Table]:
    """Yield the tables of programs, spots and migrations."""
    rows, (counted, missed) = [], wording.counts(spotted)
    for number, seen in list(enumerate(spotted.programs))[:MOST]:
        spot_kinds = [spot["kind"] for spot in spotted.spots if spot["program"] == number]
        counts = [spot_kinds.count(kind) for kind in spotted.kinds]
        references, misses = seen["own"]
        share = f"{100 * ratio(references, misses):.2f} %" if references else ""
        rows.append((one_line(spotted.label(number)), f"{references:,}", share, *map(str, counts)))
    heads = [wording.COUNTED[kind] for kind in spotted.kinds]
    yield Table("", ("task", counted, missed, *heads), tuple(rows), tuple(range(1, 3 + len(heads))))
    names = [one_line(spotted.label(number)) for number in range(len(spotted.programs))]
    spots = [
        (_at(spotted, spot["time_ns"]), names[spot["program"]], wording.KINDS[spot["kind"]], _share(spot))
        for spot in spotted.spots[:MOST]
    ]
    if spots:
        title = f"sweet spots, the first {MOST} of {len(spotted.spots)}" if len(spotted.spots) > MOST else ""
        yield Table(title, ("at", "task", "sweet spot", missed), tuple(spots), (0, 3))
    requested = () if spotted.move is None else tuple(spotted.move["migrations"])
    migrations = list(enumerate(spotted.detection["migrations"]))
    # The requested move is listed in any case, however often the kernel moved the task.
    others = [migration for migration in migrations if migration[0] not in requested][:MOST]
    listed = sorted([*others, *(migrations[number] for number in requested)], key=lambda migration: migration[0])
    moves = [
        (
            _at(spotted, migration["time_ns"]),
            names[migration["program"]],
            f"{migration['from']} to {migration['to']}",
            *_excess(migration),
            _lasted(spotted, migration),
            *(("becalm" if number in requested else "",) if spotted.move is not None else ()),
        )
        for number, migration in listed
    ]
    if moves:
        head = ("at", "task", "CPU", "misses more" if spotted.miss_ratio else "new more", f"{counted} more", "for")
        more = () if spotted.move is None else ("by",)
        yield Table("migrations", (*head, *more), tuple(moves), (0, 3, 4, 5))


def _excess(migration: dict[str, Any]) -> tuple[str, str]:
    cells = []
    for name, error in (("excess_misses", "error"), ("excess_references", "references_error")):
        known = migration[name] is not None
        cells.append(f"{migration[name]:,.0f} ± {2 * migration[error]:,.0f}" if known else "not known")
    return cells[0], cells[1]


def _lasted(spotted: Spotted, migration: dict[str, Any]) -> str:
    """Return how long the additional misses after a migration lasted."""
    return "" if migration["until_ns"] is None else _time(spotted, migration["until_ns"] - migration["time_ns"])


def _at(spotted: Spotted, at: int) -> str:
    """Return a time relative to the beginning."""
    return _time(spotted, at - spotted.start_ns)


def _time(spotted: Spotted, at: int) -> str:
    return duration(at) if spotted.unit == "ns" else f"{at:,}"


def _share(spot: dict[str, Any]) -> str:
    references, misses = spot["counts"]
    return f"{100 * ratio(references, misses):.1f} %" if references else ""
