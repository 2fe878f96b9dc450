"""A placement as files that apply it without becalm: a script with taskset, systemd drop-ins, Kubernetes pods.

Names and commands come from elsewhere: they are quoted for the shell (shlex) and written as JSON strings in YAML, which
reads these alike; names of files and pods keep only permitted characters. A file consists of `Line`s, except for the
words of a command, which shell quotes may spread over several lines. `FORMS` is the table of forms.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

from becalm.errors import UsageError
from becalm.hosts.agent import agent_path
from becalm.line import Line
from becalm.nouns.result import Documented
from becalm.nouns.workload import AGENT
from becalm.results.place import PlacementAdvice, SharingShape
from becalm.wording import place_export as wording
from becalm.wording.printable import one_line


class PlacementExport(Documented, frozen=True):
    """An exported placement: names and contents of `files`, and a `note` on what they do and need."""

    KIND = "placement-export"

    form: str
    files: tuple[tuple[str, str], ...]
    note: str

    def to_json(self) -> dict[str, Any]:
        """Return the documented JSON form."""
        return {**super().to_json(), "files": [{"name": name, "content": content} for name, content in self.files]}


def exported(advice: PlacementAdvice, form: str) -> PlacementExport:
    """Return the files of a form. Raises UsageError for an unknown form, or a placement that it cannot express."""
    if form not in FORMS:
        raise UsageError(wording.no_form(form, ", ".join(FORMS)))
    if advice.shape is SharingShape.ROUNDS and form != "taskset":
        raise UsageError(wording.no_rounds(form))
    if advice.shape is SharingShape.CHIPS and form != "kubernetes" and not all(chip.cpus for chip in advice.chips):
        raise UsageError(wording.no_cpus())
    return FORMS[form](advice)


def _taskset(advice: PlacementAdvice) -> PlacementExport:
    """Return the lines of a shell: `taskset -c 0,1 COMMAND &` (util-linux)."""
    rounds = advice.shape is SharingShape.ROUNDS
    note = wording.ROUNDS if rounds else wording.TASKSET
    lines = ["#!/bin/sh", f"# {note}"]
    for number, names in enumerate(advice.sharing):
        if rounds:
            lines += ["", f"# round {number + 1}"]
        for name in dict.fromkeys(names):
            command = advice.commands.get(name)
            if not command:
                lines.append(wording.no_command(_comment(name)))
                continue
            # The agent itself stands for becalm's own programs; elsewhere it is run by its path.
            words = shlex.join([agent_path() if command[0] == AGENT else command[0], *command[1:]])
            cpus = ",".join(map(str, advice.cpus_of(name)))
            lines.append(f"{words} &" if rounds or not cpus else f"taskset -c {cpus} {words} &")
        if rounds:
            lines.append("wait")
    if not rounds:
        lines.append("wait")
    return PlacementExport("taskset", (("placement.sh", "\n".join(lines) + "\n"),), note)


PROPERTIES = ("CPUAffinity", "AllowedCPUs")


def _systemd(advice: PlacementAdvice) -> PlacementExport:
    """Return drop-ins for services (systemd.exec(5), systemd.resource-control(5))."""
    files = []
    used: set[str] = set()
    for name in advice.degradation:
        cpus = " ".join(map(str, advice.cpus_of(name)))
        unit = [Line(f"# {_comment(name)}"), Line("[Service]"), *(Line(f"{key}={cpus}") for key in PROPERTIES)]
        text = "\n".join(unit) + "\n"
        files.append((f"{_once(_unit(name), used)}.service.d/becalm-placement.conf", text))
    return PlacementExport("systemd", tuple(files), wording.SYSTEMD)


def _kubernetes(advice: PlacementAdvice) -> PlacementExport:
    """Return pods with the quality of service Guaranteed, one per chip (kubernetes.io: Control CPU Management Policies
    on the Node)."""
    lines = [f"# {word}" for word in wording.KUBERNETES.split(". ")]
    pods: set[str] = set()
    for number, names in enumerate(advice.sharing):
        if not names:
            continue
        lines += ["---", "apiVersion: v1", "kind: Pod", "metadata:"]
        lines += [f"  name: {_once(f'becalm-chip-{number}', pods)}", "spec:", "  containers:"]
        containers: set[str] = set()
        for name in dict.fromkeys(names):
            cpus = names.count(name)
            lines += [f"  - name: {_once(_label(name), containers)}", f"    image: IMAGE  # of {_comment(name)}"]
            if command := advice.commands.get(name):
                lines.append(f"    command: {json.dumps(list(command))}")
            lines += ["    resources:"]
            for kind in ("requests", "limits"):
                lines.append(f'      {kind}: {{cpu: "{cpus}", memory: MEMORY}}')
    return PlacementExport("kubernetes", (("placement.yaml", "\n".join(lines) + "\n"),), wording.KUBERNETES)


FORMS: dict[str, Callable[[PlacementAdvice], PlacementExport]] = {
    "taskset": _taskset, "systemd": _systemd, "kubernetes": _kubernetes,
}  # fmt: skip
"""The function that exports each form, by its name."""


def lines(export: PlacementExport) -> Iterator[str]:
    """Yield all files as one text, each with its name where there are several."""
    for name, content in export.files:
        if len(export.files) > 1:
            yield f"# {name}"
        yield from content.splitlines()


def _comment(text: str) -> Line:
    """Return a name on one line, without a backslash at its end that would continue the comment."""
    return Line(one_line(" ".join(text.split())).rstrip("\\"))


def _unit(name: str) -> str:
    """Return a name as that of a systemd unit, escaped where needed (systemd.unit(5))."""
    if re.fullmatch(r"[A-Za-z0-9:_][A-Za-z0-9:_.-]*", name):
        return name.removesuffix(".service")
    return "".join(
        char if re.fullmatch(r"[A-Za-z0-9:_]", char) else "".join(f"\\x{byte:02x}" for byte in _bytes(char))
        for char in name
    )


def _bytes(char: str) -> bytes:
    return char.encode("utf-8", "surrogateescape")


def _label(name: str) -> str:
    """Return a name in Kubernetes' form (RFC 1123): at most 63 lower-case letters, digits and inner hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60].strip("-") or "program"


def _once(name: str, used: set[str]) -> str:
    """Return the name, with a number appended where it is used already, and add the result to `used`."""
    result, number = name, 2
    while result in used:
        result, number = f"{name}-{number}", number + 1
    used.add(result)
    return result
