"""Put small errors into becalm's arithmetic, one at a time, and name those that no test notices.

    python tools/mutants.py                                     # a few of each module of statistics, analysis, load
    python tools/mutants.py --most 30 becalm/stats/paired.py    # more of one

A mutant is a copy of the package in which one comparison, operator, number, sign, `and` or `or` of one file is
changed. Its tests are those of its name: tests/unit/stats/test_paired*.py for becalm/stats/paired.py; where there
is none, those of the whole folder. A mutant that makes them fail, or never end, is killed; one that they pass is
printed with its line. Not all of those matter: some change nothing that can be seen.

The engine's journal and restoring are mutated by cargo-mutants, where it is installed: `make mutants`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import os
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Imported once for all mutants: most of the time of a short test is in these.
import hypothesis  # noqa: F401
import numpy  # noqa: F401
import pytest
import scipy.special
import scipy.stats  # noqa: F401

ROOT = Path(__file__).parents[1]
FOLDERS = ("becalm/stats", "becalm/analysis", "becalm/load")

PATIENCE = 10
"""The CPU time that tests may take, relative to that without an error; a mutant that takes more never ends."""

LEAST_S = 60
"""The least limit of CPU time, s."""

WALL = 10
"""The limit of time, relative to that of CPU time, for a mutant that waits for ever: others use the machine, too."""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


@dataclass(frozen=True)
class Mutant:
    """A whole file with one error: its line, what stood there, what stands there now, and the text of the file."""

    line: int
    before: str
    after: str
    text: str


def mutants(source: str) -> Iterator[Mutant]:
    """Yield every file that differs from `source` by one error."""
    tree = ast.parse(source)
    for index, node in enumerate(ast.walk(tree)):
        for place in range(_places(node)):
            changed = copy.deepcopy(tree)
            there = next(item for at, item in enumerate(ast.walk(changed)) if at == index)
            before = ast.unparse(node)
            _change(there, place)
            yield Mutant(getattr(node, "lineno", 0), before, ast.unparse(there), ast.unparse(changed))


def _places(node: ast.AST) -> int:
    """Return the number of errors that can be made at this very node."""
    match node:
        case ast.Compare(ops=operators):
            return sum(type(operator) in COMPARISONS for operator in operators)
        case ast.BinOp(op=operator):
            # Types in annotations are joined by |, which is none of these.
            return int(type(operator) in OPERATORS)
        case ast.BoolOp() | ast.UnaryOp(op=ast.USub()) | ast.UnaryOp(op=ast.Not()):
            return 1
        case ast.Constant(value=value):
            return int(isinstance(value, (int, float)))
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return int(name in NAMES)
    return 0


def _change(node: ast.AST, place: int) -> None:
    """Make the error."""
    match node:
        case ast.Compare(ops=operators):
            which = [index for index, item in enumerate(operators) if type(item) in COMPARISONS][place]
            operators[which] = COMPARISONS[type(operators[which])]()
        case ast.BinOp(op=operator):
            node.op = OPERATORS[type(operator)]()
        case ast.BoolOp(op=joined):
            node.op = ast.Or() if isinstance(joined, ast.And) else ast.And()
        case ast.UnaryOp():
            node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
            if isinstance(node.op, ast.Not):
                node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case ast.Constant(value=bool(value)):
            node.value = not value
        case ast.Constant(value=int(value) | float(value)):
            node.value = value + 1
        case ast.Call(func=ast.Name() as called):
            called.id = NAMES[called.id]
        case ast.Call(func=ast.Attribute() as called):
            called.attr = NAMES[called.attr]


def named_tests(module: Path) -> list[str]:
    """Return the tests of a module, which is named by its path below `python`: becalm/stats/paired.py."""
    folder = Path("tests/unit", *module.parts[1:-1])
    named = sorted(folder.glob(f"test_{module.stem}.py")) + sorted(folder.glob(f"test_{module.stem}_*.py"))
    return [str(path) for path in named] or [str(folder)]


def passes(package: str, tests: Sequence[str], cpu_s: int | None) -> bool:
    """Return whether the tests pass with the package in this directory; False when they do not end within `cpu_s` of
    CPU time.

    They run in a copy of this process, which has already imported what is large and never becalm.
    """
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(nothing, stream)
            os.environ |= {"PYTHONPATH": f"{package}:{ROOT}", "TMPDIR": package}
            tempfile.tempdir = package
            if cpu_s is not None:
                resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
            sys.path[:0] = [package, str(ROOT)]
            sys.dont_write_bytecode = True
            os._exit(int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *tests])))
        os._exit(1)
    try:
        descriptor = os.pidfd_open(child)
        ended, _, _ = select.select([descriptor], [], [], None if cpu_s is None else cpu_s * WALL)
        os.close(descriptor)
    finally:
        # With whatever it has started. Without effect on one that has ended, which was not collected.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return bool(ended) and os.waitstatus_to_exitcode(status) == 0


def tried(module: Path, most: int, seed: int) -> tuple[int, list[Mutant]]:
    """Return the number of mutants of a module that were tried, and those that survived. Exits when its tests fail by
    themselves."""
    source = (ROOT / "python" / module).read_text()
    every = list(mutants(source))
    chosen = random.Random(f"{seed}/{module}").sample(every, min(most, len(every)))
    tests = named_tests(module)
    with tempfile.TemporaryDirectory() as directory:
        shutil.copytree(ROOT / "python/becalm", f"{directory}/becalm", ignore=shutil.ignore_patterns("__pycache__"))
        # Without an error the tests must pass; their time is the measure of the limit.
        begun = os.times().children_user
        if not passes(directory, tests, None):
            sys.exit(f"{' '.join(tests)} fail without any mutant.")
        limit = max(LEAST_S, round(PATIENCE * (os.times().children_user - begun)))
        left = []
        for mutant in chosen:
            (Path(directory) / module).write_text(mutant.text)
            if passes(directory, tests, limit):
                left.append(mutant)
    return len(chosen), left


def main() -> None:
    """Print the survivors of each module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", type=Path, help="becalm/stats/paired.py …; all of the three folders")
    parser.add_argument("--most", type=int, default=6, help="mutants of each module")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    os.chdir(ROOT)
    package = ROOT / "python"
    if unknown := [str(module) for module in args.modules if not (package / module).is_file()]:
        parser.error(f"no module of becalm, as in becalm/stats/paired.py: {', '.join(unknown)}")
    paths = sorted(path for folder in FOLDERS for path in (package / folder).glob("*.py") if path.stem != "__init__")
    modules = args.modules or [path.relative_to(package) for path in paths]
    total = survived = 0
    for module in modules:
        count, left = tried(module, args.most, args.seed)
        total, survived = total + count, survived + len(left)
        print(f"{module}: {count} tried, {len(left)} survived", flush=True)
        for mutant in left:
            print(f"  line {mutant.line}: {mutant.before}  ->  {mutant.after}", flush=True)
    print(f"{total} tried, {survived} survived.")


if __name__ == "__main__":
    main()
