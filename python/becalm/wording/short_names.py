"""Names of programs in sentences: each on one line, equal ones numbered, and cut for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import msgspec
from msgspec import structs
from msgspec.structs import replace

from becalm.nouns.finding import Finding
from becalm.results.compare import Verdict
from becalm.wording.printable import distinct, one_line

T = TypeVar("T")


def whole(names: Sequence[str]) -> tuple[str, ...]:
    """Return names for a sentence, each whole and on one line; equal names are numbered."""
    return _numbered([one_line(name) for name in names])


def short(names: Sequence[str], width: int = 40) -> tuple[str, ...]:
    """Return distinct names of at most about `width` characters, cut in the middle; equal names are numbered."""
    return _numbered(distinct([one_line(name) for name in names], width))


def _numbered(names: Sequence[str]) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if names.count(name) == 1 else f"{name} [{seen[name]}]")
    return tuple(result)


def shortened(verdict: Verdict) -> Verdict:
    """Return a verdict with names cut to fit a terminal, also in its sentences; other forms have whole names."""
    names = [summary.name for summary in verdict.summaries]
    names += [name for row in verdict.differences for name in (row.name, row.reference)]
    return brief(verdict, tuple(dict.fromkeys(names)))


def brief(value: T, names: Sequence[str]) -> T:
    """Return a value in whose texts these names are replaced by their `short` forms."""
    pairs = zip(names, short(names), strict=True)
    cut = {form: shown for name, shown in pairs for form in (name, one_line(name)) if form != shown}
    # A long name may contain a short one.
    ordered = sorted(cut, key=len, reverse=True)

    def reword(text: str) -> str:
        for name in ordered:
            text = text.replace(name, cut[name])
        return text

    return cast(T, _reworded(value, reword)) if cut else value


NAMED_BY = ("name", "names", "entries", "benchmarks")
"""The keys under which findings hold names."""


def brief_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings with names cut to fit a terminal in their sentences; other forms have whole names."""
    return tuple(replace(finding, sentence=brief(finding.sentence, _names_of(finding))) for finding in findings)


def _names_of(finding: Finding) -> tuple[str, ...]:
    """Return the program of a finding and the names among its numbers, which hold one, several, or pairs."""
    names = [finding.program]
    for key in NAMED_BY:
        value = finding.numbers.get(key, ())
        names += (
            [value] if isinstance(value, str) else [entry if isinstance(entry, str) else entry[0] for entry in value]
        )
    return tuple(dict.fromkeys(name for name in names if name))


def _reworded(value: Any, reword: Callable[[str], str]) -> Any:
    """Return a value with its texts reworded, through frozen values, tuples and mappings."""
    if isinstance(value, str):
        return reword(value)
    if isinstance(value, msgspec.Struct):
        old = structs.asdict(value)
        new = {name: _reworded(item, reword) for name, item in old.items()}
        return value if all(new[name] is old[name] for name in old) else replace(value, **new)
    if type(value) is tuple:
        items = tuple(_reworded(item, reword) for item in value)
        return value if all(new_item is item for new_item, item in zip(items, value, strict=True)) else items
    if type(value) is dict:
        return {_reworded(key, reword): _reworded(item, reword) for key, item in value.items()}
    return value
