"""One command line with parameters becomes several workloads: {n} is replaced by each value of n."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from becalm.errors import UsageError
from becalm.nouns.workload import HOOKS, Neighbour, Workload, shell_of, split

if TYPE_CHECKING:
    from becalm.nouns.keywords import ProgramKeywords

MOST = 1000
"""The largest number of variants; more would be a mistake."""

_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)(?:\.\.(\d+(?:\.\d+)?))?")

_DOTS = re.compile(r"(^|[^./])\.\.([^./]|$)")
"""Two dots that are not part of a path."""


_DASH = re.compile(r"(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)")
"""A range written with a dash, as in other tools."""


def values(text: str) -> list[str]:
    """Return the values of a list (1,2,4), a range (1..8) or a range with a step (10..100..30, 0.5..2..0.5).

    Raises UsageError.
    """
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        result = [part.strip() for part in text.split(",")]
        if "" in result:
            raise UsageError(f"{text!r} lists an empty value. Write values like 1,2,4 or 1..8.")
        if len(result) == 1 and (dash := _DASH.fullmatch(result[0])):
            raise UsageError(f"{text!r} is a single value. For a range write {dash[1]}..{dash[2]}, for a list 1,2,4.")
        if len(result) == 1 and _DOTS.search(text):
            raise UsageError(f"{text!r} is not a range of numbers. Write it like 1..8, 10..100..30 or 0.5..2..0.5.")
        return result
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
    """Return a text with the {names} of a program's parameters replaced by their values."""
    return _substituted(template, dict(program.parameters))


def _substituted(text: str, values: Mapping[str, str]) -> str:
    """Return a text with {names} replaced by values; braces in values are not replaced again."""
    return re.sub(r"\{([^{}]*)\}", lambda match: values.get(match[1], match[0]), text)


def around(program: Workload, keywords: Mapping[str, Any]) -> Workload:
    """Return a program with its parameters replaced in its hooks, input, directory, environment and neighbours.

    `keywords`: keyword arguments with the hooks, whose text is split after the replacement, as command lines are.
    """
    if not program.parameters:
        return program
    shell = shell_of(keywords)
    hooks: dict[str, Any] = {}
    for hook in HOOKS:
        text = keywords.get(hook)
        if isinstance(text, str):
            hooks[hook] = split(filled(text, program), shell=shell)
        elif text is not None:
            hooks[hook] = split([filled(word, program) for word in text], shell=shell)
    return dataclasses.replace(
        program,
        **hooks,
        input=None if program.input is None else filled(program.input, program),
        directory=None if program.directory is None else filled(program.directory, program),
        environment=tuple((name, filled(value, program)) for name, value in program.environment),
        alongside=tuple(_near(neighbour, program) for neighbour in program.alongside),
    )


def _near(neighbour: Neighbour, program: Workload) -> Neighbour:
    work = neighbour.workload
    argv = tuple(filled(word, program) for word in work.argv)
    environment = tuple((name, filled(value, program)) for name, value in work.environment)
    directory = None if work.directory is None else filled(work.directory, program)
    named = dataclasses.replace(
        work, argv=argv, name=filled(work.name, program), environment=environment, directory=directory
    )
    return replace(neighbour, workload=named)


def before_each_run(program: ProgramKeywords) -> list[str]:
    """Return the texts other than the command in which each run of two variants of one command can differ."""
    prepare = program.get("prepare")
    texts = [prepare] if isinstance(prepare, str) else list(prepare or ())
    texts += [str(value) for value in (program.get("input"), program.get("directory")) if value is not None]
    return [*texts, *(program.get("environment") or {}).values()]


def expand(
    commands: Sequence[str],
    parameters: Mapping[str, str],
    *,
    shell: bool = False,
    make: Callable[[str], Workload] | None = None,
    elsewhere: Sequence[str] = (),
) -> list[Workload]:
    """Return all combinations of the parameters' values in all commands. Raises UsageError for an unused parameter.

    `make`: a function that makes a program from a command (None: as a command line). `elsewhere`: texts of each run of
    all commands, which may contain a parameter, too.
    """
    there = {name for name in parameters if any("{" + name + "}" in text for text in elsewhere)}
    for name in parameters:
        if name not in there and not any("{" + name + "}" in command for command in commands):
            raise UsageError(
                f"The parameter {name!r} appears in no command. Write it as {{{name}}} in a command or in "
                "--prepare, --env or --input. --setup runs once for each program, so a program that it builds "
                "needs its own name."
            )
    listed = {name: values(text) for name, text in parameters.items()}
    workloads = []
    for command in commands:
        used = {name: texts for name, texts in listed.items() if name in there or "{" + name + "}" in command}
        unseen = [name for name in used if "{" + name + "}" not in command]
        for combination in itertools.product(*used.values()):
            chosen = dict(zip(used, combination, strict=True))
            text = _substituted(command, chosen)
            program = Workload.of(text, shell=shell) if make is None else make(text)
            if unseen:
                own = ", ".join(f"{name}={chosen[name]}" for name in unseen)
                program = dataclasses.replace(program, name=f"{program.name} ({own})")
            workloads.append(
                dataclasses.replace(program, parameters=tuple(sorted((dict(program.parameters) | chosen).items())))
            )
    if len(workloads) > MOST:
        raise UsageError(f"These parameters make {len(workloads)} programs; at most {MOST} are possible.")
    return workloads
