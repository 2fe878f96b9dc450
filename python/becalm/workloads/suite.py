"""The source `suite`: programs listed in a TOML file.

Each `[[program]]` has a `command` (a text of any other kind of source, or a list of arguments) and may have a `name`
and fields of a workload. Files and directories are relative to that of the TOML file, where the programs run. For
`becalm suite` a program may have a `reference` time and a `peak_command`, and the file may have a `name`, a number of
`copies`, and settings for all programs in the tables `[base]` and `[peak]`; `becalm tune` ignores these.

Public: open_suite, read, Suite, Listed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from becalm.errors import UsageError
from becalm.files.tables import check_keys, read_toml
from becalm.nouns.metric import EXAMPLE, Metric, metrics
from becalm.nouns.settings import Settings
from becalm.nouns.workload import HOOKS, Workload, split
from becalm.units import UNITS_NS, duration_ns, plain_number
from becalm.workloads.program_options import ProgramOptions


class Listed(msgspec.Struct, frozen=True):
    """A program of a suite; `reference_ns`: its time on the reference machine, `peak`: the command of the peak tuning.

    `reference`: the value on the reference machine for a program with a metric, in the metric's unit.
    """

    workload: Workload
    reference_ns: int | None
    peak: Workload
    reference: float | None = None


class Suite(msgspec.Struct, frozen=True):
    """A file that lists programs. `copies`: None if not given; `base`, `peak`: settings for all programs of a
    tuning."""

    name: str
    programs: tuple[Listed, ...]
    copies: int | None
    base: Settings
    peak: Settings | None

    @property
    def has_peak(self) -> bool:
        """Whether the peak tuning differs from base."""
        return self.peak is not None or any(program.peak != program.workload for program in self.programs)


def open_suite(text: str, program_options: ProgramOptions) -> tuple[Workload, ...]:
    """Return all programs of a file, in its order; a program's options in the file override those for all.

    Raises UsageError with the file and the program for an unreadable file or an unknown entry.
    """
    path = program_options.file(text)
    workloads: list[Workload] = []
    for number, program in enumerate(_file(path)["program"], start=1):
        workloads += _workloads(program, "command", f"{path}, program {number}", program_options, path.parent)
    return tuple(workloads)


def read(text: str, program_options: ProgramOptions) -> Suite:
    """Return the suite of a file, in which each entry must name one program. Raises UsageError."""
    path = program_options.file(text)
    file = _file(path)
    programs = tuple(
        _listed(program, f"{path}, program {number}", program_options, path.parent)
        for number, program in enumerate(file["program"], start=1)
    )
    names = [program.workload.name for program in programs]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"{path} has two programs called {doubled[0]!r}. Give each its own name.")
    peak = file.get("peak")
    return Suite(
        name=file.get("name", path.stem),
        programs=programs,
        copies=file.get("copies"),
        base=Settings.of(file.get("base")),
        peak=None if peak is None else Settings.of(peak),
    )


def _listed(program: Mapping[str, Any], where: str, program_options: ProgramOptions, base: Path) -> Listed:
    workloads = _workloads(program, "command", where, program_options, base)
    if len(workloads) != 1:
        names = ", ".join(workload.name for workload in workloads[:3])
        raise UsageError(
            f"{where}: each entry of a suite must be one program, but this one names {len(workloads)}: {names} …"
        )
    peak = workloads[0]
    if "peak_command" in program:
        (other, *more) = _workloads(program, "peak_command", where, program_options, base)
        if more:
            raise UsageError(f"{where}: peak_command must name one program.")
        peak = dataclasses.replace(other, name=workloads[0].name)
    metric, others = workloads[0].metrics[:1], peak.metrics[:1]
    if metric != others:
        raise UsageError(
            f"{where}: peak_command must print the same metric as command, for one reference and one ratio."
        )
    reference = program.get("reference")
    if reference is None:
        return Listed(workloads[0], None, peak)
    if metric:
        return Listed(workloads[0], None, peak, _amount(reference, metric[0], where))
    try:
        return Listed(workloads[0], duration_ns(reference), peak)
    except UsageError:
        raise UsageError(
            f'{where}: reference must be a duration above zero, for example "30s", not {reference!r}.'
        ) from None


def _amount(reference: float | str, metric: Metric, where: str) -> float:
    """Return a reference in the unit of a metric, from a number, a number with that unit, or any duration if that unit
    is one of time. Raises UsageError."""
    unit, number = metric.unit, math.nan
    with contextlib.suppress(ValueError, UsageError):
        text = str(reference).strip()
        if unit in UNITS_NS and unit and text[-1:].isalpha():
            number = duration_ns(text) / UNITS_NS[unit]
        else:
            number = plain_number(text.removesuffix(unit))
    if not 0 < number < math.inf:
        example = f"12.5 {unit}".strip()
        raise UsageError(
            f"{where}: reference must be a number{f' of {unit}' if unit else ''}, as {metric.name} is, for example "
            f'"{example}", not {reference!r}.'
        )
    return number


def _workloads(
    program: Mapping[str, Any], key: str, where: str, program_options: ProgramOptions, base: Path
) -> tuple[Workload, ...]:
    from becalm.workloads import gather

    check_keys(program, [*_RATED, *_FIELDS], where)
    command = _command(program, key, where)
    try:
        return gather([command], _options_of(program, where, program_options, base))
    except UsageError as error:
        if str(error).startswith(where):
            raise
        raise UsageError(f"{where}: {error}") from None


def _file(path: Path) -> Mapping[str, Any]:
    value = read_toml(path)
    check_keys(value, _FILE_ENTRIES, str(path))
    programs = value.get("program")
    if not isinstance(programs, list) or not programs or not all(isinstance(program, dict) for program in programs):
        raise UsageError(f'{path} lists no programs. Write each as a table [[program]] with a line: command = "…"')
    for key, entry in value.items():
        check, form = _FILE_ENTRIES[key]
        if not check(entry):
            raise UsageError(f"{path}: {key} must be {form}, not {entry!r}.")
    return value


def _command(program: Mapping[str, Any], key: str, where: str) -> Any:
    command = program.get(key)
    words = isinstance(command, list) and command and all(isinstance(word, str) for word in command)
    if not words and not (isinstance(command, str) and command.strip()):
        raise UsageError(f'{where}: {key} must be a string or a list of strings, for example {key} = "gzip -9 x".')
    if isinstance(command, str) and command.startswith("suite:"):
        raise UsageError(f"{where}: a suite cannot list another suite. List the programs, or name both files.")
    return command


def _options_of(program: Mapping[str, Any], where: str, program_options: ProgramOptions, base: Path) -> ProgramOptions:
    """Return the options for one program: those for all, overridden by those in the file."""
    options = {
        **program_options.options,
        "directory": str(program_options.directory if program_options.options.get("directory") else base),
    }
    for key, value in program.items():
        if key in _RATED:
            _RATED[key](value, where)
            continue
        check, form = _FIELDS[key]
        try:
            options[_FIELD_NAMES.get(key, key)] = check(value, base)
        except (TypeError, ValueError, UsageError):
            raise UsageError(f"{where}: {key} must be {form}, not {value!r}.") from None
    joined = {**dict(program_options.options.get("environment") or {}), **dict(options.get("environment") or {})}
    options["environment"] = tuple(sorted(joined.items()))
    for hook in HOOKS:
        if isinstance(options.get(hook), str):
            options[hook] = split(options[hook], shell=program_options.shell)
    return structs.replace(program_options, base=base, options=options)


def _text(value: Any, base: Path) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError
    return value


def _path(value: Any, base: Path) -> str:
    return str(base / Path(_text(value, base)).expanduser())


def _environment(value: Any, base: Path) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
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


def _metric(value: Any, base: Path) -> tuple[Metric, ...]:
    return metrics([value] if isinstance(value, str) else list(value))


def _reference(value: Any, where: str) -> None:
    """Raise UsageError for an invalid reference; its unit is checked when the program is known."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
    if not number and not (isinstance(value, str) and value.strip()[:1].isdigit()):
        raise UsageError(f'{where}: reference must be a duration above zero, for example "30s", not {value!r}.')


_RATED: dict[str, Callable[[Any, str], None]] = {
    "command": lambda value, where: None,
    "peak_command": lambda value, where: None,
    "reference": _reference,
}
"""The entries of a program that are not fields of a workload, with checks; commands are checked when used."""


def _settings(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(setting, (str, int, bool)) for setting in value.values())


_FILE_ENTRIES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "program": (lambda value: True, "tables"),
    "name": (lambda value: isinstance(value, str) and bool(value), "a string"),
    "copies": (lambda value: type(value) is int and 1 <= value <= 4096, "a number from 1 to 4096"),
    "base": (_settings, 'a table of settings, for example { aslr = "off" }'),
    "peak": (_settings, 'a table of settings, for example { aslr = "off" }'),
}
"""The entries of a file for all of its programs: a check, and the expected form in words."""

_FIELDS: dict[str, tuple[Callable[[Any, Path], Any], str]] = {
    "name": (_text, "a string"),
    "directory": (_path, "the path of a directory"),
    "environment": (_environment, 'a table of strings, for example { LC_ALL = "C" }'),
    "input": (_path, "the path of a file"),
    "setup": (_text, "a command line"),
    "prepare": (_text, "a command line"),
    "cleanup": (_text, "a command line"),
    "timeout": (_timeout, 'a duration, for example "30s"'),
    "metric": (_metric, f"a metric as --metric has it, or a list of them, for example {EXAMPLE}"),
    "expect": (_expect, 'exit codes, for example [0, 1], or "any"'),
}
"""The entries of a program that are fields of a workload: a parser, and the expected form in words."""

_FIELD_NAMES = {"timeout": "timeout_ns", "metric": "metrics"}
"""The fields of a Workload whose names differ in a file."""
