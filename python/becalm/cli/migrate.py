"""`becalm migrate PID [CPU]`."""

from __future__ import annotations

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.units import duration_ns


@click.command("migrate")
@click.argument("pid", type=click.IntRange(min=1), metavar="PID")
@click.argument("cpu", default="least-loaded", metavar="[CPU]")
@click.option("--llc", metavar="same|other", help="Only to CPUs of the same, or of another last-level cache.")
@click.option("--keep", is_flag=True, help="It stays there until `becalm reset`.")
@click.option(
    "--for", "duration", type=options.Checked("duration", duration_ns), help="It has its CPUs back after so long."
)
@options.one(becalm.SessionOptions, "sudo")
@output.as_json
def command_migrate(
    pid: int, cpu: str, llc: str | None, keep: bool, duration: str | None, sudo: bool, as_json: bool
) -> None:
    """Move a running process to another CPU, all threads of it (docs/how-to/migrate.md).

    CPU is a number, a list such as 2-3, or least-loaded.

    \b
    becalm migrate 1234 1
    becalm migrate 1234 --llc other --for 10min
    becalm migrate 1234 least-loaded --keep

    At Ctrl-C, or when becalm ends however, the process has its CPUs back; with --keep, at `becalm reset`.
    """
    done = becalm.migrate(
        pid, cpu, llc=llc, keep=keep, duration=duration, sudo=sudo, say=None if as_json else output.warned
    )
    if as_json:
        output.print_json("migrated", done.to_json())
        return
    for each in ([done.sentence] if keep else []) + list(done.remarks):
        echo(each)
