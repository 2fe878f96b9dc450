"""`becalm run`."""

from __future__ import annotations

import sys
from typing import Any

import click

from becalm.cli import options
from becalm.errors import UsageError


@click.command("run", context_settings={"ignore_unknown_options": False})
@options.measuring
@options.workload
@click.option("--name", help="What to call the program.")
@options.display
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command_run(
    command: tuple[str, ...], as_json: bool, quiet: bool, plain: bool, name: str | None, **given: Any
) -> None:
    """Measure one program: mean, median and spread with intervals, drift, modes, outliers.

    \b
    becalm run -- python3 -c pass
    becalm run --precision 0.5% 'gzip -9 -c FILE'

    One word with spaces is split as a shell would; several words, or all after --, are taken as they are.
    """
    if not command:
        raise UsageError("Which program? For example: becalm run -- python3 -c pass")
    from becalm.cli.show import measure
    from becalm.study.multi_host import run_on
    from becalm.verbs.run import run

    given = options.arguments(given)
    if name:
        given["name"] = name
    given["command"] = command[0] if len(command) == 1 else list(command)
    sys.exit(measure(run_on if "hosts" in given else run, given, as_json=as_json, quiet=quiet, plain=plain))
