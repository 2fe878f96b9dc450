"""Settings on the terminal: the catalogue, one knob, what was put on, what is on, what was taken off."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from becalm.applied import Applied, Change, Reset, Status
from becalm.knobs import Knob
from becalm.report.sentence import counted, duration
from becalm.steadiness import Excluded

MOST_ROWS = 12
"""So many places of one knob are shown one by one."""


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_header=any(heads))
    for head in heads:
        table.add_column(head, overflow="fold", no_wrap=head in ("name", "group", "now", "tried", "knob"))
    return table


def catalogue(rows: Sequence[Knob]) -> RenderableType:
    """All knobs, in groups by where they act; those that are missing with the reason."""
    parts: list[RenderableType] = []
    titles = {
        "process": "Of the measured program (--set NAME=VALUE)",
        "live": "Of the running machine (put back when becalm ends)",
        "boot": "At the next boot",
    }
    for scope, title in titles.items():
        table = _table("name", "now", "tried", "group", "why it matters, or why not here")
        for row in (each for each in rows if each.scope == scope):
            about = row.matters if row.supported else (row.reason or "")
            style = None if row.supported else "dim"
            table.add_row(row.name, row.value or "", row.steady or "", row.group, about, style=style)
        parts += [Text(title, "bold"), table, Text()]
    parts.append(
        Text("One in detail: becalm knobs NAME. Put some on: becalm apply PROFILE. Find yours: becalm tune", "dim")
    )
    return Group(*parts)


def knob(row: Knob) -> RenderableType:
    """Everything about one knob."""
    table = _table("", "")
    table.columns[0].style = "dim"
    table.columns[0].no_wrap = True
    lines = [
        ("now", row.value if row.supported else f"not here: {row.reason}"),
        ("values", row.domain),
        ("choices here", ", ".join(row.choices or ())),
        ("tried by tune", row.steady),
        ("why", row.matters),
        ("costs", row.costs),
        (
            "acts on",
            {"process": "the measured program", "live": "the running machine", "boot": "the next boot"}[row.scope],
        ),
        ("group", row.group),
        ("needs", ", ".join(filter(None, [row.privilege, *row.needs]))),
        ("source", row.source),
    ]
    for head, value in lines:
        if value:
            table.add_row(head, value)
    return Group(Text(row.name, "bold"), table)


def applied(done: Applied) -> RenderableType:
    """What was put on, or would be."""
    changed = [each for each in done.changes if each.changes]
    parts: list[RenderableType] = []
    if done.dry_run:
        parts.append(
            Text(f"Would change {counted(len(changed), 'place')} ({done.profile}). Nothing was written.", "bold")
        )
    elif not done.changes:
        parts.append(Text(f"Nothing of {done.profile} can be set here without a program.", "bold"))
    else:
        took = "" if done.took_ns is None else f" It took {duration(done.took_ns)}."
        parts.append(Text(f"On: {counted(len(changed), 'place')} changed ({done.profile}).{took}", "bold"))
    if changed:
        parts.append(_changes(changed))
    if done.skipped:
        parts += [Text("Left out:", "dim"), left_out(done.skipped)]
    parts += [Text(remark) for remark in done.remarks]
    if done.took_ns is not None:
        parts.append(Text("Take it off: becalm reset", "dim"))
    return Group(*parts)


def _changes(changes: Sequence[Change]) -> Table:
    table = _table("knob", "place", "before", "now")
    by_knob: dict[str, list[Change]] = {}
    for each in changes:
        by_knob.setdefault(each.knob, []).append(each)
    for name, group in by_knob.items():
        for each in group[:MOST_ROWS]:
            table.add_row(name, each.place, each.before or "?", each.after)
        if len(group) > MOST_ROWS:
            table.add_row(name, f"and {len(group) - MOST_ROWS} more", "", "")
    return table


def left_out(skipped: Sequence[Excluded]) -> Table:
    """Knobs with the reason why they were not set."""
    table = _table("", "")
    for each in skipped:
        table.add_row(Text(each.knob, "dim"), Text(each.reason, "dim"))
    return table


def reset(done: Reset) -> RenderableType:
    """What was taken off."""
    if not done.places and not done.sentence:
        return Text("Nothing of becalm's is on: the machine is as it was.", "bold")
    parts: list[RenderableType] = []
    if done.sentence:
        parts.append(Text(done.sentence))
    if done.unsettled:
        parts.append(Text(f"{counted(len(done.unsettled), 'place')} not as before:", "bold red"))
        parts += [Text(f"  {line}") for line in done.unsettled]
        if any(each.fate == "foreign" for each in done.places):
            parts.append(Text("To overwrite what somebody else set: becalm reset --force", "dim"))
    else:
        parts.append(Text("The machine is as it was before.", "bold green"))
    return Group(*parts)


def status(found: Status) -> RenderableType:
    """Who set what when."""
    parts: list[RenderableType] = []
    if found.busy:
        parts.append(Text(f"A becalm is at work: {found.busy}.", "bold"))
    if not found.anything:
        if not found.busy:
            parts.append(Text("Nothing of becalm's is on: the machine is as it was.", "bold"))
    else:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found.at))
        what = found.title or "Settings"
        parts.append(Text(f"{what}: set by {found.user} on {when}.", "bold"))
        if not found.this_boot:
            parts.append(Text("The machine was restarted since, which took them off. becalm reset tidies up."))
        elif found.kept is not None:
            parts.append(Text("They stay until: becalm reset"))
        elif not found.busy:
            parts.append(Text("Their becalm is gone without having put them back. Put them back: becalm reset", "red"))
        if found.damaged:
            parts.append(Text(f"The journal is damaged in line {', '.join(map(str, found.damaged))}.", "red"))
        table = _table("knob", "place", "before", "set to", "now")
        for each in found.places:
            if not each.side_effect and (each.now != each.original):
                table.add_row(each.knob, each.place, each.original, each.ours or "", each.now or "?")
        parts.append(table)
    if found.note:
        parts.append(Text(found.note, "dim"))
    return Group(*parts)
