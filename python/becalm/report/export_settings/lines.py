"""Parts that the forms share: comments, many CPUs in one line, and shell.

A file is made of `Line`s and nothing else (`file_of`): no text of a profile, a study or a host ends a line of it.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from becalm.line import Line
from becalm.results.export_settings import Origin, ProductionFile, SettingPlace
from becalm.wording import export_settings as sentences

WIDTH = 78

EACH_CPU = re.compile(r"(/sys/devices/system/cpu/cpu)\d+(/cpufreq/.*)")
"""Files of which each CPU has one; all of them are written alike or one by one."""


PATTERN = "[0-9]*"
"""The part of a path that stands for the number of any CPU."""


def file_of(
    form: str,
    path: Line,
    lines: Iterable[Line],
    install: Sequence[Line],
    undo: Sequence[Line],
    places: Sequence[SettingPlace],
) -> ProductionFile:
    """Return a file of lines, with what to type as root to install it and to undo it."""
    knobs = tuple(dict.fromkeys(place.knob for place in places))
    return ProductionFile(form, path, "\n".join(lines) + "\n", tuple(install), tuple(undo), knobs)


def fixed(*texts: str) -> tuple[Line, ...]:
    """Return lines of texts. Raises ControlCharacterError for one that is not a line."""
    return tuple(map(Line, texts))


def comment(lines: Iterable[str], mark: str = "# ") -> Iterator[Line]:
    """Yield sentences as comments, broken into lines."""
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()))
        broken = textwrap.wrap(
            " ".join(line.split()), WIDTH, initial_indent=mark + indent, subsequent_indent=mark + indent,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        # A backslash at its end would have the next line belong to the comment, or the comment to it.
        yield from (Line(f"{each}." if each.endswith("\\") else each) for each in broken)


def head(origin: Origin, install: Sequence[Line], undo: Sequence[Line]) -> list[Line]:
    """Return the comment that every file begins with. Commands to type are never broken."""
    lines = [*comment(sentences.head(origin, ())), *fixed("#", "# Put it on now:")]
    lines += [Line(f"#   {line}") for line in install]
    lines.append(Line("# Undo it:"))
    return [*lines, *(Line(f"#   {line}") for line in undo), Line("")]


def title(origin: Origin) -> Line:
    """Return the title as a value of a directive: of letters, digits and signs that no reader gives a meaning."""
    return Line("".join(each if each.isalnum() or each in " .,:;()+-/@=_" else "_" for each in origin.title))


def together(places: Sequence[SettingPlace]) -> list[SettingPlace]:
    """Return the places, with a pattern as one place for files that get the same value for every CPU."""
    setting_places: list[SettingPlace] = []
    seen: dict[tuple[str, str, str, str | None], int] = {}
    values: dict[tuple[str, str], set[str]] = {}
    for place in places:
        if match := EACH_CPU.fullmatch(place.path):
            values.setdefault((place.knob, match[2]), set()).add(place.after)
    for place in places:
        match = EACH_CPU.fullmatch(place.path)
        if match is None or len(values[place.knob, match[2]]) > 1:
            setting_places.append(place)
            continue
        key = (place.knob, match[2], place.after, place.before)
        if key not in seen:
            seen[key] = len(setting_places)
            setting_places.append(replace(place, path=Line(f"{match[1]}{PATTERN}{match[2]}")))
    mixed = [place.path for place in setting_places if PATTERN in place.path]
    if len(mixed) == len(set(mixed)):
        return setting_places
    # Not all CPUs held the same before: each is put back by itself.
    return list(places)


def put(path: Line, value: Line) -> Line:
    """Return shell that writes a value to a file, or to all files of a pattern."""
    written = f"echo {shlex.quote(value)}"
    if PATTERN in path:
        return Line(f'for f in {shell_path(path)}; do {written} > "$f"; done')
    return Line(f"{written} > {shell_path(path)}")


def shell_path(path: Line) -> Line:
    """Return a path for the shell, which fills in the pattern and nothing else."""
    return Line(PATTERN.join(shlex.quote(word) if word else "" for word in path.split(PATTERN)))


def undo(places: Sequence[SettingPlace]) -> list[Line]:
    """Return shell that restores the original values, the last one first; a place without a value is left."""
    return [put(each.path, each.before) for each in reversed(together(places)) if each.before is not None]


def sysctl_key(path: Line) -> Line:
    """Return the name that sysctl(8) has for a file below /proc/sys: dots for slashes, unless a name has dots
    itself."""
    name = path.removeprefix("/proc/sys/")
    return Line(name if "." in name else name.replace("/", "."))
