"""Check the rules of the source tree that ruff, mypy, clippy and import-linter do not know.

    python tools/check_tree.py        # prints file:line: message for each violation, exits 1 if there is one

The circles among Rust modules are in check_rust.py. Nothing of the tree is imported or run.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from check_rust import circles, long_functions

ROOT = Path(__file__).parents[1]

LONGEST_FILE = 500
"""The number of lines above which a file should be two files."""
LONGEST_FUNCTION = 90
"""The number of lines, docstring excluded, above which a function is rejected; usual are up to 60."""
VAGUE_NAMES = {"common", "util", "utils", "helper", "helpers", "manager"}
"""The names of files and folders that do not tell what is in them."""
LIBRARIES = {"sqlite3": ("store",), "psycopg": ("store",), "rich": ("report", "cli"), "click": ("report", "cli")}
"""The folders of the package that may import a library."""
PRINTERS = ("cli/", "report/terminal.py", "report/program_output.py", "workloads/function_worker.py", "__main__.py")
"""The files of the package that may print or use the standard streams."""
MODULE = re.compile(r"becalm\.(\w+)(?:\.\w*)*(?::\w+)?")
"""A string that names a module, or the beginning of one that is completed at run time."""
OTHER_TESTS = (".", "bench", "conformance", "tools")
"""The folders of tests/unit that do not mirror a folder of the package."""

Problem = tuple[int, str]
"""A line number and a message."""


def check_size(name: str, text: str) -> Iterator[Problem]:
    """Yield a problem if a file is too long or has a vague name."""
    lines = text.count("\n")
    if lines > LONGEST_FILE:
        yield lines, f"file has {lines} lines; the limit is {LONGEST_FILE}"
    for part in VAGUE_NAMES & set(PurePosixPath(name).with_suffix("").parts):
        yield 1, f"'{part}' does not tell what is in the file; name it after its subject"


def check_functions(tree: ast.Module) -> Iterator[Problem]:
    """Yield a problem for each Python function that is too long."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[1] if ast.get_docstring(node) is not None and node.body[1:] else node.body[0]
            lines = (node.end_lineno or 0) - first.lineno + 1
            if lines > LONGEST_FUNCTION:
                yield node.lineno, f"{node.name} has {lines} lines; the limit is {LONGEST_FUNCTION}"


def check_libraries(place: str, tree: ast.Module) -> Iterator[Problem]:
    """Yield a problem for each library that this folder of the package may not import."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        for library in {name.partition(".")[0] for name in names} & LIBRARIES.keys():
            if place.partition("/")[0] not in LIBRARIES[library]:
                yield getattr(node, "lineno", 1), f"only {' and '.join(LIBRARIES[library])} may import {library}"


def prints(node: ast.AST) -> bool:
    """Return whether a node calls print or uses one of the standard streams."""
    if isinstance(node, ast.Attribute):
        return node.attr in {"stdout", "stderr", "__stdout__", "__stderr__"} and ast.unparse(node.value) == "sys"
    if isinstance(node, ast.ImportFrom):
        return node.module == "sys" and any(alias.name in {"stdout", "stderr"} for alias in node.names)
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "print"


def check_printing(place: str, tree: ast.Module) -> Iterator[Problem]:
    """Yield a problem for each use of the standard streams outside of the command line."""
    if not place.startswith(PRINTERS):
        for node in filter(prints, ast.walk(tree)):
            yield getattr(node, "lineno", 1), "only the command line prints; return the text or call a listener"


def read_layers(pyproject: str) -> dict[str, int]:
    """Return the height of each folder of the package in the table of import-linter, 0 for the highest."""
    contracts = tomllib.loads(pyproject)["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    return {folder: height for height, layer in enumerate(layers) for folder in layer.split(" | ")}


def check_named_modules(place: str, tree: ast.Module, layers: Mapping[str, int]) -> Iterator[Problem]:
    """Yield a problem for each module that is named in a string and lies in a higher or neighbouring layer."""
    home = place.partition("/")[0].removesuffix(".py")
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str) and home in layers):
            continue
        match = MODULE.fullmatch(node.value)
        if match is None or match[1] not in layers or match[1] == home:
            continue
        if layers[match[1]] <= layers[home]:
            yield node.lineno, f"'{node.value}' is an import of {match[1]}, which is not below {home}"


def check_test_places(tests: Iterable[str], modules: Iterable[str]) -> Iterator[str]:
    """Yield a problem for each unit test whose folder has no module of its name.

    tests/unit/a/test_b.py tests becalm/a/b.py, test_b_more.py an aspect of it, test_a.py the folder itself.
    """
    known: dict[str, set[str]] = {}
    for module in map(PurePosixPath, modules):
        for path in (module, *module.parents):
            known.setdefault(str(path.parent), set()).add(path.stem)
    for test in map(PurePosixPath, tests):
        folder, subject = str(test.parent), test.stem.removeprefix("test_")
        if folder not in OTHER_TESTS:
            names = known.get(folder, set()) | {test.parent.name}
            if not any(subject == name or subject.startswith(f"{name}_") for name in names):
                yield f"tests/unit/{test}:1: becalm/{folder} has no module whose name begins this file's name"


def check(root: Path) -> Iterator[str]:
    """Yield each problem of a checkout as `file:line: message`."""
    layers, package = read_layers((root / "pyproject.toml").read_text()), root / "python/becalm"
    for folder in ("python/becalm", "crates", "bench", "tools"):
        for path in sorted(path for path in (root / folder).rglob("*") if path.suffix in (".py", ".rs")):
            name, text = path.relative_to(root).as_posix(), path.read_text()
            problems = [*check_size(name, text)]
            if path.suffix == ".rs":
                problems += long_functions(text, LONGEST_FUNCTION) if "src" in path.parts else []
            else:
                tree = ast.parse(text)
                problems += check_functions(tree)
            if path.is_relative_to(package):
                place = path.relative_to(package).as_posix()
                problems += [*check_libraries(place, tree), *check_printing(place, tree)]
                problems += check_named_modules(place, tree, layers)
            yield from (f"{name}:{line}: {message}" for line, message in problems)
    for crate in sorted(path.parent for path in (root / "crates").glob("*/Cargo.toml")):
        yield from circles(crate)
    unit = root / "tests/unit"
    tests = [path.relative_to(unit).as_posix() for path in sorted(unit.rglob("test_*.py"))]
    yield from check_test_places(tests, [path.relative_to(package).as_posix() for path in package.rglob("*.py")])


if __name__ == "__main__":
    sys.exit("\n".join(check(ROOT)) or None)
