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
def command_suite(file: str, **keywords: Any) -> None:
    """Rate a suite of your own programs against reference times (docs/how-to/suite.md).

    \b
    becalm suite programs.toml
    becalm suite --copies 8 --tuning base --json programs.toml
    becalm suite --metric 'json:p99,unit=us' programs.toml

    Exit code: 4 if any run failed.
    """
    out = output.OutputForm.of(keywords)
    with out.listener() as heard:
        ratings = becalm.suite(file, listener=heard, **options.keywords(keywords, *VALUES))
    out.end(ratings)
