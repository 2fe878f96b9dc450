"""sysctl.d(5): settings below /proc/sys."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from becalm.line import Line
from becalm.report.export_settings.lines import comment, file_of, fixed, head, sysctl_key
from becalm.results.export_settings import Origin, ProductionFile, SettingPlace
from becalm.wording.export_settings import about


def write(origin: Origin, places: Sequence[SettingPlace]) -> tuple[ProductionFile, ...]:
    """Return the file; nothing without places."""
    if not places:
        return ()
    path = Line(f"/etc/sysctl.d/90-{origin.name}.conf")
    install = fixed(f"sysctl --load {path}")
    back = [f"{sysctl_key(place.path)}={place.before}" for place in reversed(places) if place.before is not None]
    undo = fixed(f"rm {path}", *([f"sysctl --write {shlex.join(back)}"] if back else []))
    lines = head(origin, install, undo)
    for place in places:
        lines += [*comment([about(place)]), Line(f"{sysctl_key(place.path)} = {place.after}")]
    return (file_of("sysctl", path, lines, install, undo, places),)
