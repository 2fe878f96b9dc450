"""The source `suite`: programs listed in a TOML file.

Each `[[program]]` has a `command` (a text of any other kind of source, or a list of arguments) and may have a `name`
and fields of a workload. Files and directories are found from the directory of the TOML file, where the programs run.
For `becalm suite` a program may have a `reference` time and a `peak_command`, and the file may have a `name`, a number
of `copies`, and settings for all programs in the tables `[base]` and `[peak]`; `becalm tune` does not look at these.

Public: open_suite, read, Suite, Listed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from becalm.errors import UsageError
from becalm.files.tables import check_keys, read_toml
from becalm.nouns.metric import EXAMPLE, Metric, metrics
from becalm.nouns.settings import Settings
from becalm.nouns.workload import HOOKS, Workload, split
from becalm.units import UNITS_NS, duration_ns, plain_number
from becalm.workloads.asked import ProgramOptions


@dataclass(frozen=True, slots=True)
class Listed:
    """A program of a suite; `reference_ns`: its time on the reference machine, `peak`: the command of the peak tuning.

    `reference`: in place of that time, for a program whose metric is measured, in the metric's unit.
    """

    workload: Workload
    reference_ns: int | None
    peak: Workload
    reference: float | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """A file that lists programs. `copies` None: not said. Settings are for all programs of a tuning."""

    name: str
    programs: tuple[Listed, ...]
    copies: int | None
    base: Settings
    peak: Settings | None

    @property
    def has_peak(self) -> bool:
        """Whether peak is anything else than base."""
        return self.peak is not None or any(program.peak != program.workload for program in self.programs)


def open_suite(text: str, asked: ProgramOptions) -> tuple[Workload, ...]:
    """Return all programs of a file, in its order; the file's options of a program win over those for all.

    Raises UsageError, naming the file and the program, for a file that cannot be read or has an unknown entry.
    """
    path = asked.file(text)
    workloads: list[Workload] = []
    for number, program in enumerate(_file(path)["program"], start=1):
        workloads += _workloads(program, "command", f"{path}, program {number}", asked, path.parent)
    return tuple(workloads)


def read(text: str, asked: ProgramOptions) -> Suite:
    """Return the whole file. A program with a reference time, or a rated one, must be a single one. Raises
    UsageError."""
    path = asked.file(text)
    file = _file(path)
    listed = tuple(
        _listed(program, f"{path}, program {number}", asked, path.parent)
        for number, program in enumerate(file["program"], start=1)
    )
    names = [each.workload.name for each in listed]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"{path} has two programs called {doubled[0]!r}. Give each a name of its own.")
    peak = file.get("peak")
    return Suite(
        name=file.get("name", path.stem),
        programs=listed,
        copies=file.get("copies"),
        base=Settings.of(file.get("base")),
        peak=None if peak is None else Settings.of(peak),
    )


def _listed(program: Mapping[str, Any], where: str, asked: ProgramOptions, base: Path) -> Listed:
    found = _workloads(program, "command", where, asked, base)
    if len(found) != 1:
        names = ", ".join(each.name for each in found[:3])
        raise UsageError(f"{where}: a suite is rated program by program, but this names {len(found)}: {names} …")
    peak = found[0]
    if "peak_command" in program:
        (other, *more) = _workloads(program, "peak_command", where, asked, base)
        if more:
            raise UsageError(f"{where}: peak_command must name one program.")
        peak = dataclasses.replace(other, name=found[0].name)
    metric, others = found[0].metrics[:1], peak.metrics[:1]
    if metric != others:
        raise UsageError(
            f"{where}: peak_command must print the same metric as command, for one reference and one ratio."
        )
    reference = program.get("reference")
    if reference is None:
        return Listed(found[0], None, peak)
    if metric:
        return Listed(found[0], None, peak, _amount(reference, metric[0], where))
    try:
        return Listed(found[0], duration_ns(reference), peak)
    except UsageError:
        raise UsageError(
            f'{where}: reference must be a duration above zero, for example "30s", not {reference!r}.'
        ) from None


def _amount(given: float | str, metric: Metric, where: str) -> float:
    """Return a reference in the unit of a metric: a number, a number with that unit, or any duration where it is
    one."""
    unit, number = metric.unit, math.nan
    with contextlib.suppress(ValueError, UsageError):
        text = str(given).strip()
        if unit in UNITS_NS and unit and text[-1:].isalpha():
            number = duration_ns(text) / UNITS_NS[unit]
        else:
            number = plain_number(text.removesuffix(unit))
    if not 0 < number < math.inf:
        example = f"12.5 {unit}".strip()
        raise UsageError(
            f"{where}: reference must be a number{f' of {unit}' if unit else ''}, as {metric.name} is, for example "
            f'"{example}", not {given!r}.'
        )
    return number


def _workloads(
    program: Mapping[str, Any], key: str, where: str, asked: ProgramOptions, base: Path
) -> tuple[Workload, ...]:
    from becalm.workloads import gather

    check_keys(program, [*_RATED, *_FIELDS], where)
    command = _command(program, key, where)
    try:
        return gather([command], _asked(program, where, asked, base))
    except UsageError as error:
        if str(error).startswith(where):
            raise
        raise UsageError(f"{where}: {error}") from None


def _file(path: Path) -> Mapping[str, Any]:
    value = read_toml(path)
    check_keys(value, _WHOLE, str(path))
    programs = value.get("program")
    if not isinstance(programs, list) or not programs or not all(isinstance(program, dict) for program in programs):
        raise UsageError(f'{path} lists no programs. Write each as a table [[program]] with a line: command = "…"')
    for key, given in value.items():
        check, wanted = _WHOLE[key]
        if not check(given):
            raise UsageError(f"{path}: {key} must be {wanted}, not {given!r}.")
    return value


def _command(program: Mapping[str, Any], key: str, where: str) -> Any:
    command = program.get(key)
    words = isinstance(command, list) and command and all(isinstance(each, str) for each in command)
    if not words and not (isinstance(command, str) and command.strip()):
        raise UsageError(f'{where}: {key} must be a text or a list of texts, for example {key} = "gzip -9 x".')
    if isinstance(command, str) and command.startswith("suite:"):
        raise UsageError(f"{where}: a suite cannot list another suite. List the programs, or name both files.")
    return command


def _asked(program: Mapping[str, Any], where: str, asked: ProgramOptions, base: Path) -> ProgramOptions:
    """Return the options for one program: those for all, overridden by those of the file."""
    options = {**asked.options, "directory": str(asked.directory if asked.options.get("directory") else base)}
    for key, value in program.items():
        if key in _RATED:
            _RATED[key](value, where)
            continue
        check, wanted = _FIELDS[key]
        try:
            options[_KEPT.get(key, key)] = check(value, base)
        except (TypeError, ValueError, UsageError):
            raise UsageError(f"{where}: {key} must be {wanted}, not {value!r}.") from None
    joined = {**dict(asked.options.get("environment") or {}), **dict(options.get("environment") or {})}
    options["environment"] = tuple(sorted(joined.items()))
    for hook in HOOKS:
        if isinstance(options.get(hook), str):
            options[hook] = split(options[hook], shell=asked.shell)
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


def _metric(value: Any, base: Path) -> tuple[Metric, ...]:
    return metrics([value] if isinstance(value, str) else list(value))


def _reference(value: Any, where: str) -> None:
    """Check that a value can be a reference; its unit is checked when the program is known. Raises UsageError."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
    if not number and not (isinstance(value, str) and value.strip()[:1].isdigit()):
        raise UsageError(f'{where}: reference must be a duration above zero, for example "30s", not {value!r}.')


_RATED: dict[str, Callable[[Any, str], None]] = {
    "command": lambda value, where: None,
    "peak_command": lambda value, where: None,
    "reference": _reference,
}
"""The entries of a program besides the fields of a workload, with a check; commands are checked where they are used."""


def _settings(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, (str, int, bool)) for each in value.values())


_WHOLE: dict[str, tuple[Callable[[Any], bool], str]] = {
    "program": (lambda value: True, "tables"),
    "name": (lambda value: isinstance(value, str) and bool(value), "a text"),
    "copies": (lambda value: type(value) is int and 1 <= value <= 4096, "a number from 1 to 4096"),
    "base": (_settings, 'a table of settings, for example { aslr = "off" }'),
    "peak": (_settings, 'a table of settings, for example { aslr = "off" }'),
}
"""The entries of a file for all of its programs: a check, and the expected kind in words."""

_FIELDS: dict[str, tuple[Callable[[Any, Path], Any], str]] = {
    "name": (_text, "a text"),
    "directory": (_path, "the path of a directory"),
    "environment": (_environment, 'a table of texts, for example { LC_ALL = "C" }'),
    "input": (_path, "the path of a file"),
    "setup": (_text, "a command line"),
    "prepare": (_text, "a command line"),
    "cleanup": (_text, "a command line"),
    "timeout": (_timeout, 'a duration, for example "30s"'),
    "metric": (_metric, f"a metric as --metric has it, or a list of them, for example {EXAMPLE}"),
    "expect": (_expect, 'exit codes, for example [0, 1], or "any"'),
}
"""The entries of a program besides its command: how each is read, and the expected kind in words."""

_KEPT = {"timeout": "timeout_ns", "metric": "metrics"}
"""Fields of a Workload that are called otherwise in a file."""
