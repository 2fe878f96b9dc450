"""The options after the colon of a built-in program: `groups=20,loops=1000,threads`, `work=50us`, `size=64MiB`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

import msgspec

from becalm.errors import UsageError
from becalm.units import duration_ns, size_bytes

LONGEST_NS = 3_600 * 10**9
"""The longest time of an option, ns."""


class KeyedValues(msgspec.Struct, frozen=True):
    """The options of a text: numbers by name (times in ns, sizes in bytes), words without a value, and texts."""

    numbers: Mapping[str, int]
    words: frozenset[str]
    texts: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """The numbers in the form of a workload's parameters."""
        return tuple(sorted((name, str(value)) for name, value in self.numbers.items()))


def parse_keyed(
    kind: str,
    text: str,
    known: Mapping[str, int | None],
    words: tuple[str, ...] = (),
    times: Mapping[str, int | None] | None = None,
    sizes: Mapping[str, int | None] | None = None,
    texts: tuple[str, ...] = (),
) -> KeyedValues:
    """Return the options of a text. Raises UsageError, which begins with `kind`.

    `known`: the default of each number by name, None for no default; `times`, ns, and `sizes`, bytes: the same for
    these. `words`: the words that may occur. `texts`: the names whose value may be any text without a comma.
    """
    times, sizes = times or {}, sizes or {}
    numbers = {**known, **times, **sizes}
    flags, values = set(), {}
    for part in (word.strip() for word in text.split(",")):
        name, equals, value = part.partition("=")
        if not equals and name in words:
            flags.add(name)
        elif name in times:
            numbers[name] = _time(kind, name, value)
        elif name in texts and value:
            values[name] = value
        elif name in sizes:
            numbers[name] = _size(kind, name, value)
        elif name not in known:
            raise UsageError(_unknown(kind, name, (*known, *times, *sizes, *texts, *words)))
        elif not (value.isascii() and value.isdigit() and 0 < int(value) < 2**31):
            raise UsageError(f"{kind}: {name} is a whole number above zero, not {value!r}. Write it like {name}=10")
        else:
            numbers[name] = int(value)
    return KeyedValues({name: value for name, value in numbers.items() if value is not None}, frozenset(flags), values)


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
