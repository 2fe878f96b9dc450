"""`becalm survey`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.errors import UsageError

VALUES = (becalm.SurveyOptions, becalm.SeveralHosts, becalm.SessionOptions, becalm.CommandLine, becalm.Workload)


@click.command("survey")
@options.of(*VALUES, without=("host", "by"))
@output.options
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command_survey(command: tuple[str, ...], **keywords: Any) -> None:
    """Measure the same work on many machines, and find those that are slower or noisier than their peers.

    \b
    becalm survey --host ssh://a --host ssh://b --host ssh://c
    becalm survey --cluster slurm:nodes=32,partition=batch -- ./program

    Peers are machines with the same processor. An outlier needs at least five peers.
    """
    out, hosts = output.OutputForm.of(keywords), list(keywords.pop("hosts"))
    chosen = options.keywords(keywords, *VALUES)
    if not hosts and "cluster" not in chosen:
        raise UsageError(
            "Which machines? Name them by --host, several times, or by --cluster (docs/how-to/cluster.md)."
        )
    chosen.pop("hosts", None)
    with out.listener() as heard:
        result = becalm.survey(hosts, output.words(command) if command else None, listener=heard, **chosen)
    out.end(result)
