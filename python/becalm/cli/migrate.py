"""`becalm migrate PID [CPU]` and `becalm migrate account WORKLOAD`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.errors import UsageError
from becalm.units import duration_ns
from becalm.wording import migrating as wording


@click.command("migrate")
@click.argument("pid", metavar="PID")
@click.argument("cpu", default="least-loaded", metavar="[CPU]")
@click.option("--at-sweetspot", is_flag=True, help="Wait for the moment at which that costs least.")
@click.option("--rules", "--rule", metavar="NAME", help="Of sweet spots: rise, published, adaptive or cusum.  [rise]")
@click.option("--window", type=options.Checked("window", duration_ns), help="Count for so long.  [5ms]")
@click.option(
    "--limit", type=options.Checked("limit", duration_ns), help="With --at-sweetspot: wait no longer.  [100ms]"
)
@click.option("--events", metavar="NAME", help="With --at-sweetspot: llc, ws_turnover, faults or auto.  [auto]")
@click.option("--llc", metavar="same|other", help="Only to CPUs of the same, or of another last-level cache.")
@click.option("--keep", is_flag=True, help="It stays there until `becalm reset`.")
@click.option(
    "--for", "duration", type=options.Checked("duration", duration_ns), help="It has its CPUs back after so long."
)
@click.option("--moves", type=click.IntRange(3), help="With account: so many moments are drawn.  [20]")
@click.option("--reuse", type=click.FloatRange(0, 1), help="With account: p, how likely a line is used again.  [0.8]")
@click.option("--seed", type=int, help="With account: of moments and places of pages.  [0]")
@click.option("--cache", metavar="SIZE", help="With account: of each simulated last-level cache.  [6M]")
@options.one(becalm.SessionOptions, "sudo")
@output.options
def command_migrate(pid: str, cpu: str, keep: bool, sudo: bool, **given: Any) -> None:
    """Move a running process to another CPU, all threads of it (docs/how-to/migrate.md).

    CPU is a number, a list such as 2-3, or least-loaded.

    \b
    becalm migrate 1234 1
    becalm migrate 1234 --llc other --for 10min
    becalm migrate 1234 least-loaded --keep
    becalm migrate 1234 1 --at-sweetspot --limit 50ms

    At Ctrl-C, or when becalm ends however, the process has its CPUs back; with --keep, at `becalm reset`.

    \b
    becalm migrate account phases:1536K,100,12 --cache 2M --reuse 0

    With account and a simulated program in the place of the process: what moving it costs at sweet spots, at random
    moments and not moved.
    """
    out = output.Output.of(given)
    chosen = {name: value for name, value in given.items() if value is not None and value is not False}
    account = pid == "account"
    for name in ("moves", "reuse", "seed", "cache") if not account else ("at_sweetspot", "limit", "events", "duration"):
        if name in chosen:
            raise UsageError(wording.not_both(f"--{OPTION.get(name, name)}", account))
    if account:
        if "llc" in chosen:
            chosen["to"] = chosen.pop("llc")
        out.show(becalm.account_migration(cpu, **chosen))
        return
    if out.markdown or out.report is not None:
        raise UsageError(wording.not_both("--markdown" if out.markdown else "--report", account))
    if not (pid.isdecimal() and 0 < int(pid) < 2**31):
        raise UsageError(wording.no_number(pid))
    done = becalm.migrate(
        int(pid), cpu, keep=keep, sudo=sudo, say=None if out.as_json or out.quiet else output.warned, **chosen
    )
    if out.as_json:
        output.print_json("migrated", done.to_json())
        return
    for each in ([done.sentence] if keep else []) + list(done.remarks):
        echo(each)


OPTION = {"at_sweetspot": "at-sweetspot", "duration": "for"}
"""Options that are not called like what they are."""
