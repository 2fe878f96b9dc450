"""tmpfiles.d(5): files below /sys, by lines of type w, which write to existing files and create none."""

from __future__ import annotations

import re
from collections.abc import Sequence

from becalm.line import Line
from becalm.report.export_settings.lines import comment, file_of, fixed, head, together
from becalm.report.export_settings.lines import undo as back
from becalm.results.export_settings import Origin, ProductionFile, SettingPlace
from becalm.wording.export_settings import about


def write(origin: Origin, places: Sequence[SettingPlace]) -> tuple[ProductionFile, ...]:
    """Return the file; nothing without places."""
    if not places:
        return ()
    path = Line(f"/etc/tmpfiles.d/{origin.name}.conf")
    install = fixed(f"systemd-tmpfiles --create {path}")
    undo = (*fixed(f"rm {path}"), *back(places))
    lines = head(origin, install, undo)
    for place in together(places):
        lines += [*comment([about(place)]), Line(f"w {_field(place.path)} - - - - {_argument(place.after)}")]
    return (file_of("tmpfiles", path, lines, install, undo, places),)


def _field(text: Line) -> Line:
    """Return a path for a field: quotes and backslashes escaped, quoted if it has spaces, specifiers doubled."""
    escaped = re.sub(r"""([\\"'])""", r"\\\1", text).replace("%", "%%")
    return Line(f'"{escaped}"' if any(character.isspace() for character in escaped) else escaped)


def _argument(text: Line) -> Line:
    return Line(text.replace("\\", "\\\\").replace("%", "%%"))
