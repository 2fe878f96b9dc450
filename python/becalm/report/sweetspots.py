"""Sweet spots on the terminal, in Markdown and as a page: ratio curves, spots, migrations with what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from becalm.migration.spotted import Spotted, ratio
from becalm.report import markdown, sweetspots_figures
from becalm.report.design.terminal import grid
from becalm.report.page import Part, filled
from becalm.report.table import Table
from becalm.wording import sweetspots as wording
from becalm.wording.measurement import duration
from becalm.wording.printable import one_line

SHADES, ASCII = " ▁▂▃▄▅▆▇█", " .:-=+*#@"
COLUMNS = 56
"""Characters of a curve: a line fits 80 columns."""

MOST = 12
"""Programs, spots and migrations that are listed."""


def on_terminal(found: Spotted, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the sentence, curves and tables."""
    del columns
    parts: list[RenderableType] = [Text(found.sentence, "" if plain else "bold"), Text(), Text(wording.legend(found))]
    parts += [Text(line) for line in curves(found, ASCII if plain else SHADES)]
    for table in tables(found):
        parts += [Text(), grid(table, plain)]
    if lines := wording.moved(found):
        parts += [Text(), *map(Text, lines)]
    parts += [Text(), Text(wording.origin(found), "" if plain else "dim")]
    return Group(*parts)


def as_markdown(found: Spotted) -> str:
    """Return the same in Markdown."""
    lines = [f"**{found.sentence}**", "", wording.legend(found), "", "```", *curves(found, SHADES), "```"]
    for table in tables(found):
        lines += ["", *([f"**{table.title}**", ""] if table.title else []), *markdown.grid(table)]
    for line in wording.moved(found):
        lines += ["", line]
    return markdown.written([*lines, "", wording.origin(found)])


def as_html(found: Spotted) -> str:
    """Return the page."""
    title, *lines = found.sentence.splitlines()
    programs, *others = tables(found)
    parts = [
        Part(
            wording.drawn(found),
            tuple(sweetspots_figures.curves(found)),
            programs,
        )
    ]
    parts += [Part(each.title[:1].upper() + each.title[1:] or "Sweet spots", (), each) for each in others]
    return filled(
        "parts.html",
        title=title,
        lines=(*lines, *wording.moved(found), wording.origin(found)),
        parts=parts,
        findings=(),
        facts="",
    )


def curves(found: Spotted, shades: str) -> list[str]:
    """Return the share of references that miss over time, a line a program, from 0 to the largest. `?`: not known."""
    lines = []
    first, last = found.found["from_ns"], found.found["until_ns"]
    for number, seen in list(enumerate(found.programs))[:MOST]:
        cells: list[list[int] | None] = [None] * COLUMNS
        for each in found.windows(number):
            ends = (each["from_ns"], max(each["from_ns"], each["until_ns"] - 1))
            begin, end = (min(COLUMNS - 1, (at - first) * COLUMNS // max(1, last - first)) for at in ends)
            for at in range(max(0, begin), end + 1) if each["known"] else ():
                cell = cells[at] or [0, 0]
                cells[at] = [cell[0] + each["references"], cell[1] + each["misses"]]
        ratios = [None if each is None else ratio(*each) for each in cells]
        top = max((each for each in ratios if each is not None), default=0.0)
        drawn = "".join("?" if each is None else shades[round(each / top * 8) if top else 0] for each in ratios)
        lines.append(f"{seen['task']:>7} |{drawn}| {100 * top:.1f} %")
        lines += _marks(found, number)
    return lines


def _marks(found: Spotted, number: int) -> list[str]:
    """Return a line below a program's curve with its own marks; none where it set none."""
    first, last = found.found["from_ns"], found.found["until_ns"]
    times = [each["time_ns"] for each in found.found.get("marks", ()) if each["program"] == number]
    places = {min(COLUMNS - 1, max(0, (at - first) * COLUMNS // max(1, last - first))) for at in times}
    row = "".join("^" if at in places else " " for at in range(COLUMNS))
    return [f"{'marks':>7} |{row}| {len(times)}"] if times else []


def tables(found: Spotted) -> Iterator[Table]:
    """Yield programs, spots, migrations."""
    rows, (counted, missed) = [], wording.counts(found)
    for number, seen in list(enumerate(found.programs))[:MOST]:
        mine = [each["kind"] for each in found.spots if each["program"] == number]
        kinds = [mine.count(kind) for kind in found.kinds]
        own = seen["own"]
        share = f"{100 * ratio(*own):.2f} %" if own[0] else ""
        rows.append((one_line(found.label(number)), f"{own[0]:,}", share, *(f"{each}" for each in kinds)))
    heads = [wording.COUNTED[kind] for kind in found.kinds]
    yield Table("", ("task", counted, missed, *heads), tuple(rows), tuple(range(1, 3 + len(heads))))
    names = [one_line(found.label(number)) for number in range(len(found.programs))]
    spots = [
        (_at(found, each["time_ns"]), names[each["program"]], wording.KINDS[each["kind"]], _share(each))
        for each in found.spots[:MOST]
    ]
    if spots:
        title = f"sweet spots, the first {MOST} of {len(found.spots)}" if len(found.spots) > MOST else ""
        yield Table(title, ("at", "task", "sweet spot", missed), tuple(spots), (0, 3))
    ours = () if found.move is None else tuple(found.move["migrations"])
    migrations = list(enumerate(found.found["migrations"]))
    # What was asked for is listed in any case, however often the kernel moved it.
    others = [each for each in migrations if each[0] not in ours][:MOST]
    listed = sorted([*others, *(migrations[number] for number in ours)], key=lambda each: each[0])
    moved = [
        (
            _at(found, each["time_ns"]),
            names[each["program"]],
            f"{each['from']} to {each['to']}",
            *_excess(each),
            _lasted(found, each),
            *(("becalm" if number in ours else "",) if found.move is not None else ()),
        )
        for number, each in listed
    ]
    if moved:
        head = ("at", "task", "CPU", "misses more" if found.miss_ratio else "new more", f"{counted} more", "for")
        more = () if found.move is None else ("by",)
        yield Table("migrations", (*head, *more), tuple(moved), (0, 3, 4, 5))


def _excess(moved: dict[str, Any]) -> tuple[str, str]:
    found = []
    for name, error in (("excess_misses", "error"), ("excess_references", "references_error")):
        known = moved[name] is not None
        found.append(f"{moved[name]:,.0f} ± {2 * moved[error]:,.0f}" if known else "not known")
    return found[0], found[1]


def _lasted(found: Spotted, moved: dict[str, Any]) -> str:
    """Return how long the misses of a move lasted."""
    return "" if moved["until_ns"] is None else _time(found, moved["until_ns"] - moved["time_ns"])


def _at(found: Spotted, at: int) -> str:
    """Return a time since the beginning."""
    return _time(found, at - found.start_ns)


def _time(found: Spotted, at: int) -> str:
    return duration(at) if found.unit == "ns" else f"{at:,}"


def _share(spot: dict[str, Any]) -> str:
    references, misses = spot["counts"]
    return f"{100 * ratio(references, misses):.1f} %" if references else ""
