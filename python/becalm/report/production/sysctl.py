"""sysctl.d(5): what is below /proc/sys."""

from __future__ import annotations

from collections.abc import Sequence

from becalm.nouns.production import Origin, ProductionFile, SettingPlace
from becalm.report.production.lines import comment, head, sysctl_key
from becalm.wording.production import about


def write(origin: Origin, places: Sequence[SettingPlace]) -> tuple[ProductionFile, ...]:
    """The file; none without places."""
    if not places:
        return ()
    path = f"/etc/sysctl.d/90-{origin.name}.conf"
    install = (f"sysctl --load {path}",)
    back = " ".join(f"{sysctl_key(each.path)}={each.before}" for each in reversed(places) if each.before is not None)
    undo = (f"rm {path}", *([f"sysctl --write {back}"] if back else []))
    lines = head(origin, install, undo)
    for each in places:
        lines += [*comment([about(each)]), f"{sysctl_key(each.path)} = {each.after}"]
    knobs = tuple(dict.fromkeys(each.knob for each in places))
    return (ProductionFile("sysctl", path, "\n".join(lines) + "\n", install, undo, knobs),)
