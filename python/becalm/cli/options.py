"""Options of the command line, made of the fields of the values that hold them (`becalm.nouns.option`).

`of` gives the click options of such values, `keywords` what was typed as the keywords of the public functions.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

import click

import becalm
from becalm.cli.output import together
from becalm.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])

raw = click.option(
    "--raw", is_flag=True, help="Leave cells of CSV as they are, also those that a spreadsheet takes for formulas."
)

if TYPE_CHECKING:
    _AnyType = click.ParamType[Any]
else:
    # Of Debian 13's click 8.1 it is not generic.
    _AnyType = click.ParamType


class CheckedText(_AnyType):
    """A type whose text is checked by the option's own parser; the text itself is handed on."""

    def __init__(self, name: str, check: Callable[[str], object]) -> None:
        self.name = name
        self._check = check

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text, when the function accepts it."""
        try:
            self._check(str(value))
        except UsageError as error:
            self.fail(str(error), param, ctx)
        return value


class Number(_AnyType):
    """A number, whole or not; one with separators is refused, which Python itself reads: 1_000."""

    def __init__(self, whole: bool, least: float = -math.inf, most: float = math.inf) -> None:
        self.name = "integer" if whole else "float"
        self._parse = becalm.whole_number if whole else becalm.plain_number
        self._least, self._most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        try:
            number = self._parse(value) if isinstance(value, str) else value
        except UsageError as error:
            self.fail(str(error), param, ctx)
        if not self._least <= number <= self._most:
            limits = f"from {self._least:g}" + (f" to {self._most:g}" if self._most < math.inf else "")
            self.fail(f"{value} is not a number {limits}.", param, ctx)
        return number


class Setting(_AnyType):
    """NAME=VALUE; the agent knows which names and values there are."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Name and value."""
        if isinstance(value, tuple):
            return value
        name, equals, rest = str(value).partition("=")
        if not equals or not name:
            self.fail(f"{value!r} is not of the form NAME=VALUE.", param, ctx)
        return name, rest


def of(*kinds: type[Any], without: tuple[str, ...] = (), **shown: str) -> Callable[[F], F]:
    """Return the options of some values as one decorator, except those in `without`.

    `shown`: defaults to show where the verb's own differ.
    """
    made = []
    for option in _options(*kinds):
        if option.name not in without:
            made += _click(option, shown.get(option.name, option.text))
    return together(*made)


def one(kind: type[Any], name: str) -> Callable[[F], F]:
    """Return one option of a value, without the flag that negates it."""
    (each,) = (option for option in _options(kind) if option.name == name)
    return together(*_click(dataclasses.replace(each, off=""), each.text))


def _options(*kinds: type[Any]) -> list[Any]:
    return [option for kind in kinds for option in becalm.options(kind).values()]


def _click(each: Any, default: str) -> list[Callable[[Any], Any]]:
    result: list[Callable[[Any], Any]] = []
    text = each.help + (f"  [default: {default}]" if default else "")
    if each.flag and _is(each.given, bool) and not _is(each.given, str):
        result.append(click.option(each.flag, each.name, is_flag=True, help=text))
    elif each.flag:
        repeats, kind = each.repeats, _type(each)
        result.append(
            click.option(each.flag, each.name, type=kind, multiple=repeats, metavar=each.metavar or None, help=text)
        )
    if each.off:
        result.append(click.option(each.off, _off(each), is_flag=True, help=each.off_help))
    return result


def _off(each: Any) -> str:
    return str(each.off.removeprefix("--").replace("-", "_"))


def _type(each: Any) -> Any:
    if get_origin(each.given) is Mapping or any(get_origin(part) is Mapping for part in get_args(each.given)):
        return Setting()
    if each.choices:
        return click.Choice(list(each.choices))
    if _is(each.given, str):
        return (
            str
            if each.repeats or each.parse in (None, str, tuple)
            else CheckedText(each.metavar.lower() or "text", each.value)
        )
    return Number(whole=_is(each.given, int))


def _is(given: Any, kind: type[Any]) -> bool:
    return given is kind or any(_is(part, kind) for part in get_args(given))


def keywords(given: dict[str, Any], *kinds: type[Any]) -> dict[str, Any]:
    """Return what was typed as keywords of a public function: only the options that were given."""
    result = {name: value for name, value in given.items() if value is not None and value is not False and value != ()}
    for option in _options(*kinds):
        if option.off and result.pop(_off(option), False):
            if option.name in result:
                raise UsageError(f"{option.flag} and {option.off} contradict each other. Leave one out.")
            result[option.name] = option.off_gives
        if option.name in result and isinstance(_type(option), Setting):
            result[option.name] = once(result[option.name], option.flag)
    hosts = list(result.pop("hosts", ()))
    if len(hosts) > 1 or "cluster" in result:
        result["hosts"] = hosts
    elif hosts:
        result["host"] = hosts[0]
    return result


def once(pairs: Sequence[tuple[str, str]], flag: str = "--set") -> dict[str, str]:
    """Return values by name. Raises UsageError for a name with two values, of which one would be ignored."""
    values: dict[str, str] = {}
    for name, value in pairs:
        if values.setdefault(name, value) != value:
            raise UsageError(
                f"{flag} {name}={values[name]} and {flag} {name}={value} contradict each other. Leave one out."
            )
    return values


def refuse_repeats(command: click.Command) -> click.Command:
    """Have a command and those beneath it refuse an option that is typed twice with different values.

    One of the two would be ignored.
    """
    for beneath in getattr(command, "commands", {}).values():
        refuse_repeats(beneath)
    make = command.make_parser

    def make_parser(ctx: click.Context) -> Any:
        parser = make(ctx)
        # click has no public way to see values that a later one replaces.
        known = {**getattr(parser, "_short_opt", {}), **getattr(parser, "_long_opt", {})}
        for option in {id(each): each for each in known.values()}.values():
            if option.action == "store":
                option.process = _process_once(option, ctx)
        return parser

    if not getattr(make, "refuses_repeats", False):
        make_parser.refuses_repeats = True  # type: ignore[attr-defined]
        command.make_parser = make_parser  # type: ignore[method-assign]
    return command


def _process_once(option: Any, ctx: click.Context) -> Callable[[Any, Any], None]:
    process = option.process

    def checked(value: Any, state: Any) -> None:
        before = state.opts.get(option.dest, value)
        if before != value:
            name = option.obj.opts[0]
            raise click.UsageError(f"{name} {before} and {name} {value} contradict each other. Leave one out.", ctx)
        process(value, state)

    return checked


def typed(*names: str) -> list[str]:
    """Return those of some parameters that are on the command line, as the person wrote them."""
    context = click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    return [
        param.opts[0]
        for param in context.command.params
        if param.name in names and context.get_parameter_source(param.name) is source
    ]
