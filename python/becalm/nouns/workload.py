"""The noun Workload: a program to run, with its options."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from becalm.errors import UsageError
from becalm.nouns.codec import Json, decode, plain, unwire, wire
from becalm.nouns.metric import Metric, Response, Tasks, Work
from becalm.nouns.option import option, parse_keywords, refuse_unknown
from becalm.nouns.signature import takes
from becalm.units import duration_ns, exit_codes

if TYPE_CHECKING:
    from becalm.nouns.keywords import ProgramKeywords


class Output(StrEnum):
    """The destination of a workload's standard output."""

    DISCARD = "discard"
    INHERIT = "inherit"
    KEEP = "keep"


AGENT = "/proc/self/exe"
"""The path of the agent's own program on any machine, as seen by the processes that it starts."""

MOST_COPIES = 4096

HOOKS = ("setup", "prepare", "cleanup")
"""The options with commands that are run before or after a program."""


def _environment(variables: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(variables.items()))


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The options that decide how a text becomes a program with arguments."""

    shell: bool = option(False, "Have /bin/sh run the commands.", bool)
    shell_program: str | None = option(
        None, "Have this shell run the commands: bash, or 'bash -o pipefail'.", str | None, metavar="CMD"
    )
    python: str | None = option(
        None,
        "Python for pyperf: and pytest-benchmark: programs.",
        str | None,
        metavar="PATH",
        shown="becalm's own",
    )


@dataclass(frozen=True, slots=True)
class Workload:
    """A program to run.

    - `argv`: the command, never passed to a shell; `Workload.of` splits a command line as a shell would.
    - `expect`: the exit codes that count as success, None for any.
    - `copies`: the number of copies that start at once and count as one run, from the start of the first to the end of
      the last.
    - `metrics`: the numbers of its runs; the first is compared in place of wall time.
    - `tasks`: the work of one run.
    """

    argv: tuple[str, ...] = ()
    name: str = option("", "Name of the program.", str, shown="its command line")
    directory: str | None = option(None, "Working directory.", str | None, metavar="DIR")
    environment: tuple[tuple[str, str], ...] = option(
        (),
        "Environment variable, in addition to becalm's own.",
        Mapping[str, str],
        flag="--env",
        metavar="K=V",
        repeats=True,
        parse=lambda variables: _environment(dict(variables)),
    )
    input: str | None = option(None, "File for standard input.", str | None, metavar="FILE", shown="none")
    prepare: tuple[str, ...] | None = option(
        None, "Run before each run, not timed.", str | Sequence[str] | None, metavar="CMD"
    )
    setup: tuple[str, ...] | None = option(
        None, "Run once before the first run, not timed.", str | Sequence[str] | None, metavar="CMD"
    )
    cleanup: tuple[str, ...] | None = option(
        None, "Run after each run, not timed.", str | Sequence[str] | None, metavar="CMD"
    )
    timeout_ns: int | None = option(
        None,
        "Kill a run that takes longer.",
        float | str | None,
        name="timeout",
        unit="seconds",
        metavar="DURATION",
        parse=duration_ns,
    )
    expect: tuple[int, ...] | None = option(
        "0",
        "Exit codes that count as success: 0,1 or any.",
        str | Sequence[int] | None,
        unit="codes",
        metavar="CODES",
        parse=exit_codes,
        none=True,
    )
    output: Output = option(
        "discard",
        "What to do with the programs' standard output.",
        str,
        choices=tuple(str(output) for output in Output),
        parse=Output,
    )
    cold: bool = option(False, "Drop the page cache before each run (root).", bool)
    kernel: str | None = None
    iterations: int = 0
    parameters: tuple[tuple[str, str], ...] = ()
    copies: int = option(
        1,
        "Copies started at once; one run is all of them. At most 64 per CPU.",
        int | None,
        metavar="N",
        least=1,
    )
    metrics: tuple[Metric, ...] = ()
    tasks: Tasks | None = None
    alongside: tuple[Neighbour, ...] = option(
        (),
        "Keep this program running during each run; it is not measured.",
        str | Sequence[str] | None,
        metavar="CMD",
        repeats=True,
        shown="none",
    )
    alongside_cpus: str | None = option(
        None, "CPUs for the --alongside programs: 1, or 2-3.", str | None, metavar="CPUS", shown="all"
    )

    @classmethod
    def of(cls, command: str | Iterable[str] | Workload, **options: Unpack[ProgramKeywords]) -> Workload:
        """Return the workload of a command line or an argument list.

        Raises UsageError when the command is empty or has an unbalanced quote.
        """
        refuse_unknown(options, CommandLine, Workload)
        shell, fields = shell_of(options), program_fields(options)
        if isinstance(command, Workload):
            return replace(command, **fields) if fields else command
        argv = split(command, shell=shell)
        return cls(**{"argv": argv, "name": command if isinstance(command, str) else shlex.join(argv), **fields})

    def to_json(self) -> dict[str, Json]:
        """Return the full description, for the store; `from_json` reads it."""
        return {
            **({"kernel": self.kernel, "iterations": self.iterations} if self.kernel else {}),
            "argv": [wire(a) for a in self.argv],
            "name": wire(self.name),
            "parameters": dict(self.parameters),
            **({"metrics": plain(self.metrics)} if self.metrics else {}),
            **({"tasks": plain(self.tasks)} if self.tasks else {}),
            **({"alongside": [neighbour.to_json() for neighbour in self.alongside]} if self.alongside else {}),
            **({"alongside_cpus": self.alongside_cpus} if self.alongside_cpus else {}),
            **self._rest(),
        }

    def to_wire(self) -> dict[str, Json]:
        """Return the members that the agent needs (docs/reference/protocol.md)."""
        near = [neighbour.to_wire(self.alongside_cpus) for neighbour in self.alongside]
        alongside = {"alongside": near} if near else {}
        if self.kernel:
            return {"kernel": self.kernel, "iterations": self.iterations, **alongside}
        if any(metric.exact for metric in self.metrics):
            from becalm.nouns.callgrind import counting, counting_environment  # Most programs start without it.

            argv, environment = counting(self.argv), counting_environment(self.environment)
            counted = replace(self, argv=argv, environment=environment)
        else:
            counted = self
        metrics = [metric.to_wire() for metric in self.metrics]
        measured = {"metrics": metrics} if metrics else {}
        return {"argv": [wire(a) for a in counted.argv], **counted._rest(), **measured, **alongside}

    def _rest(self) -> dict[str, Json]:
        return {
            "directory": wire(self.directory),
            "environment": {k: wire(v) for k, v in self.environment},
            "input": wire(self.input),
            "prepare": None if self.prepare is None else [wire(a) for a in self.prepare],
            **({"setup": [wire(a) for a in self.setup]} if self.setup else {}),
            "cleanup": None if self.cleanup is None else [wire(a) for a in self.cleanup],
            "timeout_ns": self.timeout_ns,
            "expect": None if self.expect is None else list(self.expect),
            "output": str(self.output),
            "cold": self.cold,
            **({"copies": self.copies} if self.copies != 1 else {}),
        }

    def measuring(self, response: Response, work: Work | None = None) -> Workload:
        """Return the workload with the metrics and the work of options, or its own where they have none."""
        tasks = self.tasks if work is None else work.tasks or self.tasks
        return replace(self, metrics=response.metrics or self.metrics, tasks=tasks)

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Workload:
        """Read back what `to_json` wrote."""

        def words(key: str) -> tuple[str, ...] | None:
            items = value.get(key)
            return None if items is None else tuple(unwire(a) or "" for a in items)

        expect = value.get("expect")
        return cls(
            argv=words("argv") or (),
            name=unwire(value.get("name")) or "",
            directory=unwire(value.get("directory")),
            environment=tuple((k, unwire(v) or "") for k, v in sorted((value.get("environment") or {}).items())),
            input=unwire(value.get("input")),
            prepare=words("prepare"),
            setup=words("setup"),
            cleanup=words("cleanup"),
            timeout_ns=value.get("timeout_ns"),
            expect=None if expect is None else tuple(expect),
            output=Output(value.get("output", "discard")),
            cold=bool(value.get("cold", False)),
            kernel=value.get("kernel"),
            iterations=value.get("iterations", 0),
            parameters=tuple(sorted((value.get("parameters") or {}).items())),
            copies=value.get("copies", 1),
            metrics=decode(tuple[Metric, ...], value.get("metrics") or []),
            tasks=None if value.get("tasks") is None else decode(Tasks, value["tasks"]),
            alongside=tuple(Neighbour.from_json(neighbour) for neighbour in value.get("alongside") or ()),
            alongside_cpus=value.get("alongside_cpus"),
        )


class Neighbour(msgspec.Struct, frozen=True):
    """A program that is kept running next to another one. `cpus`: the list of its CPUs; None for all."""

    workload: Workload
    cpus: str | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the form for the store; `from_json` reads it."""
        return {"workload": self.workload.to_json(), **({"cpus": self.cpus} if self.cpus else {})}

    def to_wire(self, otherwise: str | None) -> dict[str, Json]:
        """Return the members that the agent needs. `otherwise`: the CPUs of a neighbour without a list of its own."""
        cpus = self.cpus or otherwise
        return {"workload": self.workload.to_wire(), **({"cpus": cpus} if cpus else {})}

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Neighbour:
        """Read back what `to_json` wrote."""
        return cls(Workload.from_json(value["workload"]), value.get("cpus"))


takes(CommandLine, Workload)(Workload.of.__func__)  # type: ignore[attr-defined]


SHELL = ("/bin/sh",)
"""The shell that runs commands by default."""


def shell_of(keywords: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the shell that keyword arguments request, with its arguments; empty for none. Raises UsageError."""
    program = keywords.get("shell_program")
    if program is None:
        return SHELL if keywords.get("shell") else ()
    try:
        result = tuple(shlex.split(program))
    except ValueError as error:
        raise UsageError(f"--shell-program {program!r} cannot be split into words: {str(error).lower()}.") from None
    if not result:
        raise UsageError("--shell-program is empty. Name a shell, for example bash or 'bash -o pipefail'.")
    return result


def split(command: str | Iterable[str], *, shell: Sequence[str] = ()) -> tuple[str, ...]:
    """Split a command line as a shell would, or pass it to the `-c` of a `shell`. Raises UsageError."""
    if not isinstance(command, str):
        argv = tuple(os.fspath(a) for a in command)
        if shell:
            return (*shell, "-c", shlex.join(argv))
    elif shell:
        argv = (*shell, "-c", command) if command.strip() else ()
    else:
        try:
            argv = tuple(shlex.split(command))
        except ValueError as error:
            raise UsageError(
                f"The command {command!r} cannot be split into words: {str(error).lower()}. "
                "Balance the quotes, or use --shell to have a shell read it."
            ) from None
        if (sign := shell_sign(command)) is not None:
            raise UsageError(
                f"{sign} in {command!r} is shell syntax, and becalm runs a command without a shell: the program "
                f"would get it as an argument. Use --shell, or quote it: '{sign}'."
            )
    if not argv:
        raise UsageError("The command is empty. Name a program, for example: becalm run -- sleep 0.1")
    if not shell and _ASSIGNMENT.match(argv[0]):
        rest = " ".join(argv[1:]) or "./program"
        raise UsageError(
            f"{argv[0]!r} in front of a command is shell syntax, and becalm runs a command without a shell. Set "
            f"variables by --env {argv[0]}, or for this command only: env {argv[0]} {rest}"
        )
    return argv


_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


_SHELL = re.compile(
    r"""\\. | '[^']*' | (?P<double>"(?:\\.|[^"\\])*") | (?P<sign>\|\|?|>>?|<<?|;|&&|\*|\$(?=[A-Za-z_{(0-9?#@!$*]))""",
    re.VERBOSE | re.DOTALL,
)
"""The signs that a shell would act on outside of quotes; within double quotes only a $ counts."""


def shell_sign(command: str) -> str | None:
    """Return the first sign of a command line that needs a shell: a pipe, a redirection, a pattern, a variable."""
    for match in _SHELL.finditer(command):
        if match["sign"]:
            return match["sign"]
        if match["double"] and re.search(r"(?<!\\)\$[A-Za-z_{(]", match["double"]):
            return "$"
    return None


def program_fields(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a Workload for keyword arguments.

    None stands for the default, except for `expect`, where it accepts any exit code. Raises UsageError.
    """
    result = parse_keywords(Workload, keywords)
    for hook in HOOKS:
        if hook in result:
            result[hook] = split(result[hook], shell=shell_of(keywords))
    if "alongside" in result:
        result["alongside"] = _neighbours(result["alongside"], result, shell_of(keywords))
    if result.get("alongside_cpus") is not None and not result.get("alongside"):
        raise UsageError(
            "--alongside-cpus chooses the CPUs of programs that --alongside names, and there are none. Add "
            "--alongside CMD."
        )
    if result.get("copies", 1) > MOST_COPIES:
        raise UsageError(f"--copies must be at most {MOST_COPIES}, not {result['copies']}.")
    return result


def _neighbours(commands: Any, fields: Mapping[str, Any], shell: Sequence[str]) -> tuple[Neighbour, ...]:
    """Return one command or several as neighbours with the program's directory and environment. Raises UsageError."""
    surroundings = {key: fields[key] for key in ("directory", "environment") if key in fields}
    neighbours = []
    for command in (commands,) if isinstance(commands, (str, Workload, Neighbour)) else commands:
        if isinstance(command, Neighbour):
            neighbours.append(command)
        elif isinstance(command, Workload):
            neighbours.append(Neighbour(command))
        else:
            argv = split(command, shell=shell)
            neighbours.append(
                Neighbour(Workload(argv, command if isinstance(command, str) else shlex.join(argv), **surroundings))
            )
    return tuple(neighbours)
