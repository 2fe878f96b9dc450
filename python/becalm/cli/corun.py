"""`becalm corun`: programs beside each other."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.errors import UsageError

VALUES = (becalm.CoRunOptions, becalm.SessionOptions, becalm.CommandLine, becalm.Workload)


@click.command("corun")
@options.of(*VALUES, without=("beside", "beside_cpus", "name"))
@click.option("--save", metavar="FILE", help="Write the profile there, too, as JSON.")
@output.options
@output.time_unit
@click.argument("programs", nargs=-1)
def command_corun(programs: tuple[str, ...], save: str | None, **keywords: Any) -> None:
    """Measure what programs lose beside each other: each argument is a command line, split as a shell would.

    \b
    becalm corun './server --test' 'xz -k -c FILE' kernel:triad
    becalm corun --budget 10min --save profile.json suite:programs.toml
    becalm corun ./prog ./prog

    `becalm place` says by it which programs belong together.
    """
    if not programs:
        raise UsageError("Which programs? For example: becalm corun './server --test' 'xz -k -c FILE' kernel:triad")
    out, chosen = output.OutputForm.of(keywords), options.keywords(keywords, *VALUES)
    with out.listener(live=chosen.get("output") != "inherit") as heard:
        profile = becalm.corun(list(programs), save=save, listener=heard, **chosen)
    out.end(profile, chosen.get("store"))
