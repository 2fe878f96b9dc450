"""A profile of tuned (tuned.conf(5)): it puts back itself what it set, when another profile takes its place."""

from __future__ import annotations

from collections.abc import Sequence

from becalm.nouns.production import Origin, ProductionFile, SettingPlace, Where
from becalm.report.production.lines import comment, head, sysctl_key, together
from becalm.wording.production import about


def write(origin: Origin, places: Sequence[SettingPlace]) -> tuple[ProductionFile, ...]:
    """The profile; none without places."""
    if not places:
        return ()
    path = f"/etc/tuned/{origin.name}/tuned.conf"
    install = ("tuned-adm active   # remember it: this profile takes its place", f"tuned-adm profile {origin.name}")
    undo = ("tuned-adm profile PREVIOUS", f"rm -r /etc/tuned/{origin.name}")
    lines = [
        *head(origin, install, undo),
        "[main]",
        f"summary=becalm: {origin.title}",
        "# What the present profile does is not done by this one, unless it is named here:",
        "# include=PREVIOUS",
    ]
    parts = {
        "sysctl": [(sysctl_key(each.path), each) for each in places if each.where is Where.SYSCTL],
        "sysfs": [(each.path, each) for each in together(places) if each.where in (Where.FILE, Where.DEBUG)],
        "cpu": [("force_latency", each) for each in places if each.where is Where.LATENCY],
    }
    for title, pairs in parts.items():
        if pairs:
            lines += ["", f"[{title}]"]
        for key, each in pairs:
            lines += [*comment([about(each)]), f"{key}={each.after}"]
    boot = [each for each in places if each.where is Where.BOOT]
    if boot:
        lines += ["", "[bootloader]", *comment(about(each) for each in boot)]
        lines.append(f"cmdline={' '.join(each.path for each in boot)}")
    knobs = tuple(dict.fromkeys(each.knob for each in places))
    return (ProductionFile("tuned", path, "\n".join(lines) + "\n", install, undo, knobs),)
