"""Signatures and help of public functions, made from the fields of their options.

A function takes its options as `**options: Unpack[…]`. `takes` names their owners: `inspect.signature` and `help` list
every option with type, unit and default, and tools/type_stubs.py makes the TypedDict from it that type checkers read.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

from becalm.nouns.option import Option, options
from becalm.units import bind_units, release_units

F = TypeVar("F", bound=Callable[..., Any])

_INDENT = " " * 4


def takes(*kinds: type[Any], without: tuple[str, ...] = (), **defaults: Any) -> Callable[[F], F]:
    """Return a decorator for a function whose keywords are the options of these classes, except those in `without`.

    Of two options with one name the first is used. `defaults`: defaults of the function that differ from those of the
    options. The decorator appends the list of options to the docstring, after `Options:`, and stores the classes as
    `option_kinds`.
    """
    chosen: dict[str, Option] = {}
    for kind in kinds:
        for name, option in options(kind).items():
            if name not in without:
                chosen.setdefault(name, option)

    def decorate(function: F) -> F:
        parameters = inspect.signature(function).parameters.values()
        own = [
            parameter
            for parameter in parameters
            if parameter.kind is not parameter.VAR_KEYWORD and parameter.name not in chosen
        ]
        more = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(name, option.default),
                annotation=option.annotation,
            )
            for name, option in chosen.items()
        ]
        shown = inspect.signature(function).replace(parameters=[*own, *more])
        function.__signature__ = shown  # type: ignore[attr-defined]
        function.option_kinds = kinds  # type: ignore[attr-defined]
        function.__doc__ = _documented(inspect.cleandoc(function.__doc__ or ""), chosen, defaults)
        return function

    return decorate


def _documented(text: str, chosen: dict[str, Option], defaults: dict[str, Any]) -> str:
    lines = [_line(option, defaults) for option in chosen.values()]
    return "\n".join([text, "", "Options:", *lines])


def _line(option: Option, defaults: dict[str, Any]) -> str:
    default = str(defaults[option.name]) if option.name in defaults else option.text
    about = ", ".join(part for part in (option.unit, f"default {default}" if default else "") if part)
    line = f"{option.name}: {option.help}" + (f" [{about}]" if about else "")
    return release_units(textwrap.fill(bind_units(line), 110, initial_indent=_INDENT, subsequent_indent=2 * _INDENT))
