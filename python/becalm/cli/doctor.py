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
    help="Time budget for measuring the noise.",
)
@click.option("--no-measure", is_flag=True, help="Inspect only; measure nothing.")
@options.one(becalm.SessionOptions, "host")
@click.option("--sudo", is_flag=True, help="Report what --sudo would make possible.")
@output.options
def command_doctor(budget: str, no_measure: bool, host: str | None, sudo: bool, **keywords: Any) -> None:
    """Report what this machine is and permits, how noisy it is, and what to do about it.

    \b
    becalm doctor
    becalm doctor --json | jq .noise
    """
    out = output.OutputForm.of(keywords)
    with out.listener() as heard:
        diagnosis = becalm.doctor(host or "local", not no_measure, budget, listener=heard, sudo=sudo)
    out.end(diagnosis)
