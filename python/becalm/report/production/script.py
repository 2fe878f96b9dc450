"""A shell script that puts settings of the machine on and takes them off, for systems without systemd."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from becalm.nouns.production import Origin, ProductionFile, SettingPlace
from becalm.report.production.lines import comment, head, together
from becalm.wording.production import about

PUT = """\
failed=0
put() { # VALUE FILE...
    value=$1; shift
    for file in "$@"; do
        echo "$value" > "$file" || { echo "$file does not take $value." >&2; failed=1; }
    done
}"""


def write(origin: Origin, places: Sequence[SettingPlace]) -> tuple[ProductionFile, ...]:
    """The script; none without places."""
    if not places:
        return ()
    path = f"/usr/local/sbin/{origin.name}"
    install, undo = (f"sh {path} on",), (f"sh {path} off", f"rm {path}")
    every = together(places)
    lines = ["#!/bin/sh", *head(origin, install, undo), PUT, "", 'case "${1:-}" in', "on)"]
    for each in every:
        lines += [f"    {line}" for line in comment([about(each)])]
        lines.append(f"    put {shlex.quote(each.after)} {_path(each.path)}")
    lines += ["    ;;", "off)"]
    lines += [
        f"    put {shlex.quote(each.before)} {_path(each.path)}" for each in reversed(every) if each.before is not None
    ]
    lines += ["    ;;", "*)", '    echo "usage: $0 on|off" >&2', "    exit 2", "    ;;", "esac", 'exit "$failed"']
    knobs = tuple(dict.fromkeys(each.knob for each in places))
    return (ProductionFile("script", path, "\n".join(lines) + "\n", install, undo, knobs),)


def _path(path: str) -> str:
    """A pattern is for the shell to fill in."""
    return path if "*" in path else shlex.quote(path)
