"""`becalm load`."""

from __future__ import annotations

import sys
from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.errors import UsageError
from becalm.units import duration_ns


@click.command("load", context_settings={"ignore_unknown_options": False})
@options.of(becalm.Demand)
@click.option(
    "--for",
    "duration",
    type=options.CheckedText("duration", duration_ns),
    help="How long.  [default: until Ctrl-C, or the command's end]",
)
@click.option("--host", default="local", show_default=True, help=becalm.options(becalm.SessionOptions)["host"].help)
@options.one(becalm.SessionOptions, "sudo")
@output.as_json
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command_load(
    command: tuple[str, ...], duration: str | None, host: str, sudo: bool, as_json: bool, **keywords: Any
) -> None:
    """Generate a known load, for a time or while a command runs (docs/how-to/load.md).

    \b
    becalm load --cpu 3 --for 10s
    becalm load --memory 512M --limit 256M --for 30s
    becalm load --disk . --rate 50M --network 100M -- ./program
    becalm load --host ssh://bench --cpu 2 --for 1min

    Exit code: the command's. Sizes are in units of 1024: 512M is 512 MiB.
    """
    demand = options.keywords(keywords, becalm.Demand)
    if becalm.Demand.of(**demand).empty:
        raise UsageError("Which load? For example: becalm load --cpu 2 --for 10s")
    load = becalm.make_load(duration=duration, command=command, host=host, sudo=sudo, **demand)
    if as_json:
        head = {"demand": becalm.Demand.of(**demand).to_json()}
        output.print_json("load", {**head, **output.fields(load)}, err=bool(command))
    else:
        echo(f"becalm: {load.sentence}" if command else load.sentence, err=bool(command))
    if load.failure is not None:
        sys.exit(3)
    if load.status is not None:
        sys.exit(load.status if load.status >= 0 else 128 - load.status)
