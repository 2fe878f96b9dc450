"""`becalm suite`."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from becalm.cli import options
from becalm.errors import UsageError


@click.command("suite", context_settings={"ignore_unknown_options": False})
@click.option("--tuning", type=click.Choice(["base", "peak"]), help="Only one of them [default: both the file has].")
@click.option("--copies", type=click.IntRange(1, 4096), help="For the rate [default: the file's, else the processors].")
@click.option("--no-rate", is_flag=True, help="Ratios only: no copies.")
@click.option("--runs", type=click.IntRange(1), default=3, show_default=True, help="Rounds; the median counts.")
@click.option("--seed", type=int, help="Repeat the same random order.")
@click.option("--set", "settings", type=options.Setting(), multiple=True, help="Over the file's: nice=-5, aslr=off …")
@click.option("--title", default="", help="What to call the study.")
@options.host
@click.option("--user", help="Run the programs as this user (root only).")
@options.sudo
@options.dangerous
@options.store
@click.option("--no-store", is_flag=True, help="Keep nothing.")
@click.option("--timeout", type=options.DURATION, help="Kill a run that takes longer.")
@click.option("--markdown", is_flag=True, help="Print Markdown.")
@options.display
@click.argument("file")
def command_suite(
    file: str, no_rate: bool, markdown: bool, as_json: bool, quiet: bool, plain: bool, **given: Any
) -> None:
    """Rate a suite of your own programs against reference times (docs/how-to/suite.md).

    \b
    becalm suite programs.toml
    becalm suite --copies 8 --tuning base --json programs.toml

    Exit code 4 when a run of any program did not end well.
    """
    if sum((markdown, as_json, quiet)) > 1:
        raise UsageError("--json, --markdown and --quiet contradict each other. Choose one.")
    if no_rate and given["copies"] is not None:
        raise UsageError("--copies is for the rate, which --no-rate leaves out. Leave one out.")
    if given.pop("no_store"):
        if given["store"]:
            raise UsageError("--store and --no-store contradict each other. Leave one out.")
        given["store"] = False
    from becalm.report import suite as report
    from becalm.report.progress import listener
    from becalm.verbs.suite import suite

    given = {key: value for key, value in given.items() if value is not None}
    given["settings"] = dict(given["settings"])
    with listener(quiet=quiet, live=not plain, lines=not (as_json or markdown), plain=plain) as heard:
        found = suite(file, rates=not no_rate, listener=heard, **given)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2, allow_nan=False))
    elif markdown:
        click.echo(report.markdown(found), nl=False)
    elif quiet:
        click.echo(found.sentence)
    else:
        from becalm.report import terminal

        terminal.console(plain=plain).print(report.terminal(found, plain=plain))
    sys.exit(4 if found.failed else 0)
