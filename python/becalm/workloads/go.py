"""The source `go`: benchmarks of a Go package, each as a process of its own that times itself.

A directory is compiled once (`go test -c`, kept in the cache directory); a file is a test program that is compiled
already. What is measured is `ns/op`, as `-bench` prints it (the documentation of the package `testing`), of TIME of
iterations in a fresh process. To find the names, sub-benchmarks included, each is run once.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import replace
from pathlib import Path

from becalm.errors import UsageError, WorkloadError
from becalm.nouns.metric import metric
from becalm.nouns.workload import Workload
from becalm.paths import cache_dir, private_directory
from becalm.workloads.asked import ProgramOptions
from becalm.workloads.google_benchmark import literal
from becalm.workloads.script import account, call, chosen, parts

TIME = "200ms"
"""The time of iterations in one run: less than Go's second, since there are many runs."""

_LINE = re.compile(r"^(Benchmark\S*)\s+\d+\s+[0-9.e+]+ ns/op", re.MULTILINE)

PROCESSORS = re.compile(r"-\d+$")
"""The end that Go adds to a name where GOMAXPROCS is not 1."""


def open_go(text: str, asked: ProgramOptions) -> tuple[Workload, ...]:
    """Return the benchmarks of a package's `DIRECTORY` or of a test `PROGRAM`, or one with `…:NAME`, in their order.

    Raises UsageError for nothing of that name, WorkloadError when it does not compile or fails.
    """
    path, name = parts(text, asked, "Name a Go package's directory, or a program of go test -c.", Path.exists)
    path = Path(os.path.abspath(path))
    program, directory = (_compiled(path, asked), path) if path.is_dir() else (path, asked.directory)
    if not os.access(program, os.X_OK):
        raise UsageError(f"{program} is no program that can be run. Make one of a Go package: go test -c -o FILE")
    found = {name: name for name in _names(program, directory, asked)}
    return tuple(_workload(program, directory, each, asked) for each in chosen(found, name, path))


def _compiled(package: Path, asked: ProgramOptions) -> Path:
    """Return the test program of a package, in the cache directory. Raises WorkloadError."""
    owner = account(asked.user)
    if owner is not None:
        raise UsageError(
            f"As root, becalm does not compile for {owner.name}. Compile it as {owner.name} and name the program: "
            f"go test -c -o bench.test {package}; then go:bench.test"
        )
    key = hashlib.sha256(os.fsencode(package)).hexdigest()[:16]
    program = private_directory(cache_dir() / "go") / f"{package.name}-{key}.test"
    fresh = program.with_suffix(f".{os.getpid()}")
    try:
        said = call(["go", "test", "-c", "-o", str(fresh), "."], _at(asked, package), None)
        if said.status != 0:
            raise WorkloadError(f"The Go package in {package} does not compile. {said.last_lines()}")
        if not fresh.exists():
            raise UsageError(f"The Go package in {package} has no tests, and so no benchmarks: no file *_test.go.")
        fresh.replace(program)
    finally:
        fresh.unlink(missing_ok=True)
    return program


def _names(program: Path, directory: Path, asked: ProgramOptions) -> list[str]:
    # On one processor Go adds no number to the names, so that one at their end is theirs.
    once = [str(program), "-test.run=^$", "-test.bench=.", "-test.benchtime=1x", "-test.cpu=1"]
    said = call(once, _at(asked, directory), account(asked.user))
    result = list(dict.fromkeys(_LINE.findall(said.stdout)))
    if said.status != 0:
        raise WorkloadError(
            f"{program} failed with {said.how} when it was asked for its benchmarks. {said.last_lines()}"
        )
    if not result:
        raise UsageError(f"{program.name} ran, but has no benchmark that says ns/op. Go's begin with `func Benchmark`.")
    return result


def without_processors(names: list[str], most: int) -> list[str]:
    """Return names without the number of processors, from 2 to `most`, which Go adds to all of them where it is not
    1."""
    ends = {int(match[0][1:]) if (match := PROCESSORS.search(name)) else 0 for name in names}
    return [PROCESSORS.sub("", name) for name in names] if len(ends) == 1 and 1 < min(ends) <= most else names


def _workload(program: Path, directory: Path, name: str, asked: ProgramOptions) -> Workload:
    pattern = "/".join(f"^{literal(part)}$" for part in name.split("/"))
    argv = [str(program), "-test.run=^$", f"-test.bench={pattern}", f"-test.benchtime={TIME}", "-test.count=1"]
    time = metric(r"\s([0-9.e+]+) ns/op,unit=ns,name=time of an operation")
    return _at(asked, directory).workload(argv, name=name, metrics=(time,))


def _at(asked: ProgramOptions, directory: Path) -> ProgramOptions:
    """Return the same with that working directory, unless another one is asked for: a package's tests have files
    there."""
    return replace(asked, options={"directory": str(directory), **asked.options})
