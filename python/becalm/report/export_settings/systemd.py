"""systemd: a service that applies settings of the machine and restores them, and a drop-in for the program's unit.

Only this form can write below debugfs, which is mounted late, and keep /dev/cpu_dma_latency open, and only the service
undoes its settings by itself: when it is stopped it restores the earlier values.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from becalm.line import Line
from becalm.report.export_settings.lines import comment, file_of, fixed, head, put, title, together
from becalm.results.export_settings import Origin, ProductionFile, SettingPlace, Where
from becalm.wording.export_settings import about, program_unit

DEBUGFS = "/sys/kernel/debug"


def write(origin: Origin, places: Sequence[SettingPlace]) -> tuple[ProductionFile, ...]:
    """Return a service for written files, one for files kept open, and a drop-in for the program, as needed."""
    program = [place for place in places if place.where is Where.PROGRAM]
    latency = [place for place in places if place.where is Where.LATENCY]
    written = [place for place in places if place.where not in (Where.PROGRAM, Where.LATENCY)]
    return (*_service(origin, written), *_open(origin, latency), *_drop_in(origin, program))


def _service(origin: Origin, places: Sequence[SettingPlace]) -> Iterator[ProductionFile]:
    if not places:
        return
    name = Line(f"{origin.name}.service")
    mounts = any(place.where in (Where.DEBUG, Where.FEATURE) for place in places)
    lines = [
        *_unit(origin, name),
        # Services that set settings when the system starts go first.
        *fixed("After=systemd-sysctl.service systemd-tmpfiles-setup.service tuned.service"),
        *fixed(*([f"RequiresMountsFor={DEBUGFS}"] if mounts else [])),
        *fixed("", "[Service]", "Type=oneshot", "RemainAfterExit=yes"),
    ]
    merged = together(places)
    for place in merged:
        lines += [*comment([about(place)]), Line(f"ExecStart={_shell(put(place.path, place.after))}")]
    for place in reversed(merged):
        if place.before is not None:
            lines.append(Line(f"ExecStop={_shell(put(place.path, place.before))}"))
    yield _file(origin, name, [*lines, *INSTALLED], places)


def _open(origin: Origin, places: Sequence[SettingPlace]) -> Iterator[ProductionFile]:
    """Yield a service that keeps a file open, since its limit holds only as long
    (Documentation/power/pm_qos_interface.rst)."""
    if not places:
        return
    name = Line(f"{origin.name}-latency.service")
    (place,) = places
    keep = Line(f"exec 3> {shlex.quote(place.path)}; echo {int(place.after):08x} >&3; exec sleep infinity")
    lines = [*_unit(origin, name), *fixed("", "[Service]"), *comment([about(place)])]
    lines.append(Line(f"ExecStart={_shell(keep)}"))
    yield _file(origin, name, [*lines, *INSTALLED], places)


INSTALLED = fixed("", "[Install]", "WantedBy=multi-user.target")


def _unit(origin: Origin, name: Line) -> list[Line]:
    install, undo = _typed(name)
    return [*head(origin, install, undo), *fixed("[Unit]", f"Description=becalm: {title(origin)}")]


def _typed(name: Line) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    path = f"/etc/systemd/system/{name}"
    install = fixed("systemctl daemon-reload", f"systemctl enable --now {name}")
    return install, fixed(f"systemctl disable --now {name}", f"rm {path}", "systemctl daemon-reload")


def _file(origin: Origin, name: Line, lines: Sequence[Line], places: Sequence[SettingPlace]) -> ProductionFile:
    install, undo = _typed(name)
    return file_of("systemd", Line(f"/etc/systemd/system/{name}"), lines, install, undo, places)


def _drop_in(origin: Origin, places: Sequence[SettingPlace]) -> Iterator[ProductionFile]:
    if not places:
        return
    path = Line(f"/etc/systemd/system/PROGRAM.service.d/90-{origin.name}.conf")
    install = fixed("systemctl daemon-reload", "systemctl restart PROGRAM.service")
    undo = (*fixed(f"rm {path}"), *install)
    knobs = tuple(dict.fromkeys(place.knob for place in places))
    lines = [*comment([program_unit(knobs)]), *head(origin, install, undo), *fixed("[Service]")]
    explained: set[str] = set()
    for place in places:
        lines += [] if place.knob in explained else [*comment([about(place)])]
        lines.append(Line(f"{place.path}={_value(place.after)}"))
        explained.add(place.knob)
    yield file_of("systemd", path, lines, install, undo, places)


def _value(text: Line) -> Line:
    """Return the value of a directive: with specifiers doubled, and without a backslash at its end, which would
    continue the line."""
    return Line(text.replace("%", "%%").rstrip("\\ "))


def _shell(command: Line) -> Line:
    """Return a shell command as systemd's ExecStart has it: quoted, with specifiers and variables escaped
    (systemd.service(5))."""
    escaped = re.sub(r'(["\\])', r"\\\1", command).replace("%", "%%").replace("$", "$$")
    return Line(f'/bin/sh -c "{escaped}"')
