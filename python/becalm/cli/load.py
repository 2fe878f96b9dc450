"""`becalm load`."""

from __future__ import annotations

import dataclasses
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
    help="How long  [default: until Ctrl-C, or the command's end].",
)
@click.option("--host", default="local", show_default=True, help=becalm.options(becalm.SessionOptions)["host"].help)
@options.one(becalm.SessionOptions, "sudo")
@output.as_json
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command_load(
    command: tuple[str, ...], duration: str | None, host: str, sudo: bool, as_json: bool, **given: Any
) -> None:
    """Make known load, for a time or while a command runs (docs/how-to/load.md).

    \b
    becalm load --cpu 3 --for 10s
    becalm load --memory 512M --limit 256M --for 30s
    becalm load --disk . --rate 50M --network 100M -- ./program
    becalm load --host ssh://bench --cpu 2 --for 1min

    Exit code: the command's. Sizes are of 1024: 512M.
    """
    demand = options.keywords(given, becalm.Demand)
    if becalm.Demand.of(**demand).empty:
        raise UsageError("Which load? For example: becalm load --cpu 2 --for 10s")
    made = becalm.make_load(duration=duration, command=command, host=host, sudo=sudo, **demand)
    if as_json:
        asked = {"demand": becalm.Demand.of(**demand).to_json()}
        output.print_json("load", {**asked, **dataclasses.asdict(made)}, err=bool(command))
    else:
        echo(f"becalm: {made.sentence}" if command else made.sentence, err=bool(command))
    if made.failure is not None:
        sys.exit(3)
    if made.status is not None:
        sys.exit(made.status if made.status >= 0 else 128 - made.status)
