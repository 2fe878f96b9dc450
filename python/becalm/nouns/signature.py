"""Signatures and help of public functions, from the fields of the values that hold their options.

A function takes its options as `**options: Unpack[…]`, which is what type checkers see; `takes` shows the same to
people: `inspect.signature` and `help` list every option with type, unit and default. tests/unit/nouns/test_signature.py
holds both against each other.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

from becalm.nouns.option import Option, options

F = TypeVar("F", bound=Callable[..., Any])

_INDENT = " " * 4


def takes(*kinds: type[Any], without: tuple[str, ...] = (), **defaults: Any) -> Callable[[F], F]:
    """Return a decorator: the function takes the options of these values as keywords, except those in `without`.

    Of two with one name the first counts. `defaults`: where the function's own differ. The part of its docstring that
    lists them follows `Options:`.
    """
    chosen: dict[str, Option] = {}
    for kind in kinds:
        for name, made in options(kind).items():
            if name not in without:
                chosen.setdefault(name, made)

    def decorate(function: F) -> F:
        written = inspect.signature(function).parameters.values()
        own = [each for each in written if each.kind is not each.VAR_KEYWORD and each.name not in chosen]
        more = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name, each.default), annotation=each.given
            )
            for name, each in chosen.items()
        ]
        shown = inspect.signature(function).replace(parameters=[*own, *more])
        function.__signature__ = shown  # type: ignore[attr-defined]
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
    return textwrap.fill(line, 110, initial_indent=_INDENT, subsequent_indent=2 * _INDENT)
