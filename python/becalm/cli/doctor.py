"""`becalm doctor`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.units import duration_ns


@click.command("doctor")
@click.option(
    "--budget",
    type=options.CheckedText("duration", duration_ns),
    default="5s",
    show_default=True,
    help="How long to measure the noise.",
)
@click.option("--no-measure", is_flag=True, help="Look only, measure nothing.")
@options.one(becalm.SessionOptions, "host")
@click.option("--sudo", is_flag=True, help="Say what would be possible with --sudo.")
@output.options
def command_doctor(budget: str, no_measure: bool, host: str | None, sudo: bool, **given: Any) -> None:
    """Show what this machine is and allows, how much noise it makes, and what to do about it.

    \b
    becalm doctor
    becalm doctor --json | jq .noise
    """
    out = output.OutputForm.of(given)
    with out.listener() as heard:
        diagnosis = becalm.doctor(host or "local", not no_measure, budget, listener=heard, sudo=sudo)
    out.end(diagnosis)
