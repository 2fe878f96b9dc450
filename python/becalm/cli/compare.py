"""`becalm compare`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.errors import UsageError

VALUES = (
    becalm.CompareOptions,
    becalm.ComparedPrograms,
    becalm.Response,
    becalm.Work,
    becalm.SeveralHosts,
    becalm.WithProfile,
    becalm.SessionOptions,
    becalm.CommandLine,
    becalm.Workload,
)


@click.command("compare")
@options.of(*VALUES, without=("host", "name"))
@output.options
@click.argument("commands", nargs=-1)
def command_compare(commands: tuple[str, ...], **given: Any) -> None:
    """Compare programs: each argument is a command line, split as a shell would.

    \b
    becalm compare 'gzip -5 -c FILE' 'gzip -6 -c FILE'
    becalm compare --fail-above 2% './old input' './new input'
    becalm compare --parameter n=1..4 'xz -T{n} -c FILE'
    becalm compare --host ssh://a --host ssh://b './old input' './new input'
    """
    if not commands:
        raise UsageError("Which programs? For example: becalm compare 'gzip -5 -c FILE' 'gzip -6 -c FILE'")
    out, chosen = output.Output.of(given), options.keywords(given, *VALUES)
    with out.listener(live=chosen.get("output") != "inherit") as heard:
        found = becalm.compare(list(commands), listener=heard, **chosen)
    out.end(found, chosen.get("store"))
