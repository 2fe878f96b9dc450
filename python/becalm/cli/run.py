"""`becalm run`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.errors import UsageError

VALUES = (
    becalm.RunOptions,
    becalm.Response,
    becalm.Work,
    becalm.SeveralHosts,
    becalm.WithProfile,
    becalm.SessionOptions,
    becalm.CommandLine,
    becalm.Workload,
)


@click.command("run", context_settings={"ignore_unknown_options": False})
@options.of(*VALUES, without=("host",))
@output.options
@output.time_unit
@click.argument("command", nargs=-1)
def command_run(command: tuple[str, ...], **keywords: Any) -> None:
    """Measure one program: mean, median and spread with intervals, drift, modes, outliers.

    \b
    becalm run -- python3 -c pass
    becalm run --precision 0.5% 'gzip -9 -c FILE'
    becalm run --metric 'Time: ([0-9.]+),unit=s' -- ./bench
    becalm run --metric energy:package -- ./program

    A single word is split as a shell would; several words, or all after --, are used as they are.
    """
    if not command:
        raise UsageError("Which program? For example: becalm run -- python3 -c pass")
    out, chosen = output.OutputForm.of(keywords), options.keywords(keywords, *VALUES)
    # A program that writes to the terminal and a display that redraws its last lines would garble each other.
    with out.listener(live=chosen.get("output") != "inherit") as heard:
        verdict = becalm.run(output.words(command), listener=heard, **chosen)
    out.end(verdict, chosen.get("store"))
