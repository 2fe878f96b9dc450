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
    found = {f"becalm.{name}": getattr(becalm, name) for name in becalm.__all__ if not name.startswith("_")}
    classes = {name: each for name, each in found.items() if isinstance(each, type)}
    errors = {name for name, each in classes.items() if issubclass(each, Exception)}
    public = set(classes.values())
    parts = {f"{each.__module__}.{each.__qualname__}": each for each in _reached(found.values()) if each not in public}
    return "\n".join(
        [
            *_chapter("Functions", "autofunction", sorted(found.keys() - classes.keys())),
            *_chapter("Values", "autoclass", sorted(classes.keys() - errors)),
            *_chapter("Parts of these values", "autoclass", sorted(parts, key=lambda name: name.rpartition(".")[2])),
            *_chapter("Errors", "autoexception", sorted(errors)),
        ]
    )


def names() -> str:
    """Return functions, values and errors with the first sentence of each."""
    found = {name: getattr(becalm, name) for name in becalm.__all__ if not name.startswith("_")}
    classes = {name for name, each in found.items() if isinstance(each, type)}
    errors = {name for name in classes if issubclass(found[name], Exception)}
    parts = []
    for title, own in (("functions", found.keys() - classes), ("values", classes - errors), ("errors", errors)):
        rows = ((code(f"becalm.{name}"), _first(found[name])) for name in sorted(own))
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
        each = todo.pop()
        if isinstance(each, type):
            if each in seen:
                continue
            seen.add(each)
            if issubclass(each, (Exception, enum.Enum)):
                continue
            methods = [value for name, value in vars(each).items() if not name.startswith("_")]
            todo += [value.fget if isinstance(value, property) else value for value in methods]
        if isinstance(each, type) or inspect.isroutine(each):
            todo += [kind for hint in _hints(each) for kind in _named(hint)]
    return {each for each in seen if each.__module__.startswith("becalm.")}


def _hints(each: object) -> Iterable[object]:
    each = getattr(each, "__func__", each)
    if not hasattr(each, "__annotations__"):
        return ()
    names: dict[str, object] = {}
    for kind in each.__mro__ if isinstance(each, type) else (each,):
        names |= _for_type_checkers(getattr(kind, "__module__", ""))
    return typing.get_type_hints(each, localns=names).values()


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
        yield from _named(inner) if not isinstance(inner, list) else (kind for one in inner for kind in _named(one))
