"""Sources of the programs to measure: one table, one interface, one file per kind.

`open` turns texts of the command line ("gzip -9 x", "pyperf:bench.py", "phoronix:pts/compress-gzip",
"suite:programs.toml") into Workloads. A text without the name of a kind is a command line. No shell is used unless
`shell` requests it. The conformance suite in `tests/suites/workloads.py` runs over the table.
"""

from __future__ import annotations

import collections
import dataclasses
import difflib
import importlib
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Unpack, cast

import msgspec
from msgspec import structs

from becalm.errors import UsageError
from becalm.nouns.signature import takes
from becalm.nouns.workload import CommandLine, Workload
from becalm.workloads.program_options import ProgramOptions

if TYPE_CHECKING:
    from becalm.nouns.keywords import ProgramKeywords


class SourceRow(msgspec.Struct, frozen=True):
    """A kind of source: the prefix of its texts, its opener, a description, and a text as an example.

    `alone`: whether a text describes exactly one program, without running anything.
    """

    kind: str
    module: str
    opener: str
    what: str
    example: str
    alone: bool = False


TABLE = (
    SourceRow("command", "becalm.workloads.command", "open_command", "a command line; the default", "gzip -9 -c FILE"),
    SourceRow(
        "pyperf", "becalm.workloads.pyperf", "open_pyperf", "benchmarks of a pyperf script", "pyperf:bench.py:NAME"
    ),
    SourceRow(
        "phoronix",
        "becalm.workloads.phoronix",
        "open_phoronix",
        "an installed test of the Phoronix Test Suite",
        "phoronix:pts/compress-gzip",
    ),
    SourceRow(
        "google-benchmark",
        "becalm.workloads.google_benchmark",
        "open_google_benchmark",
        "benchmarks of a program built with Google Benchmark, timed by themselves",
        "google-benchmark:build/bench:BM_Sort/1024",
    ),
    SourceRow(
        "go",
        "becalm.workloads.go",
        "open_go",
        "benchmarks of a Go package or of its test program, timed by themselves",
        "go:./parser:BenchmarkParse",
    ),
    SourceRow(
        "pytest-benchmark",
        "becalm.workloads.pytest_benchmark",
        "open_pytest_benchmark",
        "tests with pytest-benchmark's fixture, timed by themselves",
        "pytest-benchmark:test_speed.py:test_sort",
    ),
    SourceRow(
        "criterion",
        "becalm.workloads.criterion",
        "open_criterion",
        "benchmarks of a Rust package that uses Criterion, timed by themselves",
        "criterion:./parser:parse/large",
    ),
    SourceRow("suite", "becalm.workloads.suite", "open_suite", "programs listed in a TOML file", "suite:programs.toml"),
    SourceRow(
        "hackbench",
        "becalm.workloads.hackbench",
        "open_hackbench",
        "hackbench of rt-tests with its parameters: tasks that pass messages",
        "hackbench:groups=20,loops=1000",
        alone=True,
    ),
    SourceRow(
        "wakeups",
        "becalm.workloads.wakeups",
        "open_wakeups",
        "wake-up latency of threads, and requests per second",
        "wakeups:workers=4,requests=10000",
        alone=True,
    ),
    SourceRow(
        "kernel",
        "becalm.workloads.kernel",
        "open_kernel",
        "a built-in program of known pressure on caches and memory",
        "kernel:chase",
        alone=True,
    ),
)


def several(command: Text) -> bool:
    """Return whether a text names a source that can have several programs."""
    row = _source(command)
    return row is not None and not row.alone


def refuse_source(command: Text) -> None:
    """Raise UsageError for a text that names a source instead of one command line."""
    if several(command):
        raise UsageError(
            f"{command!r} names a source of programs, which `becalm tune --program {command}` takes. Here a command "
            "line is needed, for example: becalm run 'gzip -9 -c FILE'"
        )


def single(command: Text, **program: Unpack[ProgramKeywords]) -> Workload:
    """Return the program of a command line, or of a source that names exactly one. Raises UsageError."""
    program = _with_neighbours(program)
    command = _command(command)
    if _source(command) is None and not callable(command):
        if program.get("python") is not None:
            raise UsageError(
                f"--python is for Python sources, such as pyperf:bench.py, and {command!r} is a command line: write "
                "the interpreter in front of it."
            )
        return Workload.of(command, **program)
    workloads = gather([command], ProgramOptions.of(None, program))
    if len(workloads) > 1:
        # A text with a pattern already has a name at its end.
        pattern = any(letter in str(command) for letter in "*?[")
        first = f"{workloads[0].name!r} in its place" if pattern else repr(f"{command}:{workloads[0].name}")
        way_out = "" if str(command).startswith("suite:") else f" Name one of them, for example {first}, or"
        raise UsageError(
            f"{command!r} names {len(workloads)} programs; one is needed here.{way_out or ' Write its command, or'} "
            "measure all of them by becalm record or becalm tune."
        )
    return workloads[0]


Text = str | Iterable[str] | Workload | Callable[[], object]
"""A name of programs: a text, an argument list, a workload, or a function without arguments."""


@takes(CommandLine, Workload)
def open(
    texts: Sequence[Text] | str,
    *,
    user: str | None = None,
    **program: Unpack[ProgramKeywords],
) -> tuple[Workload, ...]:
    """Return the programs that texts name, in their order; a text may name several.

    The options apply to all programs (`environment` is added to that of a source). `user`: the user who runs a script
    to list its benchmarks if becalm runs as root. Raises UsageError for a text without programs, WorkloadError for a
    program that cannot list its benchmarks.
    """
    program_options = structs.replace(ProgramOptions.of(user, _with_neighbours(program)), whole=True)
    return gather([texts] if isinstance(texts, str) else texts, program_options)


def _source(command: object) -> SourceRow | None:
    """Return the row of the source that a text names; None for a command line."""
    kind, colon, _ = command.partition(":") if isinstance(command, str) else ("", "", "")
    return next((row for row in TABLE[1:] if colon and row.kind == kind), None)


def _with_neighbours(program: ProgramKeywords) -> ProgramKeywords:
    """Return the options of a program, with workloads for neighbours that name a source, such as `kernel:triad`.
    Raises UsageError."""
    neighbours = program.get("alongside")
    if not neighbours:
        return program
    texts = [neighbours] if isinstance(neighbours, str) else list(neighbours)
    neighbour_programs = [text if _source(text) is None else single(text) for text in texts]
    return cast("ProgramKeywords", {**program, "alongside": neighbour_programs})


def gather(texts: Sequence[Text], program_options: ProgramOptions) -> tuple[Workload, ...]:
    """Return the programs as `open` does. Equal names of different programs get the source added."""
    if not texts:
        raise UsageError("No program is named. Name one, for example: gzip -9 -c FILE")
    pairs = [(text, workload) for text in texts for workload in _workloads(text, program_options)]
    if "name" in program_options.options and len(pairs) > 1:
        raise UsageError(f"--name is one name, and there are {len(pairs)} programs. Leave out the name.")
    # Two scripts may have benchmarks of the same name.
    different = {(workload.name, workload.argv, workload.directory) for _, workload in pairs}
    shared = {name for name, count in collections.Counter(name for name, _, _ in different).items() if count > 1}
    return tuple(
        dataclasses.replace(workload, name=f"{workload.name} ({_origin(text)})")
        if workload.name in shared
        else workload
        for text, workload in pairs
    )


def _command(command: object) -> Text:
    """Return the name of a program, after a check of its type. Raises UsageError for another type.

    A list of a single command line is that command line, because other functions take lists of them.
    """
    if isinstance(command, (str, Workload)) or callable(command):
        return command
    if not isinstance(command, Iterable):
        raise UsageError(
            f"A program is a command line, a list of arguments, a Workload or a function, not {command!r} "
            f"({type(command).__name__})."
        )
    words = list(command)
    if wrong := [word for word in words if not isinstance(word, (str, os.PathLike))]:
        kind = "a list of programs" if isinstance(wrong[0], (list, tuple, Workload)) or callable(wrong[0]) else ""
        raise UsageError(
            f"A list of arguments must contain strings, not {wrong[0]!r} ({type(wrong[0]).__name__})."
            + (f" For {kind} use compare, record or tune." if kind else "")
        )
    if words and isinstance(words[0], str) and re.search(r"\s", words[0]) and not os.path.exists(words[0]):
        if len(words) == 1:
            return words[0]
        raise UsageError(
            f"{words[0]!r} is a command line, and a list of arguments must begin with a program. Give one command "
            "line as a string; compare, record and tune take several."
        )
    return words


def _workloads(text: Text, program_options: ProgramOptions) -> tuple[Workload, ...]:
    text = _command(text)
    if isinstance(text, Workload):
        return (text,)
    if callable(text):
        from becalm.workloads.function import open_function

        return open_function(text, program_options)
    row, rest = TABLE[0], text
    if isinstance(text, str):
        kind, colon, after = text.partition(":")
        rows = [row for row in TABLE if colon and row.kind == kind]
        if rows:
            row, rest = rows[0], after.strip()
            if not rest:
                raise UsageError(f"{text!r} names no program. Write it like {row.example}")
        elif colon:
            _refuse_misspelt(text, kind)
    opener: Callable[[Text, ProgramOptions], tuple[Workload, ...]] = getattr(
        importlib.import_module(row.module), row.opener
    )
    return opener(rest, program_options)


def _refuse_misspelt(text: str, kind: str) -> None:
    """Raise UsageError for a text that begins nearly with the name of a kind, and not with an existing program."""
    near = difflib.get_close_matches(kind, [row.kind for row in TABLE], n=1, cutoff=0.75)
    if not near or not re.fullmatch(r"\w+", kind) or shutil.which(text.split()[0]):
        return
    kinds = "; ".join(f"{row.kind}: {row.what}" for row in TABLE)
    raise UsageError(
        f"There is no source of the kind {kind!r}. Did you mean {near[0]!r}? Known kinds: {kinds}. "
        f"A program of that name is run with command:{text}"
    )


def _origin(text: Text) -> str:
    if callable(text):
        return str(getattr(text, "__module__", ""))
    return text if isinstance(text, str) else shlex.join(text.argv if isinstance(text, Workload) else text)
