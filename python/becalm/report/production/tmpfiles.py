"""tmpfiles.d(5): files below /sys, by lines of type w, which write to what is there and create nothing."""

from __future__ import annotations

from collections.abc import Sequence

from becalm.nouns.production import Origin, ProductionFile, SettingPlace
from becalm.report.production.lines import comment, head, together
from becalm.report.production.lines import undo as back
from becalm.wording.production import about


def write(origin: Origin, places: Sequence[SettingPlace]) -> tuple[ProductionFile, ...]:
    """The file; none without places."""
    if not places:
        return ()
    path = f"/etc/tmpfiles.d/{origin.name}.conf"
    install = (f"systemd-tmpfiles --create {path}",)
    undo = (f"rm {path}", *back(places))
    lines = head(origin, install, undo)
    for each in together(places):
        lines += [*comment([about(each)]), f"w {_field(each.path)} - - - - {_argument(each.after)}"]
    knobs = tuple(dict.fromkeys(each.knob for each in places))
    return (ProductionFile("tmpfiles", path, "\n".join(lines) + "\n", install, undo, knobs),)


def _field(text: str) -> str:
    """A path: quoted where it has spaces, specifiers doubled."""
    doubled = text.replace("%", "%%")
    return f'"{doubled}"' if any(each.isspace() for each in doubled) else doubled


def _argument(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "%%")
