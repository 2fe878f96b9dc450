"""A shell script that applies settings of the machine and restores them, for systems without systemd."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from becalm.line import Line
from becalm.report.export_settings.lines import comment, file_of, fixed, head, shell_path, together
from becalm.results.export_settings import Origin, ProductionFile, SettingPlace
from becalm.wording.export_settings import about

PUT = """\
failed=0
put() { # VALUE FILE...
    value=$1; shift
    for file in "$@"; do
        echo "$value" > "$file" || { echo "$file does not take $value." >&2; failed=1; }
    done
}"""


def write(origin: Origin, places: Sequence[SettingPlace]) -> tuple[ProductionFile, ...]:
    """Return the script; nothing without places."""
    if not places:
        return ()
    path = Line(f"/usr/local/sbin/{origin.name}")
    install, undo = fixed(f"sh {path} on"), fixed(f"sh {path} off", f"rm {path}")
    merged = together(places)
    lines = [Line("#!/bin/sh"), *head(origin, install, undo)]
    lines += fixed(*PUT.splitlines(), "", 'case "${1:-}" in', "on)")
    for place in merged:
        lines += [Line(f"    {line}") for line in comment([about(place)])]
        lines.append(_put(place.after, place.path))
    lines += fixed("    ;;", "off)")
    lines += [_put(place.before, place.path) for place in reversed(merged) if place.before is not None]
    lines += fixed("    ;;", "*)", '    echo "usage: $0 on|off" >&2', "    exit 2", "    ;;", "esac", 'exit "$failed"')
    return (file_of("script", path, lines, install, undo, places),)


def _put(value: Line, path: Line) -> Line:
    return Line(f"    put {shlex.quote(value)} {shell_path(path)}")
