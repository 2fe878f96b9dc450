"""Figures of a tree: how many files, how long, how wide, and who depends on whom.

    python tools/house.py              # this tree
    python tools/house.py OLD NEW      # two checkouts side by side
    python tools/house.py --list .     # and which modules, functions and cycles they are
    python tools/house.py --check      # exits 1 where imports or uses go in a circle

Only the standard library, and nothing of the tree is run: any checkout will do.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import python_tree
import rust_tree

LONG = 60
"""Lines of a function that are many."""
WIDE = 8
"""Parameters of a function that are many."""
AT_ROOT = {"__init__", "__main__", "_version", "errors", "paths", "units"}
"""Modules that belong at the root of the Python package."""


@dataclass(frozen=True)
class Figure:
    """One row: a number or words, and the things that were counted."""

    name: str
    value: str
    things: tuple[str, ...] = ()
    is_cycle: bool = False


def _longest(lengths: dict[str, int]) -> str:
    name = max(lengths, key=lambda each: lengths[each])
    return f"{lengths[name]} ({name})"


def _files(language: str, paths: Iterable[Path], tree: Path) -> list[Figure]:
    lengths = {str(path.relative_to(tree)): len(path.read_text().splitlines()) for path in paths}
    folders = {str(Path(name).parent) for name in lengths}
    return [
        Figure(f"{language}: folders", str(len(folders)), tuple(sorted(folders))),
        Figure(f"{language}: files", str(len(lengths))),
        Figure(f"{language}: lines", f"{sum(lengths.values())}"),
        Figure(f"{language}: median file", f"{statistics.median(lengths.values()):.0f}"),
        Figure(f"{language}: longest file", _longest(lengths), _top(lengths)),
    ]


def _functions(language: str, lines: dict[str, int], widths: dict[str, int]) -> list[Figure]:
    long = {name: many for name, many in lines.items() if many > LONG}
    wide = {name: many for name, many in widths.items() if many > WIDE}
    return [
        Figure(f"{language}: functions", str(len(lines))),
        Figure(f"{language}: median function", f"{statistics.median(lines.values()):.0f}"),
        Figure(f"{language}: longest function", _longest(lines), _top(lines)),
        Figure(f"{language}: functions above {LONG} lines", str(len(long)), _top(long)),
        Figure(f"{language}: widest signature", _longest(widths), _top(widths)),
        Figure(f"{language}: signatures above {WIDE} parameters", str(len(wide)), _top(wide, 99)),
    ]


def _top(counts: dict[str, int], many: int = 12) -> tuple[str, ...]:
    return tuple(f"{counts[name]} {name}" for name in sorted(counts, key=lambda each: -counts[each])[:many])


def _cycles(name: str, graph: python_tree.Graph) -> Figure:
    found = python_tree.cycles(graph)
    return Figure(name, str(len(found)), tuple(" <-> ".join(group) for group in found), is_cycle=True)


def of_python(tree: Path) -> list[Figure]:
    """The package's files, functions, public signatures and imports."""
    package = tree / "python/becalm"
    known = python_tree.modules(package)
    found = {
        f"{path.relative_to(package)}:{each.name}": each
        for path in known.values()
        for each in python_tree.functions(path, package)
    }
    public = {name: each for name, each in found.items() if each.public}
    imports = python_tree.imports(package)
    at_root = sorted(each.name for each in package.iterdir() if each.suffix == ".py" and each.stem not in AT_ROOT)
    arrows = python_tree.arrows(imports.at_run_time())
    keywords = tuple(name for name, each in public.items() if each.keywords)
    untyped = tuple(name for name, each in public.items() if each.any_type)
    return [
        *_files("Python", known.values(), tree),
        *_functions(
            "Python",
            {name: each.lines for name, each in found.items()},
            {name: each.parameters for name, each in found.items()},
        ),
        Figure("Python: public functions with **keywords", str(len(keywords)), keywords),
        Figure("Python: public functions with Any", str(len(untyped)), untyped),
        Figure("Python: modules loose at the root", str(len(at_root)), tuple(at_root)),
        Figure(
            "Python: arrows between folders",
            str(sum(map(len, arrows.values()))),
            tuple(f"{name} -> {', '.join(sorted(others))}" for name, others in sorted(arrows.items()) if others),
        ),
        _cycles("Python: cycles of folders", arrows),
        _cycles("Python: cycles of imports at the top", imports.at_top),
        _cycles("Python: … with imports in functions", imports.at_run_time()),
        _cycles("Python: … with those for type checkers", imports.everywhere()),
    ]


def of_rust(tree: Path) -> list[Figure]:
    """The crates' files, functions and uses."""
    crates = sorted(path.parent for path in (tree / "crates").glob("*/Cargo.toml"))
    paths = [path for crate in crates for path in rust_tree.sources(crate)]
    lines: dict[str, int] = {}
    widths: dict[str, int] = {}
    for path in paths:
        for name, many, wide in rust_tree.functions(path):
            key = f"{path.relative_to(tree / 'crates')}:{name}"
            lines[key], widths[key] = max(many, lines.get(key, 0)), max(wide, widths.get(key, 0))
    graph = {
        f"{crate.name}/{name}": {f"{crate.name}/{each}" for each in others}
        for crate in crates
        for name, others in rust_tree.uses(crate).items()
    }
    return [
        *_files("Rust", paths, tree),
        *_functions("Rust", lines, widths),
        _cycles("Rust: cycles of folders", _folders(graph)),
        _cycles("Rust: cycles of modules", graph),
    ]


def _folders(graph: python_tree.Graph) -> python_tree.Graph:
    """The same between the folders below `src`; files that lie loose there stand for themselves."""
    found: python_tree.Graph = {}
    for name, others in graph.items():
        first = {each.split("::")[0] for each in others}
        found.setdefault(name.split("::")[0], set()).update(first)
    return {name: others - {name} for name, others in found.items()}


def of_tests(tree: Path) -> list[Figure]:
    """Test functions, and modules that have a test file of their own name."""
    files = [path for path in sorted((tree / "tests").rglob("*.py")) if "data" not in path.parts]
    count = sum(len(re.findall(r"^\s*(?:async )?def test_", path.read_text(), re.MULTILINE)) for path in files)
    names = {path.stem.removeprefix("test_") for path in files}
    package = tree / "python/becalm"
    lone = [
        str(path.relative_to(package))
        for path in python_tree.modules(package).values()
        if not {path.stem, f"{path.parent.name}_{path.stem}"} & names and path.stem not in ("__init__", "__main__")
    ]
    lengths = {str(path.relative_to(tree)): len(path.read_text().splitlines()) for path in files}
    return [
        Figure("tests: files", str(len(files))),
        Figure("tests: lines", str(sum(lengths.values()))),
        Figure("tests: functions", str(count)),
        Figure("tests: modules without a test file of their name", str(len(lone)), tuple(lone)),
    ]


def figures(tree: Path) -> list[Figure]:
    """All rows of a tree."""
    return [*of_python(tree), *of_rust(tree), *of_tests(tree)]


def main() -> None:
    """Print one column for each tree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", type=Path, default=[Path(__file__).parents[1]])
    parser.add_argument("--list", action="store_true", help="name what was counted, below each figure")
    parser.add_argument("--check", action="store_true", help="only look for cycles, of modules and of folders")
    options = parser.parse_args()
    if missing := [str(tree) for tree in options.trees if not (tree / "python/becalm").is_dir()]:
        sys.exit(f"No checkout of becalm: {', '.join(missing)}")
    columns = [figures(tree.resolve()) for tree in options.trees]
    if options.check:
        found = [
            f"{each.name}: {thing}" for column in columns for each in column if each.is_cycle for thing in each.things
        ]
        sys.exit("\n".join(found) or None)
    print(f"| | {' | '.join(str(tree) for tree in options.trees)} |")
    print("| --- " * (len(columns) + 1) + "|")
    for row in zip(*columns, strict=True):
        print(f"| {row[0].name} | {' | '.join(each.value for each in row)} |")
    if options.list:
        for tree, column in zip(options.trees, columns, strict=True):
            for figure in column:
                if figure.things:
                    print(f"\n{tree}: {figure.name}: {figure.value}")
                    print("\n".join(f"  {each}" for each in figure.things))


if __name__ == "__main__":
    main()
