"""`becalm compare`."""

from __future__ import annotations

import sys
from typing import Any

import click

from becalm.cli import options
from becalm.errors import UsageError


@click.command("compare")
@click.option("--reference", default="0", show_default=True, help="The one to compare with: position or name.")
@click.option("--name", "names", multiple=True, help="What to call each program, in order.")
@click.option("--fail-above", type=options.SHARE, help="Exit 1 if one is slower by more than that: 2%.")
@click.option("--baseline", metavar="FILE|ID", help="Compare with stored runs (weaker than measuring both).")
@click.option(
    "--parameter",
    "parameters",
    type=options.Setting(),
    multiple=True,
    metavar="NAME=VALUES",
    help="Compare a program's variants: n=1,2,4 or n=1..8 or n=10..100..30, with {n} in the command.",
)
@options.measuring
@options.workload
@options.display
@click.argument("commands", nargs=-1)
def command_compare(
    commands: tuple[str, ...],
    names: tuple[str, ...],
    parameters: tuple[tuple[str, str], ...],
    as_json: bool,
    quiet: bool,
    plain: bool,
    **given: Any,
) -> None:
    """Compare programs: each argument is a command line, split as a shell would.

    \b
    becalm compare 'gzip -5 -c FILE' 'gzip -6 -c FILE'
    becalm compare --fail-above 2% './old input' './new input'
    becalm compare --parameter n=1..4 'xz -T{n} -c FILE'
    becalm compare --host ssh://a --host ssh://b './old input' './new input'
    """
    if not commands:
        raise UsageError("Which programs? For example: becalm compare 'gzip -5 -c FILE' 'gzip -6 -c FILE'")
    from becalm.cli.show import measure
    from becalm.study.multi_host import compare_on
    from becalm.verbs.compare import compare
    from becalm.workloads.parameters import expand

    given = options.arguments(given)
    shell = bool(given.get("shell"))
    given["commands"] = expand(commands, dict(parameters), shell=shell) if parameters else list(commands)
    if names:
        given["names"] = names
    call = compare_on if "hosts" in given else compare
    sys.exit(measure(call, given, as_json=as_json, quiet=quiet, plain=plain))
