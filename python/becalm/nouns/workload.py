"""The noun Workload: what is run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from becalm.errors import UsageError
from becalm.nouns.codec import Json, unwire, wire


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
        """What the agent needs to know (docs/reference/protocol.md)."""
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
