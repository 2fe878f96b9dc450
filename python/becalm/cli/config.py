"""`--config FILE`: options of a command from a TOML file. The command line takes precedence.

budget = "20min"
sudo = true
without = ["swap", "smt"]
program = ["gzip -9 -c FILE", "pyperf:bench.py"]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

import becalm

F = TypeVar("F", bound=Callable[..., Any])


def _load(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Make the entries of the file the defaults of the options of the same names."""
    if value is None or ctx.resilient_parsing:
        return
    try:
        toml = becalm.read_toml(value)
    except becalm.UsageError as error:
        raise click.BadParameter(str(error)) from None
    options = {
        name.removeprefix("--"): param
        for param in ctx.command.params
        if isinstance(param, click.Option) and param is not parameter
        for name in param.opts
        if name.startswith("--")
    }
    defaults: dict[str, Any] = {}
    for name, entry in toml.items():
        option = options.get(name.replace("_", "-"))
        if option is None:
            raise click.BadParameter(f"{value}: unknown option {name!r}. {becalm.unknown_name(name, options)}")
        assert option.name is not None
        defaults[option.name] = _entry(value, name, option, entry)
    ctx.default_map = {**(ctx.default_map or {}), **defaults}


def _entry(file: str, name: str, option: click.Option, entry: Any) -> Any:
    """Return an entry as click expects it: a bool for a flag, a list for a repeatable option, else a text."""
    if option.is_flag:
        if not isinstance(entry, bool):
            raise click.BadParameter(f"{file}: {name} is true or false, not {entry!r}.")
        return entry
    if option.multiple:
        if isinstance(entry, dict):
            # A table of names and values, for example of environment variables.
            return [f"{key}={value}" for key, value in entry.items()]
        return [str(item) for item in (entry if isinstance(entry, list) else [entry])]
    if isinstance(entry, (bool, list, dict)):
        raise click.BadParameter(f"{file}: {name} takes one value, not {entry!r}.")
    return str(entry)


config: Callable[[F], F] = click.option(
    "--config",
    metavar="FILE",
    callback=_load,
    is_eager=True,
    expose_value=False,
    help='Take options from a TOML file: budget = "20min", sudo = true, …',
)
