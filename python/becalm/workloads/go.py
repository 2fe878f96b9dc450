"""The source `go`: benchmarks of a Go package, each as a process of its own that times itself.

A directory is compiled once (`go test -c`, stored in the cache directory); a file is a compiled test program. The
metric is `ns/op`, as `-bench` prints it (documentation of the package `testing`), for TIME of iterations in a fresh
process. To find the names, including sub-benchmarks, each benchmark is run once.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from msgspec.structs import replace

from becalm.errors import UsageError, WorkloadError
from becalm.nouns.metric import metric
from becalm.nouns.workload import Workload
from becalm.paths import cache_dir, private_directory
from becalm.workloads.google_benchmark import literal
from becalm.workloads.program_options import ProgramOptions
from becalm.workloads.script import account, call, chosen, parts

TIME = "200ms"
"""The time of iterations in a run: less than Go's default of 1 s, since there are many runs."""

_LINE = re.compile(r"^(Benchmark\S*)\s+\d+\s+[0-9.e+]+ ns/op", re.MULTILINE)

PROCESSORS = re.compile(r"-\d+$")
"""The suffix that Go adds to a name if GOMAXPROCS is not 1."""


def open_go(text: str, program_options: ProgramOptions) -> tuple[Workload, ...]:
    """Return the benchmarks of a package's `DIRECTORY` or of a test `PROGRAM`, or one with `…:NAME`, in their order.

    Raises UsageError if there is no such benchmark, WorkloadError if the package does not compile, or a program fails.
    """
    path, name = parts(text, program_options, "Name a Go package's directory, or a program of go test -c.", Path.exists)
    path = Path(os.path.abspath(path))
    program, directory = (
        (_compiled(path, program_options), path) if path.is_dir() else (path, program_options.directory)
    )
    if not os.access(program, os.X_OK):
        raise UsageError(f"{program} is not an executable program. Make one from a Go package: go test -c -o FILE")
    names = {name: name for name in _names(program, directory, program_options)}
    return tuple(_workload(program, directory, benchmark, program_options) for benchmark in chosen(names, name, path))


def _compiled(package: Path, program_options: ProgramOptions) -> Path:
    """Compile the test program of a package in the cache directory, and return its path. Raises WorkloadError."""
    owner = account(program_options.user)
    if owner is not None:
        raise UsageError(
            f"becalm does not compile as root for {owner.name}. Compile the package as {owner.name} and name the "
            f"program: go test -c -o bench.test {package}; then go:bench.test"
        )
    key = hashlib.sha256(os.fsencode(package)).hexdigest()[:16]
    program = private_directory(cache_dir() / "go") / f"{package.name}-{key}.test"
    fresh = program.with_suffix(f".{os.getpid()}")
    try:
        answer = call(["go", "test", "-c", "-o", str(fresh), "."], _at(program_options, package), None)
        if answer.status != 0:
            raise WorkloadError(f"The Go package in {package} does not compile. {answer.last_lines()}")
        if not fresh.exists():
            raise UsageError(f"The Go package in {package} has no tests, and so no benchmarks: no file *_test.go.")
        fresh.replace(program)
    finally:
        fresh.unlink(missing_ok=True)
    return program


def _names(program: Path, directory: Path, program_options: ProgramOptions) -> list[str]:
    # With one processor, Go adds no number to the names.
    once = [str(program), "-test.run=^$", "-test.bench=.", "-test.benchtime=1x", "-test.cpu=1"]
    answer = call(once, _at(program_options, directory), account(program_options.user))
    result = list(dict.fromkeys(_LINE.findall(answer.stdout)))
    if answer.status != 0:
        raise WorkloadError(f"{program} failed with {answer.how} when it listed its benchmarks. {answer.last_lines()}")
    if not result:
        raise UsageError(
            f"{program.name} ran, but no benchmark reported ns/op. Benchmarks of Go begin with `func Benchmark`."
        )
    return result


def without_processors(names: list[str], most: int) -> list[str]:
    """Return names without the number of processors, from 2 to `most`, if all of them end with the same number."""
    ends = {int(match[0][1:]) if (match := PROCESSORS.search(name)) else 0 for name in names}
    return [PROCESSORS.sub("", name) for name in names] if len(ends) == 1 and 1 < min(ends) <= most else names


def _workload(program: Path, directory: Path, name: str, program_options: ProgramOptions) -> Workload:
    pattern = "/".join(f"^{literal(part)}$" for part in name.split("/"))
    argv = [str(program), "-test.run=^$", f"-test.bench={pattern}", f"-test.benchtime={TIME}", "-test.count=1"]
    time = metric(r"\s([0-9.e+]+) ns/op,unit=ns,name=time of an operation")
    return _at(program_options, directory).workload(argv, name=name, metrics=(time,))


def _at(program_options: ProgramOptions, directory: Path) -> ProgramOptions:
    """Return the options with a working directory, unless they name one: a package's tests have files there."""
    return replace(program_options, options={"directory": str(directory), **program_options.options})
