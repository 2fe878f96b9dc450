"""The nouns of becalm that exist so far, as frozen values with one JSON form shared with the agent.

Workload (what is run), Settings (values for knobs), Step and Block (what a plan asks for), Run (one measured
execution), Study (one measurement and its options). A Verdict is in `becalm.verdict`. Nothing here touches the
machine, the store or the terminal.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple

from becalm.errors import UsageError

Json = Any
"""A value that `json` can write."""


class Outcome(StrEnum):
    """How a run ended. Only OK is ever read as a value; the others are censored."""

    OK = "ok"
    FAILED = "failed"
    TIMEOUT = "timeout"
    ABORTED = "aborted"
    REFUSED = "refused"


class Output(StrEnum):
    """What becomes of a workload's standard output."""

    DISCARD = "discard"
    INHERIT = "inherit"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Workload:
    """What is run.

    `argv` is never given to a shell; `Workload.of` splits a command line as a shell would. `timeout_ns` in
    nanoseconds; `expect` lists the exit codes that count as success, None for any. So many `copies` are started at once
    and count as one run, from the start of the first to the end of the last.
    """

    argv: tuple[str, ...] = ()
    name: str = ""
    directory: str | None = None
    environment: tuple[tuple[str, str], ...] = ()
    input: str | None = None
    prepare: tuple[str, ...] | None = None
    cleanup: tuple[str, ...] | None = None
    timeout_ns: int | None = None
    expect: tuple[int, ...] | None = (0,)
    output: Output = Output.DISCARD
    cold: bool = False
    kernel: str | None = None
    iterations: int = 0
    parameters: tuple[tuple[str, str], ...] = ()
    copies: int = 1

    @classmethod
    def of(cls, command: str | Iterable[str] | Workload, *, shell: bool = False, **options: Any) -> Workload:
        """Make a workload of a command line or an argument list.

        Raises UsageError when the command is empty or has an unbalanced quote.
        """
        if isinstance(command, Workload):
            return replace(command, **options) if options else command
        argv = split(command, shell=shell)
        text = command if isinstance(command, str) else shlex.join(argv)
        options.setdefault("name", text)
        for hook in ("prepare", "cleanup"):
            if isinstance(options.get(hook), str):
                options[hook] = split(options[hook], shell=shell)
        if isinstance(options.get("environment"), Mapping):
            options["environment"] = tuple(sorted(options["environment"].items()))
        return cls(argv=argv, **options)

    def to_json(self) -> dict[str, Json]:
        """The full description, for the store; `from_json` reads it back."""
        return {
            **({"kernel": self.kernel, "iterations": self.iterations} if self.kernel else {}),
            "argv": [wire(a) for a in self.argv],
            "name": wire(self.name),
            "parameters": dict(self.parameters),
            **self._rest(),
        }

    def to_wire(self) -> dict[str, Json]:
        """What the agent needs to know (docs/protocol.md)."""
        if self.kernel:
            return {"kernel": self.kernel, "iterations": self.iterations}
        return {"argv": [wire(a) for a in self.argv], **self._rest()}

    def _rest(self) -> dict[str, Json]:
        return {
            "directory": wire(self.directory),
            "environment": {k: wire(v) for k, v in self.environment},
            "input": wire(self.input),
            "prepare": None if self.prepare is None else [wire(a) for a in self.prepare],
            "cleanup": None if self.cleanup is None else [wire(a) for a in self.cleanup],
            "timeout_ns": self.timeout_ns,
            "expect": None if self.expect is None else list(self.expect),
            "output": str(self.output),
            "cold": self.cold,
            **({"copies": self.copies} if self.copies != 1 else {}),
        }

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
            cleanup=words("cleanup"),
            timeout_ns=value.get("timeout_ns"),
            expect=None if expect is None else tuple(expect),
            output=Output(value.get("output", "discard")),
            cold=bool(value.get("cold", False)),
            kernel=value.get("kernel"),
            iterations=value.get("iterations", 0),
            parameters=tuple(sorted((value.get("parameters") or {}).items())),
            copies=value.get("copies", 1),
        )


def split(command: str | Iterable[str], *, shell: bool = False) -> tuple[str, ...]:
    """Split a command line as a shell would, or wrap it for `/bin/sh -c` when `shell` is asked for."""
    if not isinstance(command, str):
        argv = tuple(os.fspath(a) for a in command)
        if shell:
            return ("/bin/sh", "-c", shlex.join(argv))
    elif shell:
        argv = ("/bin/sh", "-c", command) if command.strip() else ()
    else:
        try:
            argv = tuple(shlex.split(command))
        except ValueError as error:
            raise UsageError(
                f"The command {command!r} cannot be split into words: {str(error).lower()}. "
                "Balance the quotes, or use --shell to have a shell read it."
            ) from None
    if not argv:
        raise UsageError("The command is empty. Name a program, for example: becalm run -- sleep 0.1")
    return argv


def wire(text: str | None) -> Json:
    """A string as the protocol carries it: itself, or {"hex": …} when it is not UTF-8 (a file name, an argument)."""
    if text is None:
        return None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return {"hex": os.fsencode(text).hex()}
    return text


def unwire(value: Json) -> str | None:
    """The inverse of `wire`."""
    if isinstance(value, dict):
        return os.fsdecode(bytes.fromhex(value["hex"]))
    return None if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Settings:
    """A value for some knobs, ordered by name. Empty means: the machine as it is."""

    values: tuple[tuple[str, str | int | bool], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, str | int | bool] | Settings | None = None) -> Settings:
        """Make settings of a mapping."""
        if isinstance(values, Settings):
            return values
        return cls(tuple(sorted((values or {}).items())))

    def to_json(self) -> dict[str, Json]:
        """A JSON object, knob name to value."""
        return dict(self.values)


class Step(NamedTuple):
    """One execution that a plan asks for. `round` < 0 marks a warm-up; `padding` in bytes of environment."""

    workload: int
    settings: int
    padding: int
    round: int


Block = tuple[Step, ...]
"""What a plan hands to a host at once; the host runs it without waiting for Python."""

COLUMNS = (
    "seq",
    "workload",
    "settings",
    "round",
    "padding",
    "started_ns",
    "wall_ns",
    "user_ns",
    "system_ns",
    "wait_ns",
    "max_rss_bytes",
    "minor_faults",
    "major_faults",
    "voluntary",
    "involuntary",
    "outcome",
    "status",
    "left_behind",
)
"""Columns of a run, as the agent sends and the store keeps them (docs/protocol.md)."""


class Run(NamedTuple):
    """One measured execution, never edited. Units are in the names; None is unknown, never zero.

    The fields are COLUMNS, in their order: a row of the agent is a Run.
    """

    seq: int
    workload: int
    settings: int
    round: int
    padding: int
    started_ns: int
    wall_ns: int
    user_ns: int | None
    system_ns: int | None
    wait_ns: int | None
    max_rss_bytes: int | None
    minor_faults: int | None
    major_faults: int | None
    voluntary: int | None
    involuntary: int | None
    outcome: str
    status: int | None
    left_behind: int

    @property
    def warmup(self) -> bool:
        """True for a run that is kept but not counted."""
        return self.round < 0


@dataclass(frozen=True, slots=True)
class Averages:
    """Means over one program's counted good runs, in the units of the names; None when any of them is unknown."""

    user_ns: float | None = None
    system_ns: float | None = None
    wait_ns: float | None = None
    max_rss_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Study:
    """One measurement: what is run under which settings, by which rule, from which seed.

    `kind` is "run", "compare" or "import"; `options` holds the rule's numbers (budget_ns, precision, runs, warmup,
    reference, …) so that a verdict can be computed again from the stored runs alone.
    """

    kind: str
    workloads: tuple[Workload, ...]
    settings: tuple[Settings, ...] = (Settings(),)
    options: Mapping[str, Json] = field(default_factory=dict)
    seed: int = 0
    host: str = "local"
    title: str = ""


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """A study as the store has it. `environment` is "unknown" for what was imported from another tool."""

    number: int
    study: Study
    created_ns: int
    becalm: str
    environment: str
    facts: Mapping[str, Any]
    runs: int
