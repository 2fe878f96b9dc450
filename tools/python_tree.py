"""What can be read from the Python of a tree without running it: functions, signatures, who imports whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Graph = dict[str, set[str]]
"""For each module, the modules that it imports."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class FunctionSize:
    """One function: where it is, its lines without decorators and docstring, and its width in parameters."""

    name: str
    lines: int
    parameters: int
    public: bool
    keywords: bool
    """It takes `**` something."""
    any_type: bool
    """`Any` stands in its signature."""


@dataclass
class Imports:
    """Three graphs over the same modules, each a superset of the one before where `everywhere` says so."""

    at_top: Graph = field(default_factory=dict)
    """Run when the module is imported."""
    in_functions: Graph = field(default_factory=dict)
    type_checking: Graph = field(default_factory=dict)

    def at_run_time(self) -> Graph:
        """Imports at the top and in functions."""
        return {name: self.at_top[name] | self.in_functions[name] for name in self.at_top}

    def everywhere(self) -> Graph:
        """Those for type checkers, too."""
        return {name: found | self.type_checking[name] for name, found in self.at_run_time().items()}


def modules(package: Path) -> dict[str, Path]:
    """Every module of a package by its dotted name; a package is named like its `__init__`."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _is_public(node: Function, path: Path, owner: ast.ClassDef | None) -> bool:
    private = any(name.startswith("_") for name in (node.name, owner.name if owner else ""))
    return not private and not any(part.startswith("_") for part in path.with_suffix("").parts if part != "__init__")


def _named_any(annotation: ast.expr | None) -> bool:
    if annotation is None:
        return False
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    return any(getattr(each, "id", getattr(each, "attr", None)) == "Any" for each in ast.walk(annotation))


def _measured(node: Function, path: Path, owner: ast.ClassDef | None) -> FunctionSize:
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    if owner is not None and named and named[0].arg in ("self", "cls"):
        named = named[1:]
    rest = [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    assert node.end_lineno is not None
    lines = node.end_lineno - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node) is not None and first.end_lineno is not None:
        lines -= first.end_lineno - first.lineno + 1
    return FunctionSize(
        f"{owner.name}.{node.name}" if owner else node.name,
        lines,
        len(named) + len(rest),
        _is_public(node, path, owner),
        arguments.kwarg is not None,
        any(_named_any(each.annotation) for each in (*named, *rest)) or _named_any(node.returns),
    )


def functions(path: Path, inside: Path) -> Iterator[FunctionSize]:
    """Functions of modules and of classes; those within functions count as lines of the outer one."""
    tree = ast.parse(path.read_text())
    here = path.relative_to(inside)
    for node in tree.body:
        if isinstance(node, Function):
            yield _measured(node, here, None)
        elif isinstance(node, ast.ClassDef):
            yield from (_measured(each, here, node) for each in node.body if isinstance(each, Function))


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and getattr(node.test, "id", getattr(node.test, "attr", None)) == "TYPE_CHECKING"


def _hands_on(node: ast.AST) -> bool:
    """`from module import name as name`: what a package shows type checkers as its own, and does not use itself."""
    return isinstance(node, ast.ImportFrom) and all(each.asname == each.name for each in node.names)


def _targets(node: ast.Import | ast.ImportFrom, name: str, is_package: bool, known: dict[str, Path]) -> set[str]:
    if isinstance(node, ast.Import):
        return {each.name for each in node.names if each.name in known}
    base = node.module or ""
    if node.level:
        parts = name.split(".")
        up = parts[: len(parts) - node.level + is_package]
        base = ".".join([*up, *([base] if base else [])])
    wholes = {f"{base}.{each.name}" for each in node.names} & known.keys()
    # `from package import module` needs the package itself only for names that are no modules.
    return wholes | ({base} if base in known and len(wholes) < len(node.names) else set())


def imports(package: Path) -> Imports:
    """Who imports whom within a package, wherever in a file the import stands."""
    known = modules(package)
    graphs = Imports()
    for name, path in known.items():
        found: dict[str, set[str]] = {"at_top": set(), "in_functions": set(), "type_checking": set()}
        # Depth first, by hand, since it matters what an import stands in.
        todo: list[tuple[ast.AST, str]] = [(ast.parse(path.read_text()), "at_top")]
        while todo:
            node, place = todo.pop()
            if place == "type_checking" and path.name == "__init__.py" and _hands_on(node):
                continue
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                found[place] |= _targets(node, name, path.name == "__init__.py", known) - {name}
            elif isinstance(node, ast.If) and _is_type_checking(node):
                todo += [(each, "type_checking") for each in node.body] + [(each, place) for each in node.orelse]
            else:
                inner = "in_functions" if isinstance(node, Function) else place
                todo += [(each, inner) for each in ast.iter_child_nodes(node)]
        for place, names in found.items():
            getattr(graphs, place)[name] = names
    return graphs


def cycles(graph: Graph) -> list[list[str]]:
    """Groups of modules each of which can be reached from each other one, larger than one (Tarjan 1972)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(graph.get(name, ())):
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            group: list[str] = []
            while not group or group[-1] != name:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(sorted(group))

    for name in sorted(graph):
        if name not in order:
            visit(name)
    return found


def home(name: str, depth: int = 1) -> str:
    """The folder of a module below the package, or the module itself where it lies at the root."""
    parts = name.split(".")
    return ".".join(parts[1 : 1 + depth]) or "__init__"


def arrows(graph: Graph) -> Graph:
    """The graph of folders; the package's own `__init__` and `__main__` are left out, they may import all."""
    found: Graph = {}
    for name, others in graph.items():
        found.setdefault(home(name), set()).update(home(each) for each in others)
    return {
        name: {each for each in others if each not in (name, "__init__", "__main__")}
        for name, others in found.items()
        if name not in ("__init__", "__main__")
    }
