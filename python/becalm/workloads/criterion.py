"""The source `criterion`: benchmarks of a Rust package with Criterion, each a process of its own that times itself.

A directory is a Cargo package: its benches are compiled (`cargo bench --no-run`) and stay where Cargo puts them; a file
is a compiled bench. The metric is the median of a run's samples in ns per iteration, from Criterion's `estimates.json`
("User Guide", "Command-Line Output"), because its printed output has five digits and a varying unit. Each run gets a
private directory for that file, which is printed and removed.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path

import msgspec
from msgspec.structs import replace

from becalm.errors import UsageError, WorkloadError
from becalm.nouns.metric import metric
from becalm.nouns.workload import Workload
from becalm.workloads.program_options import ProgramOptions
from becalm.workloads.script import account, call, chosen, parts

WARM_UP_S, TIME_S = 0.1, 0.2
"""The times of warm-up and iterations in a run, s: less than Criterion's 3 and 5, since there are many runs. A bench
that sets its own times in its groups keeps them."""

# The fewest samples and resamples that Criterion accepts; becalm computes its own intervals.
_FEW = ("--noplot", "--sample-size", "10", "--nresamples", "1001")

SCRIPT = (
    'd=$(mktemp -d) || exit 1; trap \'rm -rf "$d"\' EXIT; trap "exit 143" TERM INT; '
    'CRITERION_HOME=$d "$@" >&2 || exit $?; find "$d" -path "*/new/estimates.json" -exec cat {} +'
)
"""A script that runs its arguments and prints their estimates; names of benchmarks are arguments."""

_LINE = re.compile(r"^(.+): bench(?:mark)?$", re.MULTILINE)


class Bench(msgspec.Struct, frozen=True):
    """A benchmark: its program, and its name in the program."""

    program: Path
    name: str


def open_criterion(text: str, program_options: ProgramOptions) -> tuple[Workload, ...]:
    """Return the benchmarks of a package's `DIRECTORY` or of a bench `PROGRAM`, or one with `…:NAME`, in their order.

    A name that two benches of a package have becomes `BENCH: NAME`. Raises UsageError if there is no such benchmark,
    WorkloadError if the package does not compile, or a program fails.
    """
    path, name = parts(
        text, program_options, "Name a Cargo package's directory, or a bench that is compiled.", Path.exists
    )
    path = Path(os.path.abspath(path))
    if path.is_dir():
        programs, place = (
            _compiled(path, program_options),
            replace(program_options, options={"directory": str(path), **program_options.options}),
        )
    elif os.access(path, os.X_OK):
        programs, place = {path.name: path}, program_options
    else:
        raise UsageError(f"{path} is not an executable program. cargo bench --no-run makes one, and prints its path.")
    titled = [(title, Bench(program, name)) for title, program in programs.items() for name in _names(program, place)]
    if not titled:
        raise UsageError(f"{path} has no benchmark of Criterion. criterion_group! and criterion_main! make one.")
    counts = Counter(bench.name for _, bench in titled)
    benches = {bench.name if counts[bench.name] == 1 else f"{title}: {bench.name}": bench for title, bench in titled}
    names = {id(bench): title for title, bench in benches.items()}
    return tuple(_workload(bench, names[id(bench)], place) for bench in chosen(benches, name, path))


def _compiled(package: Path, program_options: ProgramOptions) -> dict[str, Path]:
    """Return the programs of a package's benches, by their names. Raises UsageError, WorkloadError."""
    owner = account(program_options.user)
    if owner is not None:
        raise UsageError(
            f"becalm does not compile as root for {owner.name}. Compile the package as {owner.name} (cargo bench "
            "--no-run) and name the program that it prints: criterion:target/release/deps/NAME-…"
        )
    place = replace(program_options, options={"directory": str(package), **program_options.options})
    answer = call(["cargo", "bench", "--no-run", "--benches", "--message-format=json"], place, None)
    if answer.status != 0:
        raise WorkloadError(f"The package in {package} does not compile. {answer.last_lines()}")
    result = {}
    for line in answer.stdout.splitlines():
        message = _message(line)
        target, program = message.get("target"), message.get("executable")
        if isinstance(target, dict) and "bench" in target.get("kind", ()) and program:
            result[str(target.get("name"))] = Path(str(program))
    if not result:
        raise UsageError(f"The package in {package} has no benches: no [[bench]] in Cargo.toml, no file in benches.")
    return result


def _message(line: str) -> dict[str, object]:
    """Return a message of Cargo; empty for other output."""
    try:
        document = json.loads(line)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _names(program: Path, program_options: ProgramOptions) -> list[str]:
    answer = call(
        [str(program), "--bench", "--list", "--format", "terse"], program_options, account(program_options.user)
    )
    if answer.status != 0:
        raise WorkloadError(
            f"{program} failed with {answer.how} when it listed its benchmarks: is it a bench of Criterion 0.5 or "
            f"later? {answer.last_lines()}"
        )
    return list(dict.fromkeys(_LINE.findall(answer.stdout)))


def _workload(bench: Bench, name: str, program_options: ProgramOptions) -> Workload:
    times = ("--warm-up-time", str(WARM_UP_S), "--measurement-time", str(TIME_S))
    argv = ["sh", "-c", SCRIPT, "criterion", str(bench.program), "--bench", *times, *_FEW, "--exact", "--", bench.name]
    time = metric("json:median.point_estimate,unit=ns,name=median of the samples")
    return program_options.workload(argv, name=name, metrics=(time,))
