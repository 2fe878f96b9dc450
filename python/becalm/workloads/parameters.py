"""One command line with parameters becomes several workloads: {n} is replaced by each value of n."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from becalm.errors import UsageError
from becalm.nouns.workload import Workload

MOST = 1000
"""More variants than that are a mistake, not a comparison."""

_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)(?:\.\.(\d+(?:\.\d+)?))?")

_MEANT = re.compile(r"(^|[^./])\.\.([^./]|$)")
"""Two dots that are part of no path."""


def values(text: str) -> list[str]:
    """The values that a list (1,2,4), a range (1..8) or a range with a step (10..100..30, 0.5..2..0.5) stands for.

    Raises UsageError.
    """
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        found = [part.strip() for part in text.split(",")]
        if "" in found:
            raise UsageError(f"{text!r} lists an empty value. Write values like 1,2,4 or 1..8.")
        if len(found) == 1 and _MEANT.search(text):
            raise UsageError(f"{text!r} is no range of numbers. Write it like 1..8, 10..100..30 or 0.5..2..0.5.")
        return found
    first, last, step = Decimal(match[1]), Decimal(match[2]), Decimal(match[3] or 1)
    if match[3] is None and (first % 1 or last % 1):
        raise UsageError(f"The range {text!r} needs a step. Write it like {match[1]}..{match[2]}..0.5.")
    if step == 0 or last < first:
        raise UsageError(f"The range {text!r} is empty. Write it like 1..8, 10..100..30 or 0.5..2..0.5.")
    count = int((last - first) / step) + 1
    if count > MOST:
        raise UsageError(f"The range {text!r} has more than {MOST} values.")
    return [str(first + number * step) for number in range(count)]


def filled(template: str, program: Workload) -> str:
    """A text with the values of a program's parameters in the place of their {names}."""
    for name, value in program.parameters:
        template = template.replace("{" + name + "}", value)
    return template


def expand(
    commands: Sequence[str],
    parameters: Mapping[str, str],
    *,
    shell: bool = False,
    make: Callable[[str], Workload] | None = None,
) -> list[Workload]:
    """All combinations of the parameters' values in all commands. Raises UsageError for an unused parameter.

    `make`: makes a program of a command [default: a command line].
    """
    for name in parameters:
        if not any("{" + name + "}" in command for command in commands):
            raise UsageError(f"The parameter {name!r} appears in no command. Write it as {{{name}}}.")
    listed = {name: values(text) for name, text in parameters.items()}
    made = []
    for command in commands:
        used = {name: each for name, each in listed.items() if "{" + name + "}" in command}
        for combination in itertools.product(*used.values()):
            chosen = dict(zip(used, combination, strict=True))
            text = command
            for name, value in chosen.items():
                text = text.replace("{" + name + "}", value)
            program = Workload.of(text, shell=shell) if make is None else make(text)
            made.append(replace(program, parameters=tuple(sorted((dict(program.parameters) | chosen).items()))))
    if len(made) > MOST:
        raise UsageError(f"These parameters make {len(made)} programs; {MOST} are the most.")
    return made
