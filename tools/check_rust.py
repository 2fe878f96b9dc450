"""Find circles among the modules of a Rust crate, and functions that are too long; a part of check_tree.py.

There is no parser: rustfmt has laid out the code, so an item ends where its indentation closes. Comments, literals and
tests are removed, then paths are matched. A name that a module hands on (`pub use`) belongs to the module that defines
it, and handing on is not a use.
"""

from __future__ import annotations

import graphlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

LITERALS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|b?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\\n])'""",
    re.DOTALL | re.VERBOSE,
)
TESTS = re.compile(
    r"^( *)#\[cfg\((?:all\()?test\b[^\n]*\n(?:\1#\[[^\n]*\n)*(?:\1[^\n]*[;,] *\n|.*?^\1\}[;,]? *\n)",
    re.DOTALL | re.MULTILINE,
)
FUNCTION = re.compile(r"^( *)(?:[\w()]+ )*fn (\w+)(?:[^{;]|; )*\{\n.*?^\1\}\n", re.DOTALL | re.MULTILINE)
USE = re.compile(r"\b(pub(?:\([\w\s:]+\))?\s+)?use\s+([^;]+);")
BRACES = re.compile(r"([\w:]*)\{([^{}]*)\}")
PATH = re.compile(r"(?<![\w:])[a-z_]\w*(?:::\w+)+")

Name = tuple[str, ...]
"""The path of a module from the root of its crate, which is ()."""


def long_functions(text: str, limit: int) -> Iterator[tuple[int, str]]:
    """Yield the line and a message for each function outside of tests that has more than `limit` lines."""
    code = TESTS.sub(lambda match: "\n" * match[0].count("\n"), text)
    for match in FUNCTION.finditer(code):
        if (lines := match[0].count("\n")) > limit:
            yield code.count("\n", 0, match.start()) + 1, f"{match[2]} has {lines} lines; the limit is {limit}"


def expand(text: str) -> list[Name]:
    """Return the single paths of a use declaration: for `a::{b, c::d}` a::b and a::c::d."""
    text = re.sub(r"\s+as\s+\w+|\s", "", text)
    while "{" in text:
        text = BRACES.sub(lambda match: ",".join(match[1] + item for item in match[2].split(",") if item), text)
    return [tuple(path.split("::")) for path in text.split(",")]


def from_root(module: Name, path: Name, modules: Mapping[Name, object]) -> Name | None:
    """Return a path that is written in a module as one from the crate's root, or None if it is not of this crate."""
    if path[0] == "crate":
        return path[1:]
    if path[0] not in ("self", "super"):
        return module + path if module + path[:1] in modules else None
    while path and path[0] in ("self", "super"):
        module, path = module[: len(module) - (path[0] == "super")], path[1:]
    return module + path


def home(path: Name, modules: Mapping[Name, object]) -> Name:
    """Return the module that a path from the root lies in."""
    while path not in modules:
        path = path[:-1]
    return path


def uses(texts: Mapping[Name, str]) -> dict[Name, set[Name]]:
    """Return the modules that each module uses, from the texts of all modules of a crate."""
    code = {name: TESTS.sub("", LITERALS.sub("", text)) for name, text in texts.items()}
    declarations = {
        name: [(bool(match[1]), path) for match in USE.finditer(text) for path in expand(match[2])]
        for name, text in code.items()
    }
    handed_on = {
        (name, path[-1]): home(full, code)
        for name, paths in declarations.items()
        for public, path in paths
        if public and (full := from_root(name, path, code)) is not None
    }
    graph: dict[Name, set[Name]] = {name: set() for name in code}
    for name, text in code.items():
        paths = [path for public, path in declarations[name] if not public]
        paths += [tuple(path.split("::")) for path in PATH.findall(USE.sub("", text))]
        for full in filter(None, (from_root(name, path, code) for path in paths)):
            module = home(full, code)
            rest = full[len(module) :]
            graph[name].add(handed_on.get((module, rest[0]), module) if rest else module)
    return {name: modules - {name} for name, modules in graph.items()}


def circle(graph: Mapping[Name, set[Name]]) -> str:
    """Return a circle of the graph in words, or the empty string."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return " -> ".join("::".join(name) or "crate" for name in error.args[1][::-1])
    return ""


def circles(crate: Path) -> Iterator[str]:
    """Yield a message for a circle among the modules of a crate, and for one among the folders below its `src`."""
    texts: dict[Name, str] = {}
    for path in sorted((crate / "src").rglob("*.rs")):
        parts = path.relative_to(crate / "src").with_suffix("").parts
        if "tests" not in parts:
            name = parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts
            texts[name] = texts.get(name, "") + path.read_text()
    modules = uses(texts)
    folders: dict[Name, set[Name]] = {}
    for name, others in modules.items():
        folders.setdefault(name[:1], set()).update(other[:1] for other in others if other[:1] != name[:1])
    for what, graph in (("modules", modules), ("folders", folders)):
        if words := circle(graph):
            yield f"crates/{crate.name}: {what} use each other in a circle: {words}"
