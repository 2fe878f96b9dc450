"""Settings on the terminal: the catalogue, a single knob, and settings that were applied, are active or restored."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Sequence

from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from becalm.nouns.domain import Scale
from becalm.nouns.excluded import Excluded
from becalm.nouns.knob import Knob
from becalm.report.line_breaks import Path
from becalm.results.settings import ApplyResult, BootApplied, BootEntry, Change, Held, Reset, Status
from becalm.wording.numbers import counted, duration

MANY = 3
"""The number of knobs missing for the same reason from which they share a sentence."""

MOST_ROWS = 12
"""The number of places of one knob that are listed one by one."""

WIDEST = 12
"""The length to which values are cut in the catalogue; `becalm knobs NAME` shows them whole."""

SCOPES = {
    "process": "Settings of the measured program (--set NAME=VALUE)",
    "live": "Settings of the running machine (restored when becalm ends)",
    "boot": "Settings of the next boot",
}

FEATURES = "Features of the scheduler (sched_feature_NAME; restored when becalm ends)"

Place = tuple[str, str, tuple[str, ...]]
"""A line about a place: knob, path, and its old and new values."""


def _table(*heads: str, widths: Sequence[int] = ()) -> Table:
    """Return a table whose columns stay on one line, except for paths and explanations; `widths`: the least widths."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_header=any(heads))
    for index, head in enumerate(heads):
        wraps = index == len(heads) - 1 or head == "place"
        table.add_column(
            head, overflow="fold", no_wrap=not wraps, min_width=widths[index] if index < len(widths) else None
        )
    return table


FEATURE = "sched_feature_"
"""The beginning of the names of scheduler features: there are many, and they have their own table."""


def catalogue(rows: Sequence[Knob]) -> RenderableType:
    """Return all knobs, grouped by what they act on; missing ones with the reason."""
    heads = ("name", "now", "tried", "why it matters, or why it is not here")
    features = [row for row in rows if row.name.startswith(FEATURE)]
    sections = {}
    for scope, title in SCOPES.items():
        sections[title] = _lines([row for row in rows if row.scope == scope and row not in features])
        if scope == "live" and features:
            sections[FEATURES] = _lines([replace(row, name=row.name.removeprefix(FEATURE)) for row in features])
    everything = [heads, *(line for part, _ in sections.values() for _, line in part)]
    widths = [max(len(line[column]) for line in everything) for column in range(3)]
    parts: list[RenderableType] = []
    for title, (here, missing) in sections.items():
        table = _table(*heads, widths=widths)
        for supported, line in here:
            table.add_row(*map(Text, line), style=None if supported else "dim")
        absent = _table("")
        for sentence in missing:
            absent.add_row(Text(sentence, "dim"))
        parts += [Text(title, "bold"), *([table] if here else []), *([absent] if missing else []), Text()]
    parts.append(
        Text("One in detail: becalm knobs NAME. Apply some: becalm apply PROFILE. Find the best: becalm tune", "dim")
    )
    return Group(*parts)


Line = tuple[str, str, str, str]


def _lines(rows: Sequence[Knob]) -> tuple[list[tuple[bool, Line]], list[str]]:
    """Return a line for each knob with whether it exists here, and sentences about many missing for one reason."""
    missing: dict[str, list[str]] = {}
    for row in rows:
        if not row.supported:
            missing.setdefault(row.reason or "", []).append(row.name)
    many = {reason: names for reason, names in missing.items() if len(names) >= MANY}
    lines = [(row.supported, _about(row)) for row in rows if row.supported or (row.reason or "") not in many]
    return lines, [f"Not here: {', '.join(names)}: {reason}" for reason, names in many.items()]


def _about(row: Knob) -> Line:
    """Return a knob's line in the catalogue."""
    consent = "(dangerous) " if row.group == "dangerous" else ""
    why = f"{consent}{row.rationale}" if row.supported else f"not here: {row.reason}"
    value = (row.value or "") if row.supported else ""
    if len(value) > WIDEST:
        value = f"{value[: WIDEST - 2]} …"
    return row.name, value, row.tuned_value or "", why


def knob(row: Knob) -> RenderableType:
    """Return everything about one knob."""
    table = _table("", "")
    table.columns[0].style = "dim"
    table.columns[0].no_wrap = True
    lines = [
        ("now", row.value if row.supported else f"not here: {row.reason}"),
        ("values", row.domain.words),
        ("scale", "logarithmic" if row.domain.range and row.domain.range.scale is Scale.LOG else None),
        ("tried by tune", row.tuned_value),
        ("why", row.rationale),
        ("costs", row.costs),
        ("moves too", ", ".join(row.moves)),
        (
            "acts on",
            {"process": "the measured program", "live": "the running machine", "boot": "the next boot"}[row.scope],
        ),
        ("group", row.group),
        ("needs", ", ".join(filter(None, [row.privilege, *row.requires]))),
        (
            "parameters",
            None if row.boot is None else " ".join(row.boot.parameters).replace("{}", "…"),
        ),
        ("known from", None if row.boot is None else row.boot.known_from.replace("`", "")),
        ("source", row.source),
    ]
    for head, value in lines:
        if value:
            table.add_row(head, Text(value))
    return Group(Text(row.name, "bold"), table)


def applied(done: ApplyResult, host: str = "local", *, root: str | None = None, sudo: bool = False) -> RenderableType:
    """Return the report on the settings that were applied, or would be, with the command that restores them."""
    command = reset_command(host, root=root, sudo=sudo)
    changed = [change for change in done.changes if change.changes]
    parts: list[RenderableType] = []
    if done.boot is not None:
        parts += _boot_applied(done.profile, done.boot, host, command)
    elif done.dry_run:
        parts.append(
            Text(f"Would change {counted(len(changed), 'value')} ({done.profile}). Nothing was written.", "bold")
        )
    elif not done.changes:
        parts.append(Text(f"No setting of {done.profile} was applied.", "bold"))
    else:
        took = "" if done.took_ns is None else f" in {duration(done.took_ns)}"
        parts.append(Text(f"Applied {done.profile}: {counted(len(changed), 'value')} changed{took}.", "bold"))
    if changed and done.boot is None:
        parts.append(_changes(changed))
    if done.skipped:
        parts += [Text("Left out:", "dim"), left_out(done.skipped)]
    parts += [Text(remark) for remark in done.remarks]
    if done.took_ns is not None:
        parts.append(Text(f"Restore with: {command}", "dim"))
    return Group(*parts)


def _boot_applied(profile: str, boot: BootApplied, host: str, command: str) -> list[RenderableType]:
    """Return the sentences about boot settings: the boots that have them, and the next step.

    `command`: the one that restores them.
    """
    words = " ".join(boot.parameters)
    machine = "this machine" if host == "local" else host
    next_step = "the same command again"
    if boot.state == "armed":
        return [
            Text(f"The next start of {machine}, and only that, uses {words} ({profile}). Restart it now.", "bold"),
            Text(
                f"Then give {next_step}: it reports whether the kernel accepted them, and with --keep every start uses "
                f"them. Without that, the machine restarts by itself {duration(boot.limit_s * 1e9)} after its start, "
                "and starts as usual."
            ),
            Text(f"Cancel it: {command}", "dim"),
        ]
    if boot.state == "on":
        return [
            Text(f"Applied until the next restart of {machine}: {words} ({profile}). The start went well.", "bold"),
            Text(f"To apply it at every start: {next_step} with --keep", "dim"),
        ]
    return [
        Text(f"Applied at every start of {machine}: {words} ({profile}).", "bold"),
        Text(f"Restore with: {command}, and restart", "dim"),
    ]


def reset_command(host: str = "local", *, root: str | None = None, sudo: bool = False) -> str:
    """Return the command that restores everything on a host, or in the directory `root`."""
    words = ["becalm", "reset"]
    words += [] if host == "local" else ["--host", host]
    words += ["--sudo"] if sudo else []
    words += [] if root is None else ["--root", root]
    return shlex.join(words)


def _changes(changes: Sequence[Change]) -> Table:
    return _places(
        [(change.knob, change.place, (change.before or "?", change.after)) for change in changes], "before", "after"
    )


def _places(places: Sequence[Place], *heads: str) -> Table:
    """Return a table with a line for each place; equal places of several CPUs or interrupts share a line."""
    table = _table("knob", "place", *heads)
    for column in table.columns[2:]:
        column.no_wrap = True
    by_knob: dict[str, list[Place]] = {}
    for line in folded(places):
        by_knob.setdefault(line[0], []).append(line)
    for name, group in by_knob.items():
        for _, place, values in group[:MOST_ROWS]:
            table.add_row(Text(name), Path(place), *map(Text, values))
        if len(group) > MOST_ROWS:
            table.add_row(name, f"and {len(group) - MOST_ROWS} more", *[""] * len(heads))
    return table


NUMBERED = re.compile(r"(?<=/cpu)\d+(?=/)|(?<=/irq/)\d+(?=/)")
"""The number of a CPU or of an interrupt, in which similar places differ."""


def folded(places: Sequence[Place]) -> list[Place]:
    """Return places with equal values that differ only in a number as one place: /sys/…/cpu0-3,6/….

    They have the order of the first of each; numbers are written as the kernel writes lists of CPUs.
    """
    alike: dict[tuple[str, str, tuple[str, ...]], list[int]] = {}
    for knob, place, values in places:
        match = NUMBERED.search(place)
        pattern = place if match is None else f"{place[: match.start()]}\0{place[match.end() :]}"
        alike.setdefault((knob, pattern, values), []).extend([] if match is None else [int(match.group())])
    return [
        (knob, pattern.replace("\0", _ranges(numbers)), values) for (knob, pattern, values), numbers in alike.items()
    ]


def _ranges(numbers: Sequence[int]) -> str:
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)


def left_out(skipped: Sequence[Excluded]) -> Table:
    """Return a table of the knobs that were not set, with the reasons."""
    table = _table("", "")
    for excluded in skipped:
        table.add_row(Text(excluded.knob, "dim"), Text(excluded.reason, "dim"))
    return table


def reset(done: Reset, host: str = "local", *, root: str | None = None, sudo: bool = False) -> RenderableType:
    """Return the report on the settings that were restored."""
    if not done.places and not done.sentence and not done.elsewhere and not done.staying:
        return Text("The machine is as it was: becalm has applied no settings.", "bold")
    parts: list[RenderableType] = []
    if done.sentence:
        parts.append(Text(done.sentence))
    if done.unsettled:
        parts.append(Text(f"{counted(len(done.unsettled), 'place')} not as before:", "bold red"))
        parts += [Text(f"  {line}") for line in done.unsettled]
        if any(place.fate == "foreign" for place in done.places):
            command = reset_command(host, root=root, sudo=sudo)
            parts.append(Text(f"To overwrite what somebody else set: {command} --force", "dim"))
    elif done.elsewhere:
        parts.append(Text(f"The machine is as it was before, but for {_interrupts(done.elsewhere)}:", "bold"))
    elif done.staying:
        only = (
            "1 interrupt that only a restart brings"
            if done.staying == 1
            else (f"{done.staying} interrupts that only a restart brings")
        )
        parts.append(Text(f"The machine is as it was before, but for {only} back to its CPU.", "bold"))
    else:
        parts.append(Text("The machine is as it was before.", "bold green"))
    parts += [Text(f"  {line}") for line in done.elsewhere]
    return Group(*parts)


def _interrupts(elsewhere: Sequence[str]) -> str:
    return "interrupts of a device" if len(elsewhere) == 1 else f"interrupts of {len(elsewhere)} devices"


def status(result: Status, host: str = "local", *, root: str | None = None) -> RenderableType:
    """Return the report on the settings that are applied, who applied them and when."""
    command = reset_command(host, root=root)
    parts: list[RenderableType] = []
    if result.busy:
        parts.append(Text(f"A becalm is at work: {result.busy}.", "bold"))
    if not result.anything:
        if not result.busy and result.boot is None and not result.elsewhere and not result.groups:
            parts.append(Text("The machine is as it was: becalm has applied no settings.", "bold"))
    else:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(result.at))
        title = result.title or "Settings"
        parts.append(Text(f"{title}: set by {result.user} on {when}.", "bold"))
        if not result.this_boot:
            parts.append(Text(f"The machine was restarted since, which restored them. {command} tidies up."))
        elif result.standing is not None:
            parts.append(Text(f"They stay until: {command}"))
        elif not result.busy:
            parts.append(Text(f"The becalm that set them ended without restoring them. Restore them: {command}", "red"))
        if result.damaged:
            parts.append(Text(f"The journal is damaged in line {', '.join(map(str, result.damaged))}.", "red"))
        changed = [place for place in result.places if not place.side_effect and place.now != place.original]
        rows = [(place.knob, place.place, (place.original, _now(place))) for place in changed]
        parts.append(_places(rows, "before", "now"))
    if result.boot is not None:
        parts += _boot(result.boot, command)
    if result.elsewhere:
        parts.append(Text(f"Moved by becalm, and not back yet: {_interrupts(result.elsewhere)}.", "bold"))
        parts += [Text(f"  {line}") for line in result.elsewhere]
    for group in result.groups:
        count = "a process" if group.processes == 1 else f"{group.processes} processes"
        inside = f" with {count} in it" if group.processes else ""
        parts.append(
            Text(f"A becalm that was killed left the control group {group.path}{inside}. Remove it: {command}")
        )
    if result.note:
        parts.append(Text(result.note, "dim"))
    return Group(*parts)


def _boot(entry: BootEntry, command: str) -> list[RenderableType]:
    """Return the sentences about a boot entry: whether the machine runs it or will, and its files."""
    if entry.damaged is not None:
        return [
            Text(
                f"{entry.damaged} cannot be understood: docs/how-to/reboot.md explains how to remove a boot entry.",
                "red",
            )
        ]
    parts: list[RenderableType] = []
    words = " ".join(entry.parameters) or "no parameters of becalm's"
    if entry.permanent and entry.armed:
        parts.append(
            Text(f"Every start of this machine uses becalm's boot entry, until: {command}. It has {words}.", "bold")
        )
        if entry.default_kernel is not None:
            parts.append(
                Text(
                    f"It starts {entry.kernel}; by default the machine would start {entry.default_kernel}. To have "
                    f"that one with it: {command}, restart, and apply it again.",
                    "red",
                )
            )
    elif entry.permanent and not entry.running:
        parts.append(
            Text(
                f"Every start was to use becalm's boot entry with {words}, but one did not go well, or somebody chose "
                "another entry. Since then the machine starts as usual.",
                "bold red",
            )
        )
    if entry.running and not (entry.permanent and entry.armed):
        which = f", {entry.entry}, with {words}," if entry.entry else " that was removed since,"
        parts.append(Text(f"This machine runs becalm's boot entry{which} until its next restart.", "bold"))
        if entry.waiting:
            limit = f" {duration(entry.limit_s * 1e9)} after its start" if entry.limit_s else ""
            parts.append(Text(f"It restarts by itself{limit}, unless becalm comes back to it before."))
    if not entry.entry:
        return parts
    if entry.armed and not entry.permanent:
        parts.append(Text(f"The next start of this machine, and only that, uses becalm's boot entry: {words}.", "bold"))
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.at))
    about = f" for {entry.title}" if entry.title else ""
    parts.append(Text(f"Entry {entry.entry} of {entry.loader}: written by {entry.user} on {when}{about}."))
    if not (entry.armed or entry.running):
        parts.append(Text("Nothing starts it any more."))
    parts += [Text(f"  {file.path}: somebody has changed it", "red") for file in entry.files if file.state == "changed"]
    parts.append(Text(f"Remove it: {command}"))
    return parts


def _now(held: Held) -> str:
    """Return the current value of a place, with becalm's own where something else changed it, or the requested one
    where the kernel changed it."""
    now = held.now or "?"
    if held.ours not in (None, held.now):
        return f"{now} (becalm set {held.ours})"
    return now if held.requested is None else f"{now} (requested {held.requested})"
