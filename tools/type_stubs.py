"""Write the modules that only type checkers read: the keywords of functions as TypedDicts, and all public names.

    python tools/type_stubs.py            # renew them
    python tools/type_stubs.py --check    # name those that are not what becalm gives now; exit code 1

A public function takes its options as `**options: Unpack[…Keywords]`. The TypedDict is made from the fields of the
options (`becalm.nouns.option`) that the function's decorator `takes` names, so that type checkers, `help` and the
command line agree. The public names are those of the tables in `becalm/__init__.py` and `becalm/verbs/__init__.py`.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import types
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import becalm
from becalm.nouns.demand import Demand
from becalm.nouns.option import Option, options
from becalm.nouns.workload import CommandLine, Workload

PACKAGE = Path(__file__).parents[1] / "python/becalm"
LONGEST_LINE = 120

NOUNS = {"ProgramKeywords": (CommandLine, Workload), "DemandKeywords": (Demand,)}
"""The keywords of functions below the verbs, with the classes that have the options."""


class Part(NamedTuple):
    """The options that a function takes of one class, by keyword: the owner, and the names."""

    owner: type[Any]
    names: tuple[str, ...]

    @property
    def title(self) -> str:
        """The name of a TypedDict that several functions share."""
        lacking = [name for name in options(self.owner) if name not in self.names]
        return f"_{self.owner.__name__}" + (f"Without{_camel('_'.join(lacking))}" if lacking else "")

    def largest_of(self, parts: Iterable[Part]) -> Part | None:
        """Return the largest of some parts that has nothing but options of this one; None without any."""
        inner = [part for part in parts if part.owner is self.owner and set(part.names) <= set(self.names)]
        return max(inner, key=lambda part: len(part.names), default=None)

    def fields(self) -> Iterator[tuple[str, Option]]:
        """Yield the options by keyword."""
        known = options(self.owner)
        return ((name, known[name]) for name in self.names)


def parts_of(function: Callable[..., Any]) -> tuple[Part, ...]:
    """Return what a function takes by `Unpack`: its options, but for those that are parameters of its own."""
    code = inspect.unwrap(function).__code__
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    open_names = [name for name in inspect.signature(function).parameters if name not in own]
    result = []
    for owner in getattr(function, "option_kinds", ()):
        names = tuple(name for name in options(owner) if name in open_names)
        open_names = [name for name in open_names if name not in names]
        result.append(Part(owner, names))
    return tuple(part for part in result if part.names)


def functions() -> Mapping[str, tuple[Part, ...]]:
    """Return the parts of each public function that takes options, by its name."""
    public = {name: getattr(becalm, name) for name in becalm.__all__}
    return {name: parts_of(value) for name, value in public.items() if hasattr(value, "option_kinds")}


def verb_keywords() -> str:
    """Return the module with the keywords of the public functions."""
    parts = functions()
    uses = Counter(part for own in parts.values() for part in own)
    shared = sorted((part for part in uses if uses[part] > 1), key=lambda part: (part.owner.__name__, len(part.names)))
    blocks = [_typed_dict(part.title, "", [part], [other for other in shared if other is not part]) for part in shared]
    for name, own in parts.items():
        doc = f"The options of `{name}` as type checkers see them."
        blocks.append(_typed_dict(f"{_camel(name)}Keywords", doc, own, shared))
    return _module(
        "The keywords of public functions as type checkers see them.", blocks, _types(uses, {"typing": {"TypedDict"}})
    )


def noun_keywords() -> str:
    """Return the module with the keywords of functions below the verbs."""
    parts = {name: [Part(owner, tuple(options(owner))) for owner in owners] for name, owners in NOUNS.items()}
    blocks = []
    for name, own in parts.items():
        doc = f"The options of {' and '.join(part.owner.__name__ for part in own)} as type checkers see them."
        blocks.append(_typed_dict(name, doc, own, ()))
    every = [part for own in parts.values() for part in own]
    return _module(
        "The keywords of a program and of a load as type checkers see them.",
        blocks,
        _types(every, {"typing": {"TypedDict"}}),
    )


def public_names() -> str:
    """Return the module from which type checkers take the public names."""
    homes = sorted(becalm._homes().items(), key=lambda home: (home[1], home[0].islower(), home[0].lower()))
    lines = [f"from {module} import {name} as {name}" for name, module in homes]
    return _head("The public names of becalm as type checkers see them.") + "\n".join(lines) + "\n"


MODULES: Mapping[str, Callable[[], str]] = {
    "nouns/keywords.py": noun_keywords,
    "verbs/keywords.py": verb_keywords,
    "public_names.py": public_names,
}
"""The modules that are written, by their places in the package."""


def source(annotation: Any) -> str:
    """Return an annotation as Python writes it, with the bare names of classes."""
    if annotation is None or annotation is types.NoneType:
        return "None"
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (types.UnionType, typing.Union):
        return " | ".join(map(source, inner))
    if origin is not None:
        return f"{origin.__name__}[{', '.join(map(source, inner))}]"
    if not isinstance(annotation, type) or annotation is Any:
        raise TypeError(f"{annotation!r} is no type that an option may have: name a class, a generic one or a union.")
    return annotation.__name__


def classes(annotation: Any) -> Iterator[type[Any]]:
    """Yield the classes in an annotation that have to be imported."""
    for kind in (typing.get_origin(annotation) or annotation, *typing.get_args(annotation)):
        if kind is not annotation and typing.get_args(kind):
            yield from classes(kind)
        elif isinstance(kind, type) and kind.__module__ not in ("builtins", "types", "typing"):
            yield kind


def _types(parts: Iterable[Part], known: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the names to import for the options of some parts, by module, in addition to those that are known."""
    result = {module: set(names) for module, names in known.items()}
    for part in parts:
        for _, option in part.fields():
            for kind in classes(option.annotation):
                result.setdefault(kind.__module__, set()).add(kind.__name__)
    return result


def _typed_dict(name: str, doc: str, parts: Sequence[Part], shared: Sequence[Part]) -> str:
    """Return the class of some parts, which inherits what it can from TypedDicts of shared parts."""
    bases = [base for part in parts if (base := part.largest_of(shared)) is not None]
    inherited = {key for base in bases for key in base.names}
    words = [*([base.title for base in bases] or ["TypedDict"]), "total=False"]
    head = f"class {name}({', '.join(words)}):"
    if len(head) > LONGEST_LINE:
        head = f"class {name}(\n    {', '.join(words)}\n):"
    if len(max(head.splitlines(), key=len)) > LONGEST_LINE:
        head = f"class {name}(\n" + "".join(f"    {word},\n" for word in words) + "):"
    fields = [
        f"    {key}: {source(option.annotation)}"
        for part in parts
        for key, option in part.fields()
        if key not in inherited
    ]
    paragraphs = ([f'    """{doc}"""'] if doc else []) + (["\n".join(fields)] if fields else [])
    return f"{head}\n" + "\n\n".join(paragraphs) + "\n"


def _head(doc: str) -> str:
    return f'"""{doc} Generated by tools/type_stubs.py; do not edit."""\n\nfrom __future__ import annotations\n\n'


def _module(doc: str, blocks: Sequence[str], imported: Mapping[str, set[str]]) -> str:
    lines = {
        module: f"from {module} import {', '.join(sorted(names, key=str.lower))}\n"
        for module, names in sorted(imported.items())
    }
    standard = "".join(line for module, line in lines.items() if not module.startswith("becalm."))
    own = "".join(line for module, line in lines.items() if module.startswith("becalm."))
    return _head(doc) + "\n".join(filter(None, (standard, own))) + "\n\n" + "\n\n".join(blocks)


def _camel(name: str) -> str:
    return "".join(map(str.capitalize, name.split("_")))


def main() -> int:
    """Renew or check the modules; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    chosen, code = parser.parse_args(), 0
    for name, text in MODULES.items():
        path, new = PACKAGE / name, text()
        if path.exists() and path.read_text(encoding="utf-8") == new:
            continue
        code = int(chosen.check)
        print(f"{path}: {'differs' if chosen.check else 'renewed'}")
        if not chosen.check:
            path.write_text(new, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
