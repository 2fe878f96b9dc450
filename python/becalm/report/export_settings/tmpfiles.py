"""tmpfiles.d(5): files below /sys, by lines of type w, which write to what is there and create nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from becalm.line import Line
from becalm.report.export_settings.lines import comment, file_of, fixed, head, together
from becalm.report.export_settings.lines import undo as back
from becalm.results.export_settings import Origin, ProductionFile, SettingPlace
from becalm.wording.export_settings import about


def write(origin: Origin, places: Sequence[SettingPlace]) -> tuple[ProductionFile, ...]:
    """Return the file; none without places."""
    if not places:
        return ()
    path = Line(f"/etc/tmpfiles.d/{origin.name}.conf")
    install = fixed(f"systemd-tmpfiles --create {path}")
    undo = (*fixed(f"rm {path}"), *back(places))
    lines = head(origin, install, undo)
    for each in together(places):
        lines += [*comment([about(each)]), Line(f"w {_field(each.path)} - - - - {_argument(each.after)}")]
    return (file_of("tmpfiles", path, lines, install, undo, places),)


def _field(text: Line) -> Line:
    """Return a path: quotes and backslashes escaped, quoted where it has spaces, specifiers doubled."""
    escaped = re.sub(r"""([\\"'])""", r"\\\1", text).replace("%", "%%")
    return Line(f'"{escaped}"' if any(each.isspace() for each in escaped) else escaped)


def _argument(text: Line) -> Line:
    return Line(text.replace("\\", "\\\\").replace("%", "%%"))
