"""What the forms share: comments, many CPUs in one line, and shell."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from becalm.nouns.production import Origin, SettingPlace
from becalm.wording import production as sentences

WIDTH = 78

EACH_CPU = re.compile(r"(/sys/devices/system/cpu/cpu)\d+(/cpufreq/.*)")
"""Files of which each CPU has one; all of them are written alike or one by one."""


def comment(lines: Iterable[str], mark: str = "# ") -> Iterator[str]:
    """Sentences as comments, broken into lines."""
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()))
        yield from textwrap.wrap(
            " ".join(line.split()), WIDTH, initial_indent=mark + indent, subsequent_indent=mark + indent,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip


def head(origin: Origin, install: Sequence[str], undo: Sequence[str]) -> list[str]:
    """The comment that every file begins with. What is to be typed is never broken."""
    lines = [*comment(sentences.head(origin, ())), "#", "# Put it on now:"]
    lines += [f"#   {each}" for each in install]
    lines.append("# Undo it:")
    return [*lines, *(f"#   {each}" for each in undo), ""]


def together(places: Sequence[SettingPlace]) -> list[SettingPlace]:
    """The same with one place, a pattern, for a file that every CPU gets the same value in."""
    made: list[SettingPlace] = []
    seen: dict[tuple[str, str, str, str | None], int] = {}
    values: dict[tuple[str, str], set[str]] = {}
    for place in places:
        if found := EACH_CPU.fullmatch(place.path):
            values.setdefault((place.knob, found[2]), set()).add(place.after)
    for place in places:
        found = EACH_CPU.fullmatch(place.path)
        if found is None or len(values[place.knob, found[2]]) > 1:
            made.append(place)
            continue
        key = (place.knob, found[2], place.after, place.before)
        if key not in seen:
            seen[key] = len(made)
            made.append(replace(place, path=f"{found[1]}[0-9]*{found[2]}"))
    mixed = [each.path for each in made if "*" in each.path]
    if len(mixed) == len(set(mixed)):
        return made
    # Not all CPUs held the same before: each is put back by itself.
    return list(places)


def put(path: str, value: str) -> str:
    """Shell that writes a value to a file, or to all files of a pattern."""
    written = f"echo {shlex.quote(value)}"
    if "*" in path:
        return f'for f in {path}; do {written} > "$f"; done'
    return f"{written} > {shlex.quote(path)}"


def undo(places: Sequence[SettingPlace]) -> list[str]:
    """Shell that puts back what was found, the last one first; one that has no value of its own is left."""
    return [put(each.path, each.before) for each in reversed(together(places)) if each.before is not None]


def sysctl_key(path: str) -> str:
    """The name that sysctl(8) has for a file below /proc/sys: dots for slashes, unless a name has dots itself."""
    name = path.removeprefix("/proc/sys/")
    return name if "." in name else name.replace("/", ".")
