"""A profile of tuned (tuned.conf(5)), which itself restores what it set when another profile replaces it."""

from __future__ import annotations

from collections.abc import Sequence

from becalm.line import Line
from becalm.report.export_settings.lines import comment, file_of, fixed, head, sysctl_key, title, together
from becalm.results.export_settings import Origin, ProductionFile, SettingPlace, Where
from becalm.wording.export_settings import about


def write(origin: Origin, places: Sequence[SettingPlace]) -> tuple[ProductionFile, ...]:
    """Return the profile; nothing without places."""
    if not places:
        return ()
    path = Line(f"/etc/tuned/{origin.name}/tuned.conf")
    install = fixed(
        "tuned-adm active   # remember it: this profile takes its place", f"tuned-adm profile {origin.name}"
    )
    undo = fixed("tuned-adm profile PREVIOUS", f"rm -r /etc/tuned/{origin.name}")
    lines = [
        *head(origin, install, undo),
        *fixed(
            "[main]",
            f"summary=becalm: {title(origin)}",
            "# This profile replaces the present one. To keep what that does, name it here:",
            "# include=PREVIOUS",
        ),
    ]
    parts = {
        "sysctl": [(sysctl_key(place.path), place) for place in places if place.where is Where.SYSCTL],
        "sysfs": [(place.path, place) for place in together(places) if place.where in (Where.FILE, Where.DEBUG)],
        "cpu": [(Line("force_latency"), place) for place in places if place.where is Where.LATENCY],
    }
    for name, pairs in parts.items():
        if pairs:
            lines += fixed("", f"[{name}]")
        for key, place in pairs:
            lines += [*comment([about(place)]), Line(f"{_literal(key)}={_literal(place.after)}")]
    boot = [place for place in places if place.where is Where.BOOT]
    if boot:
        lines += [*fixed("", "[bootloader]"), *comment(about(place) for place in boot)]
        lines.append(Line(f"cmdline={' '.join(_literal(place.path) for place in boot)}"))
    return (file_of("tuned", path, lines, install, undo, places),)


def _literal(value: Line) -> Line:
    """Return a value in which tuned expands no variable and calls no function (tuned/profiles/variables.py)."""
    return Line(value.replace("${", r"\${"))
