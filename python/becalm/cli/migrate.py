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
from becalm.wording.printable import printable

COMMAND = "becalm.migrate.command"
"""In click's meta: the words after `--` of `account`."""


class WithCommand(click.Command):
    """`account -- CMD` is another thing than `account WORKLOAD`, and click forgets where `--` stood."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Words after `--` are the command's, behind `account`."""
        at = args.index("--") if "--" in args else len(args)
        if "account" in args[:at]:
            ctx.meta[COMMAND] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)


@click.command("migrate", cls=WithCommand)
@click.argument("pid", metavar="PID")
@click.argument("cpu", default="least-loaded", metavar="[CPU]")
@click.option("--at-sweetspot", is_flag=True, help="Wait for the moment at which that costs least.")
@click.option("--rules", "--rule", metavar="NAME", help="Of sweet spots: rise, published, adaptive or cusum.  [rise]")
@click.option("--window", type=options.Checked("window", duration_ns), help="Count for so long.  [5ms]")
@click.option(
    "--limit",
    type=options.Checked("limit", duration_ns),
    help="With --at-sweetspot, account -- CMD: wait no longer.  [100ms]",
)
@click.option("--events", metavar="NAME", help="With those two: llc, ws_turnover, faults or auto.  [auto]")
@click.option("--by", metavar="NAME", help="With those two: record by perf, or by bpf.  [perf]")
@click.option("--llc", metavar="same|other", help="Only to CPUs of the same, or of another last-level cache.")
@click.option("--keep", is_flag=True, help="It stays there until `becalm reset`.")
@click.option(
    "--for", "duration", type=options.Checked("duration", duration_ns), help="It has its CPUs back after so long."
)
@click.option("--moves", type=options.Number(True, 3), help="With account: so many moments are drawn.  [20]")
@click.option(
    "--reuse", type=options.Number(False, 0, 1), help="With account: p, how likely a line is used again.  [0.8]"
)
@click.option("--seed", type=options.Number(True), help="With account: of moments and places of pages.  [0]")
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

    becalm migrate account -- gzip -9 -k -c FILE

    With account and a program in the place of the process: what moving it costs at sweet spots, at random moments and
    not moved; of a simulated program, or of a real one that is run again and again.
    """
    out = output.Output.of(given)
    chosen = {name: value for name, value in given.items() if value is not None and value is not False}
    account = pid == "account"
    command = click.get_current_context().meta.get(COMMAND)
    for name in OF_PROCESS if command else OF_SIMULATED if account else ("moves", "reuse", "seed", "cache"):
        if name in chosen:
            raise UsageError(wording.not_both(f"--{OPTION.get(name, name)}", account, bool(command)))
    if account:
        if "llc" in chosen:
            chosen["to"] = chosen.pop("llc")
        if command:
            if cpu != "least-loaded":
                raise UsageError(f"{printable(cpu)!r} is a simulated program, or -- CMD a real one: one of both.")
            with out.listener(live=False, quiet=True) as heard:
                found = becalm.account_command(command, sudo=sudo, listener=heard, **chosen)
            out.show(found)
            return
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


OF_SIMULATED = ("at_sweetspot", "limit", "events", "by", "duration")
OF_PROCESS = ("at_sweetspot", "duration", "reuse", "cache")
"""Options that do not belong to `account WORKLOAD`, and to `account -- CMD`."""

OPTION = {"at_sweetspot": "at-sweetspot", "duration": "for"}
"""Options that are not called like what they are."""
