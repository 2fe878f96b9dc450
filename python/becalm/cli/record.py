"""`becalm record`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.errors import UsageError

VALUES = (
    becalm.RecordOptions,
    becalm.SittingOptions,
    becalm.WithProfile,
    becalm.SessionOptions,
    becalm.CommandLine,
    becalm.Workload,
)


@click.command("record")
@options.of(*VALUES, without=("name",))
@output.options
@click.argument("programs", nargs=-1)
def command_record(programs: tuple[str, ...], **given: Any) -> None:
    """Measure benchmarks at a commit and keep them in the project's history (docs/how-to/history.md).

    Each argument is a command line, or names programs: suite:benchmarks.toml, pyperf:bench.py.

    \b
    becalm record suite:benchmarks.toml
    becalm record --tag nightly --reference 'sha256sum FILE' './parse input' './render input'
    becalm record --project parser --commit v1.2 './parse input'
    """
    if not programs:
        raise UsageError("Which benchmarks? For example: becalm record './parse input', or suite:benchmarks.toml")
    out, chosen = output.Output.of(given), options.keywords(given, *VALUES)
    with out.listener(live=chosen.get("output") != "inherit") as heard:
        found = becalm.record(list(programs), listener=heard, **chosen)
    out.end(found, chosen.get("store"))
