"""`becalm corun`: programs that run at the same time."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.errors import UsageError

VALUES = (becalm.CoRunOptions, becalm.SessionOptions, becalm.CommandLine, becalm.Workload)


@click.command("corun")
@options.of(*VALUES, without=("alongside", "alongside_cpus", "name", "by"))
@click.option("--save", metavar="FILE", help="Also write the profile as JSON.")
@output.options
@output.time_unit
@click.argument("programs", nargs=-1)
def command_corun(programs: tuple[str, ...], save: str | None, **keywords: Any) -> None:
    """Measure how much co-running programs slow each other. Each argument is a command line, split as a shell would.

    \b
    becalm corun './server --test' 'xz -k -c FILE' kernel:triad
    becalm corun --budget 10min --save profile.json suite:programs.toml
    becalm corun ./prog ./prog

    `becalm place` recommends from the result which programs should share a chip.
    """
    if not programs:
        raise UsageError("Which programs? For example: becalm corun './server --test' 'xz -k -c FILE' kernel:triad")
    out, chosen = output.OutputForm.of(keywords), options.keywords(keywords, *VALUES)
    with out.listener(live=chosen.get("output") != "inherit") as heard:
        profile = becalm.corun(list(programs), save=save, listener=heard, **chosen)
    out.end(profile, chosen.get("store"))
