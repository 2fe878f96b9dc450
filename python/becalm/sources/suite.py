"""The source `suite`: programs listed in a TOML file.

Each `[[program]]` has a `command` (a text of any other kind of source, or a list of arguments) and may have a `name`
and fields of a workload. Files and directories are found from the directory of the TOML file, where the programs run.
"""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from becalm.errors import UsageError
from becalm.nouns import Workload
from becalm.quantity import duration_ns
from becalm.sources.asked import Asked


def open_suite(text: str, asked: Asked) -> tuple[Workload, ...]:
    """All programs of a file, in its order; what the file says of a program wins over the options for all.

    Raises UsageError, naming the file and the program, for a file that cannot be read or says something unknown.
    """
    from becalm.sources import gather

    path = asked.file(text)
    made: list[Workload] = []
    for number, program in enumerate(_programs(path), start=1):
        where = f"{path}, program {number}"
        command = _command(program, where)
        try:
            made += gather([command], _asked(program, where, asked, path.parent))
        except UsageError as error:
            if str(error).startswith(where):
                raise
            raise UsageError(f"{where}: {error}") from None
    return tuple(made)


def _programs(path: Path) -> list[Mapping[str, Any]]:
    try:
        value = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no TOML: {error}.") from error
    programs = value.get("program")
    if not isinstance(programs, list) or not programs or not all(isinstance(each, dict) for each in programs):
        raise UsageError(f'{path} lists no programs. Write each as a table [[program]] with a line: command = "…"')
    unknown = sorted(set(value) - {"program"})
    if unknown:
        raise UsageError(f"{path} has {unknown[0]!r} outside of a program; only [[program]] tables are known.")
    return programs


def _command(program: Mapping[str, Any], where: str) -> Any:
    command = program.get("command")
    words = isinstance(command, list) and command and all(isinstance(each, str) for each in command)
    if not words and not (isinstance(command, str) and command.strip()):
        raise UsageError(f'{where}: command must be a text or a list of texts, for example command = "gzip -9 x".')
    if isinstance(command, str) and command.startswith("suite:"):
        raise UsageError(f"{where}: a suite cannot list another suite. List the programs, or name both files.")
    return command


def _asked(program: Mapping[str, Any], where: str, asked: Asked, base: Path) -> Asked:
    """The options for one program: those for all, under those of the file."""
    options = {**asked.options, "directory": str(asked.directory if asked.options.get("directory") else base)}
    for key, value in program.items():
        if key == "command":
            continue
        if key not in _FIELDS:
            near = difflib.get_close_matches(key, [*_FIELDS, "command"], n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"{where}: there is no {key!r}.{hint} Known: command, {', '.join(_FIELDS)}.")
        check, wanted = _FIELDS[key]
        try:
            options["timeout_ns" if key == "timeout" else key] = check(value, base)
        except (TypeError, ValueError, UsageError):
            raise UsageError(f"{where}: {key} must be {wanted}, not {value!r}.") from None
    options["environment"] = {**dict(asked.options.get("environment") or {}), **options.get("environment", {})}
    return dataclasses.replace(asked, base=base, options=options)


def _text(value: Any, base: Path) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError
    return value


def _path(value: Any, base: Path) -> str:
    return str(base / Path(_text(value, base)).expanduser())


def _environment(value: Any, base: Path) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise TypeError
    return dict(value)


def _timeout(value: Any, base: Path) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError
    return duration_ns(value)


def _expect(value: Any, base: Path) -> tuple[int, ...] | None:
    if value == "any":
        return None
    codes = value if isinstance(value, list) else [value]
    if not codes or any(isinstance(code, bool) or not isinstance(code, int) or not 0 <= code <= 255 for code in codes):
        raise ValueError
    return tuple(codes)


_FIELDS: dict[str, tuple[Callable[[Any, Path], Any], str]] = {
    "name": (_text, "a text"),
    "directory": (_path, "the path of a directory"),
    "environment": (_environment, 'a table of texts, for example { LC_ALL = "C" }'),
    "input": (_path, "the path of a file"),
    "prepare": (_text, "a command line"),
    "cleanup": (_text, "a command line"),
    "timeout": (_timeout, 'a duration, for example "30s"'),
    "expect": (_expect, 'exit codes, for example [0, 1], or "any"'),
}
"""What a program may say besides its command: how it is read, and what it must be, in words."""
