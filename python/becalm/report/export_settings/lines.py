"""Parts common to the forms: comments, many CPUs in one line, and shell.

A file consists of `Line`s only (`file_of`), so that no text of a profile, a study or a host can end a line of it.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from becalm.line import Line
from becalm.results.export_settings import Origin, ProductionFile, SettingPlace
from becalm.units import bind_units, release_units
from becalm.wording import export_settings as sentences

WIDTH = 78

EACH_CPU = re.compile(r"(/sys/devices/system/cpu/cpu)\d+(/cpufreq/.*)")
"""Files that each CPU has; all of them get one line, or each its own."""


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
    """Return a file of these lines, with the commands by which root installs and undoes it."""
    knobs = tuple(dict.fromkeys(place.knob for place in places))
    return ProductionFile(form, path, "\n".join(lines) + "\n", tuple(install), tuple(undo), knobs)


def fixed(*texts: str) -> tuple[Line, ...]:
    """Return texts as lines. Raises ControlCharacterError for a text that is not a single line."""
    return tuple(map(Line, texts))


def comment(lines: Iterable[str], mark: str = "# ") -> Iterator[Line]:
    """Yield sentences as comments, wrapped into lines."""
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()))
        broken = textwrap.wrap(
            bind_units(" ".join(line.split())), WIDTH, initial_indent=mark + indent, subsequent_indent=mark + indent,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        # A backslash at the end of a comment would continue it on the next line.
        yield from (Line(f"{line_}." if line_.endswith("\\") else line_) for line_ in map(release_units, broken))


def head(origin: Origin, install: Sequence[Line], undo: Sequence[Line]) -> list[Line]:
    """Return the comment at the beginning of every file; commands in it are never wrapped."""
    lines = [*comment(sentences.head(origin, ())), *fixed("#", "# Apply it now:")]
    lines += [Line(f"#   {line}") for line in install]
    lines.append(Line("# Undo it:"))
    return [*lines, *(Line(f"#   {line}") for line in undo), Line("")]


def title(origin: Origin) -> Line:
    """Return the title as the value of a directive, reduced to characters that have no meaning for any reader."""
    return Line(
        "".join(character if character.isalnum() or character in " .,:;()+-/@=_" else "_" for character in origin.title)
    )


def together(places: Sequence[SettingPlace]) -> list[SettingPlace]:
    """Return the places, with one pattern for files that get the same value for every CPU."""
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
    # CPUs had different values before, so each is restored by itself.
    return list(places)


def put(path: Line, value: Line) -> Line:
    """Return a shell command that writes a value to a file, or to all files of a pattern."""
    written = f"echo {shlex.quote(value)}"
    if PATTERN in path:
        return Line(f'for f in {shell_path(path)}; do {written} > "$f"; done')
    return Line(f"{written} > {shell_path(path)}")


def shell_path(path: Line) -> Line:
    """Return a path for the shell, which expands the pattern and nothing else."""
    return Line(PATTERN.join(shlex.quote(word) if word else "" for word in path.split(PATTERN)))


def undo(places: Sequence[SettingPlace]) -> list[Line]:
    """Return shell commands that restore the original values, the last first; places without one are left out."""
    return [put(place.path, place.before) for place in reversed(together(places)) if place.before is not None]


def sysctl_key(path: Line) -> Line:
    """Return the name of a file below /proc/sys for sysctl(8): with dots for slashes, unless a name contains dots."""
    name = path.removeprefix("/proc/sys/")
    return Line(name if "." in name else name.replace("/", "."))
