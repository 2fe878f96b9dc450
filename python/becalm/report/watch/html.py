"""One watched run as a self-contained HTML page, without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from becalm.load.metrics import Unit
from becalm.load.run_report import MeasureCourse, Watched
from becalm.load.waterfall import REFERENCE, UNEXPLAINED, Waterfall
from becalm.report.table import Table
from becalm.report.watch import tables
from becalm.wording import watch as sentences

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --faint: #d0d7de; --before: #2da44e; --added: #cf222e;
  --rest: #bf8700; --line: #0969da; --page: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --faint: #3d444d; --before: #3fb950; --added: #f85149;
  --rest: #d29922; --line: #58a6ff; --page: #0d1117 } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 52rem;
  margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% } td, th { padding: .2rem .6rem .2rem 0; text-align: left;
  border-bottom: 1px solid var(--faint) } .n { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap }
h1 { font-size: 1.3rem } h2 { font-size: 1.05rem; margin-top: 2rem } p.note { opacity: .75; font-size: .9rem }
svg { display: block; width: 100%; min-width: 16rem } td:first-child, td:last-child { white-space: nowrap }
.scroll { overflow-x: auto } h1, p, td { overflow-wrap: anywhere }
@media (max-width: 34rem) { table { font-size: .85rem } svg { min-width: 4rem }
  td:first-child, td:last-child { white-space: normal } td, th { padding-right: .4rem } }
"""

WIDTH, HEIGHT = 720, 28
COLORS = {REFERENCE: "before", UNEXPLAINED: "rest"}


def page(watched: Watched) -> str:
    """Return the page."""
    text = "\n".join(_parts(watched))
    return text.encode("utf-8", "replace").decode("utf-8") + "\n"


def _parts(watched: Watched) -> Iterator[str]:
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(watched.program)}</title><style>{STYLE}</style></head><body>"
    for index, line in enumerate(watched.sentence.splitlines()):
        yield f"<p>{escape(line)}</p>" if index else f"<h1>{escape(line)}</h1>"
    if watched.waterfall is not None:
        yield from _table(_waterfall(watched.waterfall), raw=1)
    if (delays := tables.delays(watched)) is not None:
        yield from _table(delays)
    if watched.courses:
        yield from _table(_courses(watched), raw=1)
    if others := sentences.consumers(watched):
        yield f"<p>Others that used most CPU time: {escape(others)}.</p>"
    if sources := sentences.interrupters(watched):
        yield f"<p>Interrupts of the machine: {escape(sources)}.</p>"
    for line in (sentences.known(watched), *watched.more, sentences.cost(watched)):
        if line:
            yield f'<p class="note">{escape(line)}</p>'
    yield "</body></html>"


def _table(table: Table, raw: int | None = None) -> Iterator[str]:
    """Yield a table; `raw`: the column whose cells are markup already."""
    yield f'<h2>{escape(table.title)}</h2><div class="scroll"><table>'
    if any(table.head):
        heads = (f"<th{_kind(table, i)}>{escape(cell)}</th>" for i, cell in enumerate(table.head))
        yield f"<tr>{''.join(heads)}</tr>"
    for row in table.rows:
        cells = (f"<td{_kind(table, i)}>{cell if i == raw else escape(cell)}</td>" for i, cell in enumerate(row))
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</table></div>"
    for line in table.note.splitlines():
        yield f'<p class="note">{escape(line)}</p>'


def _kind(table: Table, index: int) -> str:
    return ' class="n"' if index in table.numbers else ""


def _waterfall(falls: Waterfall) -> Table:
    """Return the table with a bar in each row that begins where the one before ends."""
    table, begin, rows = tables.bars(falls), 0.0, []
    scale = WIDTH / falls.wall_ns if falls.wall_ns else 0.0
    for bar, cells in zip(falls.bars, table.rows, strict=False):
        length = bar.ns or 0.0
        left, right = sorted((begin * scale, (begin + length) * scale))
        begin += length
        rectangle = ""
        if length:
            wide = max(2.0, right - left)
            box = f'x="{min(left, WIDTH - wide):.1f}" y="4" width="{wide:.1f}" height="{HEIGHT - 8}"'
            rectangle = f'<rect {box} fill="var(--{COLORS.get(bar.name, "added")})"/>'
        rows.append((cells[0], _svg(rectangle, f"{cells[0]}: {cells[1]}"), *cells[1:]))
    last = table.rows[-1]
    return Table(table.title, ("", "", *table.head[1:]), (*rows, (last[0], "", *last[1:])), (2, 3), table.note)


def _courses(watched: Watched) -> Table:
    table = tables.machine(watched)
    rows = tuple(
        (cells[0], _course(course, watched), *cells[1:])
        for course, cells in zip(watched.courses, table.rows, strict=True)
    )
    return Table(table.title, ("", "over time", *table.head[1:]), rows, (2, 3, 4), table.note)


def _course(course: MeasureCourse, watched: Watched) -> str:
    """Return a measure as steps over the time of the run, from zero to its peak, with gaps where it is unknown."""
    known = [value for value in course.values if value is not None]
    if not known or not course.at_ns:
        return ""
    unit, cpus = Unit(course.unit), float((watched.load.cpus if watched.load else None) or 1)
    high = max(max(known), 1.0 if unit is Unit.SHARE else cpus if unit is Unit.TASKS else 0.0) or 1.0
    path, begin, drawing = [], 0.0, False
    for end, value in zip(course.at_ns, course.values, strict=True):
        left, right = (WIDTH * at / course.at_ns[-1] for at in (begin, end))
        begin = end
        if value is None:
            drawing = False
            continue
        y = HEIGHT - 2 - (HEIGHT - 4) * value / high
        path.append(f"{'L' if drawing else 'M'}{left:.1f} {y:.1f}H{right:.1f}")
        drawing = True
    description = f"{course.label}: mean {tables.cells(course)[0]}, peak {tables.cells(course)[1]}"
    line = f'<path d="{"".join(path)}" fill="none" stroke="var(--line)" stroke-width="2"/>'
    return _svg(line, description)


def _svg(inside: str, description: str) -> str:
    head = f'<svg role="img" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" height="{HEIGHT}"'
    return f"{head}><title>{escape(description)}</title>{inside}</svg>"
