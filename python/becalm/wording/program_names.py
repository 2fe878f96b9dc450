"""Names of programs in reports: whole names on one line, different for different programs.

The terminal cuts them (`becalm.wording.short_names.short`); JSON, Markdown and files have the whole names.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from becalm.nouns.workload import Workload
from becalm.wording.printable import one_line

Parameters = tuple[tuple[str, str], ...]

PACKAGE = "package"
"""The parameter that is written before a name, as Go does."""


def names_of(workloads: Iterable[Workload]) -> tuple[str, ...]:
    """Return the distinct names of the programs of a study."""
    return distinct_names([(workload.name, workload.parameters) for workload in workloads])


def program_labels(workloads: Sequence[Workload]) -> list[str]:
    """Return plain names for files; programs of the same name get the distinct names of `names_of`."""
    counts = Counter(workload.name for workload in workloads)
    named = zip(workloads, names_of(workloads), strict=True)
    return [workload.name if counts[workload.name] == 1 else title for workload, title in named]


def distinct_names(programs: Sequence[tuple[str, Parameters]]) -> tuple[str, ...]:
    """Return names made distinct by the parameters in which they differ, else by numbers."""
    visible = [visible_name(name) for name, _ in programs]
    alike: dict[str, list[int]] = {}
    for place, name in enumerate(visible):
        alike.setdefault(name, []).append(place)
    for places in alike.values():
        if len(places) > 1:
            _tell_apart(visible, [(place, programs[place][1]) for place in places])
    return _numbered(visible)


def visible_name(name: str) -> str:
    """Return a name on one line; a name without visible characters is quoted."""
    blank = all(unicodedata.category(character) in ("Zs", "Zl", "Zp", "Cc", "Cf", "Mn", "Me") for character in name)
    return json.dumps(name) if blank else one_line(name)


def _tell_apart(visible: list[str], programs: Sequence[tuple[int, Parameters]]) -> None:
    """Add to the names at these places the parameters that differ between them, in place."""
    values: dict[str, set[str | None]] = {}
    for name in {name for _, parameters in programs for name, _ in parameters}:
        values[name] = {dict(parameters).get(name) for _, parameters in programs}
    for place, parameters in programs:
        differing = {name: value for name, value in parameters if len(values[name]) > 1}
        package = differing.pop(PACKAGE, "")
        before = f"{one_line(package)}." if package else ""
        listed = ", ".join(f"{one_line(name)}={one_line(value)}" for name, value in sorted(differing.items()))
        visible[place] = f"{before}{visible[place]}" + (f" ({listed})" if listed else "")


def _numbered(names: Sequence[str]) -> tuple[str, ...]:
    """Return names with numbers appended to equal ones, so that all are different."""
    counts = Counter(names)
    taken = {name for name in names if counts[name] == 1}
    numbered = []
    for name in names:
        title, number = name, 0
        while counts[name] > 1 and (number == 0 or title in taken):
            number += 1
            title = f"{name} [{number}]"
        taken.add(title)
        numbered.append(title)
    return tuple(numbered)
