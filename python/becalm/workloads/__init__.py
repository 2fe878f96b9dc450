"""Sources: where the programs come from that are measured. One table, one interface, one file per kind.

`open` turns texts as the command line takes them ("gzip -9 x", "pyperf:bench.py", "phoronix:pts/compress-gzip",
"suite:programs.toml") into Workloads. A text without the name of a kind is a command line. Nothing is given to a
shell unless `shell` is asked for. The conformance suite in `tests/suites/workloads.py` runs over
the table.
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
from typing import Unpack, cast

from becalm.errors import UsageError
from becalm.nouns.signature import takes
from becalm.nouns.workload import CommandLine, ProgramKeywords, Workload
from becalm.values import dataclass
from becalm.workloads.asked import ProgramOptions


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A kind of source: the prefix of its texts, its opener, a description, and a text as an example.

    `alone`: its program is made of the text only, one of each, and no program is asked or run for it.
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
        "hackbench of rt-tests by its numbers: tasks that pass messages",
        "hackbench:groups=20,loops=1000",
        alone=True,
    ),
    SourceRow(
        "wakeups",
        "becalm.workloads.wakeups",
        "open_wakeups",
        "how soon woken threads run, and requests a second",
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
    """Return whether a text is of a source that may name several programs."""
    row = _source(command)
    return row is not None and not row.alone


def refuse_source(command: Text) -> None:
    """Raise UsageError for a text that names programs by a source, where one command line is asked for."""
    if several(command):
        raise UsageError(
            f"{command!r} names programs by a source, which `becalm tune --program {command}` takes. Here a command "
            "line is asked for, for example: becalm run 'gzip -9 -c FILE'"
        )


def single(command: Text, **program: Unpack[ProgramKeywords]) -> Workload:
    """Return the program of a command line, or of a text of a source that names one. Raises UsageError."""
    program = _with_neighbours(program)
    command = _command(command)
    if _source(command) is None and not callable(command):
        if program.get("python") is not None:
            raise UsageError(
                f"--python is for sources of Python's, such as pyperf:bench.py, and {command!r} is a command line: "
                "begin it with the interpreter."
            )
        return Workload.of(command, **program)
    found = gather([command], ProgramOptions.of(None, program))
    if len(found) > 1:
        # A pattern at the end of a text is a name already.
        pattern = any(each in str(command) for each in "*?[")
        first = f"{found[0].name!r} in its place" if pattern else repr(f"{command}:{found[0].name}")
        way_out = "" if str(command).startswith("suite:") else f" Name one of them, for example {first}, or"
        raise UsageError(
            f"{command!r} names {len(found)} programs, and here one is asked for.{way_out or ' Write its command, or'} "
            "measure all of them by becalm record or becalm tune."
        )
    return found[0]


Opener = Callable[[str, ProgramOptions], tuple[Workload, ...]]
"""A function that makes workloads of what follows the kind and the colon. Raises UsageError or WorkloadError."""

Text = str | Iterable[str] | Workload | Callable[[], object]
"""A name of programs: a text, an argument list, a workload that is made already, or a function without arguments."""


@takes(CommandLine, Workload)
def open(
    texts: Sequence[Text] | str,
    *,
    user: str | None = None,
    **program: Unpack[ProgramKeywords],
) -> tuple[Workload, ...]:
    """Return the programs that the texts name, in their order; one text may name several.

    The options of a program hold for all of them (`environment` is added to what a source sets). `user`: as whom a
    script is asked for its benchmarks when becalm runs as root. Raises UsageError for a text that names nothing,
    WorkloadError for a program that cannot be asked.
    """
    asked = dataclasses.replace(ProgramOptions.of(user, _with_neighbours(program)), whole=True)
    return gather([texts] if isinstance(texts, str) else texts, asked)


def _source(command: object) -> SourceRow | None:
    """Return the row of the source by which a text names programs; None for a command line."""
    kind, colon, _ = command.partition(":") if isinstance(command, str) else ("", "", "")
    return next((row for row in TABLE[1:] if colon and row.kind == kind), None)


def _with_neighbours(program: ProgramKeywords) -> ProgramKeywords:
    """Return the options of a program, with its neighbours made of the sources that name them: `kernel:triad`.
    UsageError."""
    given = program.get("beside")
    if not given:
        return program
    texts = [given] if isinstance(given, str) else list(given)
    made = [text if _source(text) is None else single(text) for text in texts]
    return cast(ProgramKeywords, {**program, "beside": made})


def gather(texts: Sequence[Text], asked: ProgramOptions) -> tuple[Workload, ...]:
    """Return the programs as `open` does, with the options sorted out. Programs of different sources have different
    names."""
    if not texts:
        raise UsageError("No program is named. Name one, for example: gzip -9 -c FILE")
    found = [(text, workload) for text in texts for workload in _one(text, asked)]
    if "name" in asked.options and len(found) > 1:
        raise UsageError(f"One name cannot stand for {len(found)} programs. Leave the name out.")
    # Two scripts may each have a benchmark of the same name; the source then tells them apart.
    different = {(each.name, each.argv, each.directory) for _, each in found}
    shared = {name for name, count in collections.Counter(name for name, _, _ in different).items() if count > 1}
    return tuple(
        dataclasses.replace(workload, name=f"{workload.name} ({_origin(text)})")
        if workload.name in shared
        else workload
        for text, workload in found
    )


def _command(command: object) -> Text:
    """Return what names a program, of the types that may. Raises UsageError for any other.

    A list of a single command line, as other functions take several, is that command line.
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
            f"A list of arguments holds texts, not {wrong[0]!r} ({type(wrong[0]).__name__})."
            + (f" For {kind} take compare, record or tune." if kind else "")
        )
    if words and isinstance(words[0], str) and re.search(r"\s", words[0]) and not os.path.exists(words[0]):
        if len(words) == 1:
            return words[0]
        raise UsageError(
            f"{words[0]!r} is a whole command line where a list of arguments begins with a program. Give one command "
            "line as text; compare, record and tune take several."
        )
    return words


def _one(text: Text, asked: ProgramOptions) -> tuple[Workload, ...]:
    text = _command(text)
    if isinstance(text, Workload):
        return (text,)
    if callable(text):
        from becalm.workloads.function import open_function

        return open_function(text, asked)
    row, rest = TABLE[0], text
    if isinstance(text, str):
        kind, colon, after = text.partition(":")
        named = [each for each in TABLE if colon and each.kind == kind]
        if named:
            row, rest = named[0], after.strip()
            if not rest:
                raise UsageError(f"{text!r} names no program. Write it like {row.example}")
        elif colon:
            _refuse_misspelt(text, kind)
    opener: Callable[[Text, ProgramOptions], tuple[Workload, ...]] = getattr(
        importlib.import_module(row.module), row.opener
    )
    return opener(rest, asked)


def _refuse_misspelt(text: str, kind: str) -> None:
    """Raise UsageError when a text is nearly the name of a kind, and not a program that could be started."""
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
