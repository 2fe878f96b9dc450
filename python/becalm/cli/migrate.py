"""`becalm migrate PID [CPU]` and `becalm migrate account WORKLOAD`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.errors import UsageError
from becalm.units import duration_ns
from becalm.wording import migrate as wording
from becalm.wording.printable import printable

COMMAND = "becalm.migrate.command"
"""The key in click's meta of the words after `--` of `account`."""


class WithCommand(click.Command):
    """`account -- CMD` is another thing than `account WORKLOAD`, and click forgets where `--` stood."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse words after `--` as the command's, behind `account`."""
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
@click.option("--window", type=options.CheckedText("window", duration_ns), help="Count for so long.  [5ms]")
@click.option(
    "--limit",
    type=options.CheckedText("limit", duration_ns),
    help="With --at-sweetspot, account -- CMD: wait no longer.  [100ms]",
)
@click.option("--events", metavar="NAME", help="With those two: llc, ws_turnover, faults or auto.  [auto]")
@click.option("--by", metavar="NAME", help="With those two: record by perf, or by bpf.  [perf]")
@click.option("--s1", type=options.Number(False, 0, 1), help="Many misses are this share (--rules published).  [0.1]")
@click.option("--s2", type=options.Number(False, 0, 1), help="Many misses of others are this share.  [0.1]")
@click.option("--miss-cost", metavar="TIME", help="t_s, what losing a line costs: 96.8ns.  [by the cache that is left]")
@click.option("--llc", metavar="same|other", help="Only to CPUs of the same, or of another last-level cache.")
@click.option("--keep", is_flag=True, help="It stays there until `becalm reset`.")
@click.option(
    "--for", "duration", type=options.CheckedText("duration", duration_ns), help="It has its CPUs back after so long."
)
@click.option("--moves", type=options.Number(True, 3), help="With account: so many moments are drawn.  [20]")
@click.option(
    "--reuse", type=options.Number(False, 0, 1), help="p of the waiting rule, how likely a line is used again.  [0.8]"
)
@click.option("--seed", type=options.Number(True), help="With account: of moments and places of pages.  [0]")
@click.option("--cache", metavar="SIZE", help="With account: of each simulated last-level cache.  [6M]")
@options.one(becalm.SessionOptions, "sudo")
@output.options
def command_migrate(pid: str, cpu: str, keep: bool, sudo: bool, **given: Any) -> None:
    """Move a running process to another CPU, all threads of it (docs/how-to/migrate.md).

    CPU is a number, a list such as 2-3, or least-loaded. Several processes: 1234,5678.

    \b
    becalm migrate 1234 1
    becalm migrate 1234 --llc other --for 10min
    becalm migrate 1234 least-loaded --keep
    becalm migrate 1234 1 --at-sweetspot --limit 50ms
    becalm migrate 1234,5678 2-3 --for 10min

    At Ctrl-C, or when becalm ends however, the process has its CPUs back; with --keep, at `becalm reset`.

    \b
    becalm migrate account phases:576K,40,12 --cache 768K --window 1ms

    becalm migrate account -- gzip -9 -k -c FILE

    With account and a program in the place of the process: what moving it costs at sweet spots, at random moments and
    not moved; of a simulated program, or of a real one that is run again and again.
    """
    out = output.OutputForm.of(given)
    chosen = {name: value for name, value in given.items() if value is not None and value is not False}
    account = pid == "account"
    command = click.get_current_context().meta.get(COMMAND)
    for name in OF_PROCESS if command else OF_SIMULATED if account else ("moves", "seed", "cache"):
        if name in chosen:
            raise UsageError(wording.not_both(f"--{OPTION.get(name, name)}", account, bool(command)))
    if account:
        if "llc" in chosen:
            chosen["to"] = chosen.pop("llc")
        if command:
            if cpu != "least-loaded":
                raise UsageError(f"{printable(cpu)!r} is a simulated program, or -- CMD a real one: one of both.")
            with out.listener(live=False, quiet=True) as heard:
                accounted = becalm.account_command(command, sudo=sudo, listener=heard, **chosen)
            out.show(accounted)
            return
        out.show(becalm.account_migration(cpu, **chosen))
        return
    if out.markdown or out.report is not None:
        raise UsageError(wording.not_both("--markdown" if out.markdown else "--report", account))
    pids = pid.split(",")
    for each in pids:
        if not (each.isdecimal() and 0 < int(each) < 2**31):
            raise UsageError(wording.no_number(each))
    say = None if out.as_json or out.quiet else output.warned
    moved = becalm.migrate_all([int(pid) for pid in pids], cpu, keep=keep, sudo=sudo, say=say, **chosen)
    if out.as_json:
        many = {"moves": [done.to_json() for done in moved]}
        output.print_json("migrated", moved[0].to_json() if len(moved) == 1 else many)
        return
    for done in moved:
        for remark in ([done.sentence] if keep else []) + list(done.remarks):
            echo(remark)


OF_SIMULATED = ("at_sweetspot", "limit", "events", "by", "duration", "s1", "s2", "miss_cost")
OF_PROCESS = ("at_sweetspot", "duration", "reuse", "cache", "s1", "s2", "miss_cost")
"""Options that do not belong to `account WORKLOAD`, and to `account -- CMD`."""

OPTION = {"at_sweetspot": "at-sweetspot", "duration": "for", "miss_cost": "miss-cost"}
"""Options that are not called like what they are."""
