"""The source `criterion`: benchmarks of a Rust package with Criterion, each a process of its own that times itself.

A directory is a Cargo package: its benches are compiled (`cargo bench --no-run`) and stay where Cargo puts them; a file
is such a bench, compiled already. What is measured is the median of a run's samples in ns an iteration, as Criterion
writes it into `estimates.json` ("User Guide", "Command-Line Output"): what it prints has five digits and a unit that
changes with the value. Each run gets a private directory for that file, which is printed and removed.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from becalm.errors import UsageError, WorkloadError
from becalm.nouns.metric import metric
from becalm.nouns.workload import Workload
from becalm.workloads.asked import ProgramOptions
from becalm.workloads.script import account, call, chosen, parts

WARM_UP_S, TIME_S = 0.1, 0.2
"""The times of iterations in one run, s: less than Criterion's 3 and 5, since there are many runs. A bench that sets
its own times in its groups keeps those."""

# The fewest samples and resamples that Criterion takes without complaint; becalm makes its own intervals.
_FEW = ("--noplot", "--sample-size", "10", "--nresamples", "1001")

SCRIPT = (
    'd=$(mktemp -d) || exit 1; trap \'rm -rf "$d"\' EXIT; trap "exit 143" TERM INT; '
    'CRITERION_HOME=$d "$@" >&2 || exit $?; find "$d" -path "*/new/estimates.json" -exec cat {} +'
)
"""Runs its arguments and prints the estimates that they wrote. The same for all benchmarks: names are arguments."""

_LINE = re.compile(r"^(.+): bench(?:mark)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Bench:
    """A benchmark: its program, and its name there."""

    program: Path
    name: str


def open_criterion(text: str, asked: ProgramOptions) -> tuple[Workload, ...]:
    """Return the benchmarks of a package's `DIRECTORY` or of a bench `PROGRAM`, or one with `…:NAME`, in their order.

    A benchmark whose name two benches of a package have is called `BENCH: NAME`. Raises UsageError for nothing of that
    name, WorkloadError when it does not compile or fails.
    """
    path, name = parts(text, asked, "Name a Cargo package's directory, or a bench that is compiled.", Path.exists)
    path = Path(os.path.abspath(path))
    if path.is_dir():
        programs, place = _compiled(path, asked), replace(asked, options={"directory": str(path), **asked.options})
    elif os.access(path, os.X_OK):
        programs, place = {path.name: path}, asked
    else:
        raise UsageError(f"{path} is no program that can be run. cargo bench --no-run makes one, and says where.")
    listed = [(title, Bench(program, name)) for title, program in programs.items() for name in _names(program, place)]
    if not listed:
        raise UsageError(f"{path} has no benchmark of Criterion. One is made by criterion_group! and criterion_main!.")
    many = Counter(each.name for _, each in listed)
    found = {each.name if many[each.name] == 1 else f"{title}: {each.name}": each for title, each in listed}
    own = {id(each): title for title, each in found.items()}
    return tuple(_workload(each, own[id(each)], place) for each in chosen(found, name, path))


def _compiled(package: Path, asked: ProgramOptions) -> dict[str, Path]:
    """Return the programs of a package's benches, by their names. Raises UsageError, WorkloadError."""
    owner = account(asked.user)
    if owner is not None:
        raise UsageError(
            f"As root, becalm does not compile for {owner.name}. Compile it as {owner.name} (cargo bench --no-run) and "
            "name the program that it tells: criterion:target/release/deps/NAME-…"
        )
    place = replace(asked, options={"directory": str(package), **asked.options})
    said = call(["cargo", "bench", "--no-run", "--benches", "--message-format=json"], place, None)
    if said.status != 0:
        raise WorkloadError(f"The package in {package} does not compile. {said.last_lines()}")
    result = {}
    for line in said.stdout.splitlines():
        told = _message(line)
        target, program = told.get("target"), told.get("executable")
        if isinstance(target, dict) and "bench" in target.get("kind", ()) and program:
            result[str(target.get("name"))] = Path(str(program))
    if not result:
        raise UsageError(f"The package in {package} has no benches: no [[bench]] in Cargo.toml, no file in benches.")
    return result


def _message(line: str) -> dict[str, object]:
    """Return a line of Cargo's messages; empty for other output."""
    try:
        document = json.loads(line)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _names(program: Path, asked: ProgramOptions) -> list[str]:
    said = call([str(program), "--bench", "--list", "--format", "terse"], asked, account(asked.user))
    if said.status != 0:
        raise WorkloadError(
            f"{program} failed with {said.how} when it was asked for its benchmarks: is it a bench of Criterion 0.5 or "
            f"later? {said.last_lines()}"
        )
    return list(dict.fromkeys(_LINE.findall(said.stdout)))


def _workload(bench: Bench, name: str, asked: ProgramOptions) -> Workload:
    times = ("--warm-up-time", str(WARM_UP_S), "--measurement-time", str(TIME_S))
    argv = ["sh", "-c", SCRIPT, "criterion", str(bench.program), "--bench", *times, *_FEW, "--exact", "--", bench.name]
    time = metric("json:median.point_estimate,unit=ns,name=median of the samples")
    return asked.workload(argv, name=name, metrics=(time,))
