"""The source `kernel`: built-in programs of the agent with known pressure on caches and memory, and known sensitivity.

Examples: `kernel:chase`, `kernel:chase:size=64MiB,work=1000000`. The engine has the table of kernels and their
parameters (crates/becalm-core/src/kernel). Default sizes are fractions of the last-level cache of the CPU that runs the
program. A kernel prints one line of JSON: its parameters, its time in seconds without preparing memory, and a checksum.
"""

from __future__ import annotations

import difflib

from becalm.errors import UsageError
from becalm.nouns import tables
from becalm.nouns.keyed import KeyedValues, parse_keyed
from becalm.nouns.workload import AGENT, Workload
from becalm.workloads.program_options import ProgramOptions


def open_kernel(text: str, program_options: ProgramOptions) -> tuple[Workload, ...]:
    """Return one workload: `chase`, or `chase:size=64MiB,work=1000000`. Raises UsageError."""
    name, _, rest = text.partition(":")
    row = _row(name.strip())
    arguments = _arguments(row, rest.strip())
    values = {**arguments.numbers, **dict.fromkeys(sorted(arguments.words), 1), **arguments.texts}
    words = [word for key, value in values.items() for word in (f"--{key}", str(value))]
    return (
        program_options.workload(
            [AGENT, "kernel", row.name, *words], name=f"kernel:{text}", parameters=arguments.parameters
        ),
    )


def _row(name: str) -> tables.BuiltInKernel:
    known = {row.name: row for row in tables.built_in_kernels()}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UsageError(f"There is no built-in kernel {name!r}.{hint} There are {', '.join(known)}.")


def _arguments(row: tables.BuiltInKernel, text: str) -> KeyedValues:
    kind = f"kernel:{row.name}"
    if not text:
        return KeyedValues({}, frozenset())

    def of(unit: str) -> dict[str, int | None]:
        return {parameter.name: None for parameter in row.parameters if parameter.unit == unit}

    arguments = parse_keyed(kind, text, of("count"), tuple(of("switch")), of("time"), of("bytes"), tuple(of("file")))
    for parameter in row.parameters:
        value = arguments.numbers.get(parameter.name, parameter.least)
        if value < parameter.least:
            unit = {"bytes": " bytes", "time": " ns"}.get(parameter.unit, "")
            raise UsageError(f"{kind}: {parameter.name} is at least {parameter.least}{unit}, not {value}.")
    return arguments
