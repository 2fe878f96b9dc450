"""The Python reference: the public names of the package, and what their values are made of, by Sphinx's autodoc."""

from __future__ import annotations

import ast
import enum
import functools
import importlib
import importlib.util
import inspect
import types
import typing
from collections.abc import Iterable, Iterator

from markdown import code, table

import becalm


def python() -> str:
    """Return functions, values, their parts and errors, as docstrings and signatures describe them."""
    result = {f"becalm.{name}": getattr(becalm, name) for name in becalm.__all__ if not name.startswith("_")}
    classes = {name: item for name, item in result.items() if isinstance(item, type)}
    errors = {name for name, item in classes.items() if issubclass(item, Exception)}
    public = set(classes.values())
    parts = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in _reached(result.values()) if kind not in public}
    return "\n".join(
        [
            *_chapter("Functions", "autofunction", sorted(result.keys() - classes.keys())),
            *_chapter("Values", "autoclass", sorted(classes.keys() - errors)),
            *_chapter("Parts of these values", "autoclass", sorted(parts, key=lambda name: name.rpartition(".")[2])),
            *_chapter("Errors", "autoexception", sorted(errors)),
        ]
    )


def names() -> str:
    """Return functions, values and errors with the first sentence of each."""
    public = {name: getattr(becalm, name) for name in becalm.__all__ if not name.startswith("_")}
    classes = {name for name, item in public.items() if isinstance(item, type)}
    errors = {name for name in classes if issubclass(public[name], Exception)}
    parts = []
    for title, own in (("functions", public.keys() - classes), ("values", classes - errors), ("errors", errors)):
        rows = ((code(f"becalm.{name}"), _first(public[name])) for name in sorted(own))
        parts.append(f"### All {title}\n\n" + table(("name", "what it is"), rows))
    return "\n".join(parts)


def _first(what: object) -> str:
    """Return the first paragraph of a docstring in one line; that of a class only where it has its own."""
    text = (vars(what).get("__doc__") or "") if isinstance(what, type) else (inspect.getdoc(what) or "")
    # `dataclass` writes a signature where there is no docstring.
    text = "" if isinstance(what, type) and text.startswith(f"{what.__name__}(") else inspect.cleandoc(text)
    return " ".join(text.split("\n\n")[0].split())


def _chapter(title: str, directive: str, names: Iterable[str]) -> Iterator[str]:
    yield f"## {title}\n"
    members = "   :members:\n   :undoc-members:\n" if directive == "autoclass" else ""
    for name in names:
        yield f"```{{eval-rst}}\n.. {directive}:: {name}\n{members}```\n"


def _reached(start: Iterable[object]) -> set[type]:
    """Return the classes of becalm that signatures and fields of these name, and those that these name in turn."""
    seen: set[type] = set()
    todo = list(start)
    while todo:
        item = todo.pop()
        if isinstance(item, type):
            if item in seen:
                continue
            seen.add(item)
            if issubclass(item, (Exception, enum.Enum)):
                continue
            methods = [value for name, value in vars(item).items() if not name.startswith("_")]
            todo += [value.fget if isinstance(value, property) else value for value in methods]
        if isinstance(item, type) or inspect.isroutine(item):
            todo += [kind for hint in _hints(item) for kind in _named(hint)]
    return {kind for kind in seen if kind.__module__.startswith("becalm.")}


def _hints(name: object) -> Iterable[object]:
    name = getattr(name, "__func__", name)
    if not hasattr(name, "__annotations__"):
        return ()
    names: dict[str, object] = {}
    for kind in name.__mro__ if isinstance(name, type) else (name,):
        names |= _for_type_checkers(getattr(kind, "__module__", ""))
    return typing.get_type_hints(name, localns=names).values()


@functools.cache
def _for_type_checkers(module: str) -> dict[str, object]:
    """Return the imports of a module of becalm under `if TYPE_CHECKING`, which its annotations name, too.

    A package that need not be installed, as pandas, has no page here: what is taken from it stands for anything.
    """
    if not module.startswith("becalm."):
        return {}
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    lines = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {
        name.asname or name.name: getattr(importlib.import_module(node.module or ""), name.name)
        if importlib.util.find_spec((node.module or "").partition(".")[0])
        else typing.Any
        for node in lines
        for name in node.names
    }


def _named(hint: object) -> Iterator[type]:
    """Yield the classes in an annotation."""
    if isinstance(hint, type) and not isinstance(hint, types.GenericAlias):
        if hint.__module__.startswith("becalm."):
            yield hint
        return
    for inner in typing.get_args(hint):
        yield from (
            _named(inner) if not isinstance(inner, list) else (kind for result in inner for kind in _named(result))
        )
