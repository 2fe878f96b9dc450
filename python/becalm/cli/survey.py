"""`becalm survey`."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from becalm.cli import options
from becalm.errors import UsageError


@click.command("survey")
@options.hosts
@options.cluster
@click.option("--loops", type=int, default=10, show_default=True, help="How often the work is gone through.")
@click.option("--runs", type=int, default=10, show_default=True, help="Runs in a row of each work in a loop.")
@click.option("--no-kernels", is_flag=True, help="Measure the command only, not the built-in kernels.")
@click.option(
    "--rate", type=options.SHARE, default="5%", show_default=True, help="Share of the named that may be wrong."
)
@click.option("--at-least", type=options.SHARE, default="1%", show_default=True, help="Name no smaller slowness.")
@click.option("--title", default="", help="What to call the studies.")
@click.option("--seed", type=int, help="Repeat the same random choices.")
@click.option("--user", help="Run the command as this user (root only).")
@options.sudo
@options.store
@click.option("--no-store", is_flag=True, help="Keep nothing.")
@options.workload
@options.display
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command_survey(
    command: tuple[str, ...], no_kernels: bool, as_json: bool, quiet: bool, plain: bool, **given: Any
) -> None:
    """Measure the same work on many machines, and name those that are slower or noisier than their peers.

    \b
    becalm survey --host ssh://a --host ssh://b --host ssh://c
    becalm survey --cluster slurm:nodes=32,partition=batch -- ./program

    Peers are machines with the same processor; it takes six of a kind to tell an odd one.
    """
    if quiet and as_json:
        raise UsageError("--quiet and --json contradict each other. Leave one out.")
    from becalm.report.progress import listener
    from becalm.verbs.survey import survey

    hosts = list(given.pop("hosts"))
    given = options.arguments({**given, "confidence": "95%", "no_load": False})
    for name in ("host", "hosts", "confidence"):
        given.pop(name, None)
    if no_kernels:
        given["kernels"] = ()
    if command:
        given["command"] = command[0] if len(command) == 1 else list(command)
    if not hosts and "cluster" not in given:
        raise UsageError(
            "Which machines? Name them by --host, several times, or by --cluster (docs/how-to/cluster.md)."
        )
    with listener(quiet=quiet, live=not plain, lines=not as_json, plain=plain) as heard:
        found = survey(hosts, listener=heard, **given)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2, allow_nan=False))
    elif quiet:
        click.echo(found.sentence)
    else:
        from becalm.report import terminal
        from becalm.report.multi_host.surveyed import table

        terminal.console(plain=plain).print(table(found, plain=plain))
    sys.stdout.flush()
    sys.exit(3 if found.lost else 1 if found.named else 0)
