"""`becalm suite`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output

VALUES = (becalm.SuiteParts, becalm.SuiteOptions, becalm.Response, becalm.WithProfile, becalm.SessionOptions)


@click.command("suite", context_settings={"ignore_unknown_options": False})
@options.of(*VALUES)
@options.one(becalm.Workload, "timeout")
@output.options
@click.argument("file")
def command_suite(file: str, **given: Any) -> None:
    """Rate a suite of your own programs against reference times (docs/how-to/suite.md).

    \b
    becalm suite programs.toml
    becalm suite --copies 8 --tuning base --json programs.toml
    becalm suite --metric 'json:p99,unit=us' programs.toml

    Exit code 4 when a run of any program did not end well.
    """
    out = output.OutputForm.of(given)
    with out.listener() as heard:
        found = becalm.suite(file, listener=heard, **options.keywords(given, *VALUES))
    out.end(found)
