"""Check that tests do not wait by sleeping, read a clock or compare durations.

    python tools/check_tests.py             # prints file:line: message for each violation and their number by rule
    python tools/check_tests.py PATH …      # only for files whose path from the checkout begins with one of these

tests/unit and tests/property run in memory. tests/contract runs real programs; there a number of nanoseconds depends on
the machine, except under tests/contract/simulator, where programs compute it. The rules for sleeping, clocks and
durations also hold in tests/suites and tests/support, which all tiers share. Only Python code is read, not programs in
strings: a child that sleeps may stand for a program that runs long. Programs that are called must be there with Rust,
Python, make and a C compiler, except in the shared folders.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from program_calls import called
from programs import always, needed

ROOT = Path(__file__).parents[1]

MEMORY = ("tests/unit", "tests/property")
"""The folders whose tests run in memory."""
CONTRACT = "tests/contract"
SHARED = ("tests/suites", "tests/support")
"""The folders of what tests of several tiers use."""
COMPUTED = "tests/contract/simulator"
"""The folder of tests in which a program computes all figures."""

CLOCKS = re.compile(
    r"time\.(time|monotonic|perf_counter|process_time|thread_time|clock_gettime)(_ns)?|os\.times"
    r"|datetime\.(datetime\.(now|utcnow|today)|date\.today)|resource\.getrusage"
)
REAL = re.compile(r"becalm\.system_clock\.(monotonic|time)(_raw)?(_ns)?")
"""becalm's own clock, which is the machine's but in memory."""
STAMPED = re.compile(r"gzip\.(compress|GzipFile)")
"""Functions that write the time into what they make, unless they are given `mtime`."""
PROCESSES = re.compile(r"(subprocess|socket|multiprocessing|pty)(\..*)?")

INSTANT = re.compile(r"(.*_)?(at|now|start|started|begin|begun|end|ended|from|until|before|after|since)_(ns|us|ms|s)")
"""A name of a point in time; the order of two of them is the order of events, not a speed."""
DURATION = re.compile(
    r"(.*_)?(ns|us|ms|seconds|elapsed|duration|delay|latency|wall|ticks|hz|share|rate)|.*_s|.*_per_second"
)
"""A name of a length of time, a rate or a share of CPU."""

TRANSPARENT = {"abs", "min", "max", "sum", "round", "int", "float", "sorted", "approx", "mean", "median", "all", "any"}
"""Functions whose result is of the kind of their argument."""
PARTS = {"value", "low", "high"}
"""Attributes that are of the kind of their object."""

ADVICE = {
    "sleep": "a test does not sleep; wait for the event or use tests.waiting.wait_for",
    "clock": "a test does not read {name}; script the clock (tests.fake_clock), or wait with tests.waiting",
    "stamp": "{name} writes the time of day into what it makes; give it mtime=0",
    "duration": "a contract test does not compare a duration or rate ({name}); script the clock or counters "
    "and use ==, or move it to tests/measurement",
    "import": "a test that runs in memory does not import {name}; use a simulated host, or move it to tests/contract",
    "program": "only tests/system and tests/measurement may call {name}, which has to be installed; move it there",
}
"""The advice for each rule."""


@dataclass(frozen=True)
class Problem:
    """A violation of a rule."""

    line: int
    rule: str
    name: str

    def __str__(self) -> str:
        return f"{self.line}: {self.rule}: {ADVICE[self.rule].format(name=self.name)}"


def imported_names(tree: ast.Module) -> dict[str, str]:
    """Return what each name stands for that an import binds."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update((alias.asname or alias.name.partition(".")[0],) * 2 for alias in node.names)
            names.update((alias.asname, alias.name) for alias in node.names if alias.asname)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.update((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
    return names


def full_name(node: ast.AST, names: dict[str, str]) -> str:
    """Return the dotted name of an imported object, or the empty string for everything else."""
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    base = full_name(node.value, names) if isinstance(node, ast.Attribute) else ""
    return base and f"{base}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def kind(node: ast.AST) -> str:
    """Return "instant", "duration" or "" for what an expression computes, by the names in it."""
    match node:
        case ast.Name(id=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return kind_of_name(name)
        case ast.Attribute(attr=name, value=value):
            return kind(value) if name in PARTS else kind_of_name(name)
        case ast.Subscript(value=value) | ast.Starred(value=value) | ast.UnaryOp(operand=value):
            return kind(value)
        case ast.GeneratorExp(elt=value) | ast.ListComp(elt=value) | ast.NamedExpr(value=value):
            return kind(value)
        case ast.Call(func=function, args=arguments):
            name = ast.unparse(function).rpartition(".")[2]
            return strongest(map(kind, arguments)) if name in TRANSPARENT else kind_of_name(name)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
            sides = [kind(left), kind(right)]
            if sides == ["instant", "instant"]:
                return "duration" if isinstance(operator, ast.Sub) else "instant"
            return "instant" if "instant" in sides else strongest(sides)
        case ast.BinOp(left=left, right=right):
            return "duration" if kind(left) or kind(right) else ""
    return ""


def strongest(kinds: Iterable[str]) -> str:
    """Return "duration" if it is one of these, else "instant" if it is, else the empty string."""
    return max(kinds, key=("", "instant", "duration").index, default="")


def kind_of_name(name: str) -> str:
    """Return "instant", "duration" or "" for a name in the code or a key of a result."""
    name = name.lower()
    return "instant" if INSTANT.fullmatch(name) else "duration" if DURATION.fullmatch(name) else ""


def compared_durations(node: ast.Compare) -> Iterator[str]:
    """Yield each side of a comparison that is a duration, unless it is only compared with the number 0."""
    sides = [node.left, *node.comparators]
    for operator, pair in zip(node.ops, itertools.pairwise(sides), strict=True):
        ordered = isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE)
        near = any(isinstance(side, ast.Call) and ast.unparse(side.func).endswith("approx") for side in pair)
        zero = any(isinstance(side, ast.Constant) and side.value == 0 for side in pair)
        if (ordered or near) and not zero:
            yield from (ast.unparse(side) for side in pair if kind(side) == "duration")


def check(name: str, text: str) -> Iterator[Problem]:
    """Yield each problem of a test file, by its path from the checkout."""
    tree = ast.parse(text)
    names = imported_names(tree)
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 1)
        function = full_name(node, names)
        # In memory becalm's clock is a fake one; a test's own module may have one, too.
        others = ("tests.", "becalm.") if name.startswith(MEMORY) else ("tests.",)
        if function.endswith(".sleep") and not function.startswith(others):
            yield Problem(line, "sleep", function)
        if CLOCKS.fullmatch(function) or (REAL.fullmatch(function) and not name.startswith(MEMORY)):
            yield Problem(line, "clock", function)
        if isinstance(node, ast.Call) and all(keyword.arg != "mtime" for keyword in node.keywords):
            callee = full_name(node.func, names)
            yield from [Problem(line, "stamp", callee)] if STAMPED.fullmatch(callee) else []
        if isinstance(node, ast.Compare) and name.startswith((CONTRACT, *SHARED)) and not name.startswith(COMPUTED):
            yield from (Problem(line, "duration", side) for side in list(compared_durations(node))[:1])
        if name.startswith(MEMORY):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            yield from (Problem(line, "import", module) for module in filter(PROCESSES.fullmatch, modules))
    if not name.startswith(SHARED):
        yield from (Problem(line, "program", program) for line, program in called(text) if program not in present())


@functools.cache
def present() -> frozenset[str]:
    """Return the programs that are there wherever the tests of the contract tier run."""
    return always() | {"becalm"} | {program for row in needed("contract") for program in row.programs}


def main(paths: tuple[str, ...] = ("tests/",)) -> int:
    """Print every problem of the files below these paths and the number by rule; return the exit code."""
    counts: Counter[str] = Counter()
    files = [path for folder in (*MEMORY, CONTRACT, *SHARED) for path in sorted((ROOT / folder).rglob("*.py"))]
    names = [path.relative_to(ROOT).as_posix() for path in files]
    if unknown := [start for start in paths if not any(name.startswith(start) for name in names)]:
        print(f"no tests that are checked: {' '.join(unknown)}", file=sys.stderr)
        return 2
    for name in names:
        if name.startswith(paths):
            folder = "/".join(name.split("/")[:2])
            problems = check(name, (ROOT / name).read_text())
            for problem in sorted(problems, key=lambda problem: problem.line):
                counts[f"{problem.rule} in {folder}"] += 1
                print(f"{name}:{problem}")
    for rule, count in sorted(counts.items()):
        print(f"{count} {rule}")
    return int(bool(counts))


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:]) or ("tests/",)))
