"""The text after the colon of a program of numbers: `groups=20,loops=1000,threads`, `work=50us`, `size=64MiB`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from becalm.errors import UsageError
from becalm.units import duration_ns, size_bytes

LONGEST_NS = 3_600 * 10**9
"""No time of a text is longer than an hour."""


@dataclass(frozen=True, slots=True)
class Given:
    """Numbers by name, in the order of what is known (times in ns, sizes in bytes), words alone, and texts."""

    numbers: Mapping[str, int]
    words: frozenset[str]
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """The numbers as a workload has its parameters."""
        return tuple(sorted((name, str(value)) for name, value in self.numbers.items()))


def keyed(
    kind: str,
    text: str,
    known: Mapping[str, int | None],
    words: tuple[str, ...] = (),
    times: Mapping[str, int | None] | None = None,
    sizes: Mapping[str, int | None] | None = None,
    texts: tuple[str, ...] = (),
) -> Given:
    """Read a text of `kind`; `known` has the default of each number, None for none, `times` those of times, ns, `sizes`
    those of sizes, bytes; `texts` are names whose value is any text without a comma.

    Raises UsageError.
    """
    times, sizes = times or {}, sizes or {}
    found = {**known, **times, **sizes}
    alone, told = set(), {}
    for part in (word.strip() for word in text.split(",")):
        name, equals, value = part.partition("=")
        if not equals and name in words:
            alone.add(name)
        elif name in times:
            found[name] = _time(kind, name, value)
        elif name in texts and value:
            told[name] = value
        elif name in sizes:
            found[name] = _size(kind, name, value)
        elif name not in known:
            raise UsageError(_unknown(kind, name, (*known, *times, *sizes, *texts, *words)))
        elif not (value.isascii() and value.isdigit() and 0 < int(value) < 2**31):
            raise UsageError(f"{kind}: {name} is a whole number above zero, not {value!r}. Write it like {name}=10")
        else:
            found[name] = int(value)
    return Given({name: value for name, value in found.items() if value is not None}, frozenset(alone), told)


def _time(kind: str, name: str, value: str) -> int:
    try:
        ns = 0 if value[-1:].isdigit() else duration_ns(value)
    except UsageError:
        ns = 0
    if not 0 < ns <= LONGEST_NS:
        raise UsageError(
            f"{kind}: {name} is a time with its unit (ns, us, ms, s), above zero and at most an hour, not {value!r}. "
            f"Write it like {name}=50us"
        )
    return ns


def _size(kind: str, name: str, value: str) -> int:
    try:
        return size_bytes(value)
    except UsageError as error:
        raise UsageError(
            f"{kind}: {name} is a number of bytes, at least one, not {value!r}. Write it like {name}=64MiB"
        ) from error


def _unknown(kind: str, name: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"{kind} has no option {name!r}.{hint} It has {', '.join(known)}."
