"""Options of the command line, made from the fields of frozen values (`becalm.nouns.option`).

`of` returns the click options of such values, `keywords` the parsed options as keywords of the public functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

import click
from msgspec import structs

import becalm
from becalm.cli.output import together
from becalm.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])

raw = click.option("--raw", is_flag=True, help="Do not protect CSV cells that a spreadsheet takes for formulas.")

if TYPE_CHECKING:
    _AnyType = click.ParamType[Any]
else:
    # In Debian 13's click 8.1 it is not generic.
    _AnyType = click.ParamType


class CheckedText(_AnyType):
    """A text that the parser of an option accepts; the text itself is the value."""

    def __init__(self, name: str, check: Callable[[str], object]) -> None:
        self.name = name
        self._check = check

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text if the parser accepts it; fail otherwise."""
        try:
            self._check(str(value))
        except UsageError as error:
            self.fail(str(error), param, ctx)
        return value


class Number(_AnyType):
    """A whole or decimal number, without the separators that Python accepts: 1_000."""

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
    """A NAME=VALUE pair. The agent checks names and values."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return the name and the value."""
        if isinstance(value, tuple):
            return value
        name, equals, rest = str(value).partition("=")
        if not equals or not name:
            self.fail(f"{value!r} is not of the form NAME=VALUE.", param, ctx)
        return name, rest


def of(*kinds: type[Any], without: tuple[str, ...] = (), **defaults: str) -> Callable[[F], F]:
    """Return a decorator with the options of some values, except those in `without`.

    `defaults`: by name of an option, the default to print if that of the verb differs.
    """
    decorators = []
    for option in _options(*kinds):
        if option.name not in without:
            decorators += _click(option, defaults.get(option.name, option.text))
    return together(*decorators)


def one(kind: type[Any], name: str) -> Callable[[F], F]:
    """Return a decorator with one option of a value, without the flag that negates it."""
    (option,) = (option for option in _options(kind) if option.name == name)
    return together(*_click(structs.replace(option, off=""), option.text))


def some(kind: type[Any], *names: str) -> Callable[[F], F]:
    """Return the named options of a value."""
    return of(kind, without=tuple(option.name for option in _options(kind) if option.name not in names))


def _options(*kinds: type[Any]) -> list[Any]:
    return [option for kind in kinds for option in becalm.options(kind).values()]


def _click(option: Any, default: str) -> list[Callable[[Any], Any]]:
    result: list[Callable[[Any], Any]] = []
    text = option.help + (f"  [default: {default}]" if default else "")
    if option.flag and _is(option.annotation, bool) and not _is(option.annotation, str):
        result.append(click.option(option.flag, option.name, is_flag=True, help=text))
    elif option.flag:
        repeats, kind = option.repeats, _type(option)
        result.append(
            click.option(
                option.flag, option.name, type=kind, multiple=repeats, metavar=option.metavar or None, help=text
            )
        )
    if option.off:
        result.append(click.option(option.off, _off(option), is_flag=True, help=option.off_help))
    return result


def _off(option: Any) -> str:
    return str(option.off.removeprefix("--").replace("-", "_"))


def _type(option: Any) -> Any:
    kinds = (option.annotation, *get_args(option.annotation))
    if any(get_origin(kind) is Mapping for kind in kinds):
        return Setting()
    if option.choices:
        return click.Choice(list(option.choices))
    if _is(option.annotation, str):
        return (
            str
            if option.repeats or option.parse in (None, str, tuple)
            else CheckedText(option.metavar.lower() or "text", option.value)
        )
    return Number(whole=_is(option.annotation, int))


def _is(annotation: Any, kind: type[Any]) -> bool:
    return annotation is kind or any(_is(argument, kind) for argument in get_args(annotation))


def keywords(parameters: dict[str, Any], *kinds: type[Any]) -> dict[str, Any]:
    """Return the parameters of a command that were set, as keywords of a public function."""
    result = {
        name: value for name, value in parameters.items() if value is not None and value is not False and value != ()
    }
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
    """Return values by name. Raises UsageError for a name with two different values."""
    values: dict[str, str] = {}
    for name, value in pairs:
        if values.setdefault(name, value) != value:
            raise UsageError(
                f"{flag} {name}={values[name]} and {flag} {name}={value} contradict each other. Leave one out."
            )
    return values


def refuse_repeats(command: click.Command) -> click.Command:
    """Have a command and its subcommands refuse an option with two different values, of which click ignores one."""
    for subcommand in getattr(command, "commands", {}).values():
        refuse_repeats(subcommand)
    make = command.make_parser

    def make_parser(ctx: click.Context) -> Any:
        parser = make(ctx)
        # click has no public way to see a value that a later one replaces.
        known = {**getattr(parser, "_short_opt", {}), **getattr(parser, "_long_opt", {})}
        for option in {id(parsed): parsed for parsed in known.values()}.values():
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
    """Return the flags of those parameters that are on the command line."""
    context = click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    return [
        param.opts[0]
        for param in context.command.params
        if param.name in names and context.get_parameter_source(param.name) is source
    ]
