"""The source `kernel`: the agent's own programs of known pressure on caches and memory, and known sensitivity to it.

`kernel:chase`, `kernel:chase:size=64MiB,work=1000000`. The table is the engine's (crates/becalm-core/src/kernel): what
there is, with which parameters. Sizes that nobody gives are parts of the last-level cache of the CPU that it runs on.
Each prints one line of JSON: its parameters, seconds without making memory ready, and a checksum of what it computed.
"""

from __future__ import annotations

import difflib

from becalm.errors import UsageError
from becalm.nouns import tables
from becalm.nouns.keyed import Given, keyed
from becalm.nouns.workload import AGENT, Workload
from becalm.workloads.asked import ProgramOptions


def open_kernel(text: str, asked: ProgramOptions) -> tuple[Workload, ...]:
    """Return one workload: `chase`, or `chase:size=64MiB,work=1000000`. Raises UsageError."""
    name, _, rest = text.partition(":")
    row = _row(name.strip())
    given = _given(row, rest.strip())
    values = {**given.numbers, **dict.fromkeys(sorted(given.words), 1), **given.texts}
    words = [word for key, value in values.items() for word in (f"--{key}", str(value))]
    return (asked.workload([AGENT, "kernel", row.name, *words], name=f"kernel:{text}", parameters=given.parameters),)


def _row(name: str) -> tables.BuiltInKernel:
    known = {row.name: row for row in tables.built_in_kernels()}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UsageError(f"There is no built-in kernel {name!r}.{hint} There are {', '.join(known)}.")


def _given(row: tables.BuiltInKernel, text: str) -> Given:
    kind = f"kernel:{row.name}"
    if not text:
        return Given({}, frozenset())

    def of(unit: str) -> dict[str, int | None]:
        return {parameter.name: None for parameter in row.parameters if parameter.unit == unit}

    given = keyed(kind, text, of("count"), tuple(of("switch")), of("time"), of("bytes"), tuple(of("file")))
    for parameter in row.parameters:
        value = given.numbers.get(parameter.name, parameter.least)
        if value < parameter.least:
            unit = {"bytes": " bytes", "time": " ns"}.get(parameter.unit, "")
            raise UsageError(f"{kind}: {parameter.name} is at least {parameter.least}{unit}, not {value}.")
    return given
