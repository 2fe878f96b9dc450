"""`becalm doctor`."""

from __future__ import annotations

import json

import click

from becalm.cli import options
from becalm.errors import UsageError


@click.command("doctor")
@click.option("--budget", type=options.DURATION, default="5s", show_default=True, help="Measure noise for so long.")
@click.option("--no-measure", is_flag=True, help="Look only, measure nothing.")
@options.host
@click.option("--sudo", is_flag=True, help="Look as root: some facts only root may read.")
@options.as_json
@click.option("--quiet", is_flag=True, help="Print the findings only.")
@options.plain
def command_doctor(
    budget: str, no_measure: bool, host: str, sudo: bool, as_json: bool, quiet: bool, plain: bool
) -> None:
    """What this machine is and allows, how much noise it makes, and what to do about it.

    \b
    becalm doctor
    becalm doctor --json | jq .noise
    """
    if quiet and as_json:
        raise UsageError("--quiet and --json contradict each other. Leave one out.")
    from becalm.report.progress import listener
    from becalm.units import duration_ns
    from becalm.verbs.doctor import doctor

    with listener(quiet=quiet, live=not plain, lines=not as_json, plain=plain) as heard:
        diagnosis = doctor(host, not no_measure, duration_ns(budget) / 1e9, listener=heard, sudo=sudo)
    if as_json:
        click.echo(json.dumps(diagnosis.to_json(), indent=2, allow_nan=False))
        return
    from becalm.report import terminal
    from becalm.report.doctor import render

    if quiet:
        for finding in diagnosis.findings:
            click.echo(f"{finding.severity}: {finding.what}")
        return
    terminal.console(plain=plain).print(render(diagnosis, plain=plain))
