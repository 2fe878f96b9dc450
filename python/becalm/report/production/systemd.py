"""systemd: a service that writes settings of the machine and takes them back, and a drop-in for the program's unit.

The service is the only form here that can write below debugfs (mounted late) and keep /dev/cpu_dma_latency open, and
the only one that undoes by itself: stopping it puts back what was found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from becalm.nouns.production import Origin, ProductionFile, SettingPlace, Where
from becalm.report.production.lines import comment, head, put, together
from becalm.wording.production import about, program_unit

DEBUGFS = "/sys/kernel/debug"


def write(origin: Origin, places: Sequence[SettingPlace]) -> tuple[ProductionFile, ...]:
    """A service for what is written, one for what is kept open, a drop-in for the program; those that there are."""
    program = [each for each in places if each.where is Where.PROGRAM]
    latency = [each for each in places if each.where is Where.LATENCY]
    written = [each for each in places if each.where not in (Where.PROGRAM, Where.LATENCY)]
    made = [*_service(origin, written), *_open(origin, latency), *_drop_in(origin, program)]
    return tuple(made)


def _service(origin: Origin, places: Sequence[SettingPlace]) -> Iterator[ProductionFile]:
    if not places:
        return
    name = f"{origin.name}.service"
    lines = [
        *_unit(origin, name),
        # What rewrites settings at a start goes first.
        "After=systemd-sysctl.service systemd-tmpfiles-setup.service tuned.service",
        *(
            [f"RequiresMountsFor={DEBUGFS}"]
            if any(each.where in (Where.DEBUG, Where.FEATURE) for each in places)
            else []
        ),
        "",
        "[Service]",
        "Type=oneshot",
        "RemainAfterExit=yes",
    ]
    every = together(places)
    for each in every:
        lines += [*comment([about(each)]), f"ExecStart={_shell(put(each.path, each.after))}"]
    back = [each for each in reversed(every) if each.before is not None]
    lines += [f"ExecStop={_shell(put(each.path, each.before or ''))}" for each in back]
    yield _file(origin, name, [*lines, *INSTALLED], places)


def _open(origin: Origin, places: Sequence[SettingPlace]) -> Iterator[ProductionFile]:
    """The limit holds as long as somebody keeps the file open (Documentation/power/pm_qos_interface.rst)."""
    if not places:
        return
    name = f"{origin.name}-latency.service"
    (place,) = places
    keep = f"exec 3> {place.path}; echo {int(place.after):08x} >&3; exec sleep infinity"
    lines = [*_unit(origin, name), "", "[Service]", *comment([about(place)]), f"ExecStart={_shell(keep)}"]
    yield _file(origin, name, [*lines, *INSTALLED], places)


INSTALLED = ("", "[Install]", "WantedBy=multi-user.target")


def _unit(origin: Origin, name: str) -> list[str]:
    install, undo = _typed(name)
    title = origin.title.replace("%", "%%")
    return [*head(origin, install, undo), "[Unit]", f"Description=becalm: {title}"]


def _typed(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    path = f"/etc/systemd/system/{name}"
    install = ("systemctl daemon-reload", f"systemctl enable --now {name}")
    return install, (f"systemctl disable --now {name}", f"rm {path}", "systemctl daemon-reload")


def _file(origin: Origin, name: str, lines: Sequence[str], places: Sequence[SettingPlace]) -> ProductionFile:
    install, undo = _typed(name)
    knobs = tuple(dict.fromkeys(each.knob for each in places))
    return ProductionFile("systemd", f"/etc/systemd/system/{name}", "\n".join(lines) + "\n", install, undo, knobs)


def _drop_in(origin: Origin, places: Sequence[SettingPlace]) -> Iterator[ProductionFile]:
    if not places:
        return
    path = f"/etc/systemd/system/PROGRAM.service.d/90-{origin.name}.conf"
    install = ("systemctl daemon-reload", "systemctl restart PROGRAM.service")
    undo = (f"rm {path}", *install)
    knobs = tuple(dict.fromkeys(each.knob for each in places))
    lines = [*comment([program_unit(knobs)]), *head(origin, install, undo), "[Service]"]
    told: set[str] = set()
    for each in places:
        lines += [] if each.knob in told else [*comment([about(each)])]
        lines.append(f"{each.path}={each.after.replace('%', '%%')}")
        told.add(each.knob)
    yield ProductionFile("systemd", path, "\n".join(lines) + "\n", install, undo, knobs)


def _shell(command: str) -> str:
    """A line of shell as systemd takes it: quoted, its own specifiers and variables escaped (systemd.service(5))."""
    escaped = re.sub(r'(["\\])', r"\\\1", command).replace("%", "%%").replace("$", "$$")
    return f'/bin/sh -c "{escaped}"'
