"""`becalm load`."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any

import click

from becalm.cli import options
from becalm.errors import UsageError
from becalm.units import size_bytes

SIZE = options.Checked("size", size_bytes)


class Cpus(click.ParamType[Any]):
    """Processors such as 0,2-3."""

    name = "list"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A tuple of numbers."""
        if isinstance(value, tuple):
            return value
        try:
            ranges = [[int(end) for end in part.split("-", 1)] for part in str(value).split(",")]
            cpus = tuple(sorted({cpu for ends in ranges for cpu in range(ends[0], ends[-1] + 1)}))
        except ValueError:
            cpus = ()
        if not cpus or cpus[0] < 0 or cpus[-1] > 1023:
            self.fail(f"{value!r} is no list of processors. Write it like 0,2-3.", param, ctx)
        return cpus


@click.command("load", context_settings={"ignore_unknown_options": False})
@click.option("--cpu", type=float, default=0.0, metavar="N", help="Keep N processors busy; 2.5 is two and a half.")
@click.option("--nice", type=int, help="Nice value of the load [default: yours].")
@click.option("--cpus", type=Cpus(), help="Bind the load to these processors: 0,2-3.")
@click.option("--memory", type=SIZE, help="Write to so much memory again and again; needs --limit.")
@click.option("--limit", type=SIZE, help="Memory that this may have; what is above is swapped out.")
@click.option("--disk", metavar="DIR", help="Write to the disk of this directory.")
@click.option("--rate", type=SIZE, help="Bytes per second to the disk [default: as fast as it goes].")
@click.option("--network", type=SIZE, help="Bytes per second over the loopback network.")
@click.option("--syscalls", type=click.IntRange(0), default=0, metavar="N", help="N processes that call the kernel.")
@click.option(
    "--session",
    type=click.Choice(["same", "new"]),
    default="same",
    show_default=True,
    help="The terminal's session, or one of its own (matters with autogroup).",
)
@click.option(
    "--for", "duration", type=options.DURATION, help="How long [default: until Ctrl-C, or the command's end]."
)
@options.as_json
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command_load(command: tuple[str, ...], duration: str | None, as_json: bool, **given: Any) -> None:
    """Make known load, for a time or while a command runs (docs/how-to/load.md).

    \b
    becalm load --cpu 3 --for 10s
    becalm load --memory 512M --limit 256M --for 30s
    becalm load --disk . --rate 50M --network 100M -- ./program

    Exit code: the command's. Sizes are of 1024: 512M.
    """
    from becalm.load.demand import Demand
    from becalm.verbs.load import load

    demand = Demand.of(**given)
    if demand.empty:
        raise UsageError("How much of what? For example: becalm load --cpu 2 --for 10s")
    made = load(demand, duration=duration, command=command)
    if as_json:
        from becalm._version import VERSION
        from becalm.nouns.verdict import SCHEMA

        head = {"becalm": VERSION, "schema": SCHEMA, "kind": "load", "demand": demand.to_json()}
        click.echo(json.dumps({**head, **dataclasses.asdict(made)}, indent=2), err=bool(command))
    else:
        click.echo(f"becalm: {made.sentence}" if command else made.sentence, err=bool(command))
    if made.failure is not None:
        sys.exit(3)
    if made.status is not None:
        sys.exit(made.status if made.status >= 0 else 128 - made.status)
