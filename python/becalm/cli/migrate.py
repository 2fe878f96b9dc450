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
"""The key in click's `meta` for the words after `account --`."""


class WithCommand(click.Command):
    """A command that tells `account -- CMD` from `account WORKLOAD`; click alone forgets where `--` stood."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words after `account --` as a command."""
        end = args.index("--") if "--" in args else len(args)
        if "account" in args[:end]:
            ctx.meta[COMMAND] = args[end + 1 :]
            args = args[:end]
        return super().parse_args(ctx, args)


@click.command("migrate", cls=WithCommand)
@click.argument("pid", metavar="PID")
@click.argument("cpu", default="least-loaded", metavar="[CPU]")
@click.option("--at-sweetspot", is_flag=True, help="Wait for a moment at which moving costs little.")
@click.option(
    "--rules",
    "--rule",
    metavar="NAME",
    help="Rules for sweet spots: rise, published, adaptive or cusum.  [default: rise]",
)
@click.option(
    "--window", type=options.CheckedText("window", duration_ns), help="Length of a counting window.  [default: 5ms]"
)
@click.option(
    "--limit",
    type=options.CheckedText("limit", duration_ns),
    help="Longest wait for a sweet spot.  [default: 100ms]",
)
@click.option("--events", metavar="NAME", help="Events to count: llc, ws_turnover, faults or auto.  [default: auto]")
@click.option("--by", metavar="NAME", help="Record by perf, or by bpf.  [default: perf]")
@click.option(
    "--s1",
    type=options.Number(False, 0, 1),
    help="With --rules published: share of misses that counts as many.  [default: 0.1]",
)
@click.option("--s2", type=options.Number(False, 0, 1), help="The same for misses of other programs.  [default: 0.1]")
@click.option("--miss-cost", metavar="TIME", help="t_s, the cost of losing a cache line: 96.8ns.  [default: by cache]")
@click.option("--llc", metavar="same|other", help="Only to CPUs of the same, or of another, last-level cache.")
@click.option("--keep", is_flag=True, help="Leave the process there until `becalm reset`.")
@click.option(
    "--for",
    "duration",
    type=options.CheckedText("duration", duration_ns),
    help="Give the process its CPUs back after this time.",
)
@click.option("--moves", type=options.Number(True, 3), help="With account: number of random moments.  [default: 20]")
@click.option(
    "--reuse",
    type=options.Number(False, 0, 1),
    help="p of the waiting rule: probability of reusing a line.  [default: 0.8]",
)
@click.option("--seed", type=options.Number(True), help="With account: seed of moments and pages.  [default: 0]")
@click.option("--cache", metavar="SIZE", help="With account: size of a simulated last-level cache.  [default: 6M]")
@options.one(becalm.SessionOptions, "sudo")
@output.options
def command_migrate(pid: str, cpu: str, keep: bool, sudo: bool, **keywords: Any) -> None:
    """Move a running process, with all its threads, to another CPU (docs/how-to/migrate.md).

    PID may name several processes: 1234,5678. CPU is a number, a list such as 2-3, or least-loaded.

    \b
    becalm migrate 1234 1
    becalm migrate 1234 --llc other --for 10min
    becalm migrate 1234 least-loaded --keep
    becalm migrate 1234 1 --at-sweetspot --limit 50ms
    becalm migrate 1234,5678 2-3 --for 10min

    The process gets its CPUs back at Ctrl-C, or when becalm ends in any other way; with --keep, at `becalm reset`.

    `account` instead of a PID measures what moving a program costs at sweet spots and at random moments, compared with
    not moving it. The program is simulated, or is a command that is run repeatedly:

    \b
    becalm migrate account phases:576K,40,12 --cache 768K --window 1ms
    becalm migrate account -- gzip -9 -k -c FILE
    """
    out = output.OutputForm.of(keywords)
    chosen = {name: value for name, value in keywords.items() if value is not None and value is not False}
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
                raise UsageError(f"{printable(cpu)!r} is a simulated program, and -- CMD a real one. Leave one out.")
            with out.listener(live=False, quiet=True) as heard:
                accounted = becalm.account_command(command, sudo=sudo, listener=heard, **chosen)
            out.show(accounted)
            return
        out.show(becalm.account_migration(cpu, **chosen))
        return
    if out.markdown or out.report is not None:
        raise UsageError(wording.not_both("--markdown" if out.markdown else "--report", account))
    pids = pid.split(",")
    for number in pids:
        if not (number.isdecimal() and 0 < int(number) < 2**31):
            raise UsageError(wording.no_number(number))
    say = None if out.as_json or out.quiet else output.warned
    moves = becalm.migrate_all([int(pid) for pid in pids], cpu, keep=keep, sudo=sudo, say=say, **chosen)
    if out.as_json:
        values = [move.to_json() for move in moves]
        output.print_json("migrated", values[0] if len(values) == 1 else {"moves": values})
        return
    for move in moves:
        for remark in ([move.sentence] if keep else []) + list(move.remarks):
            echo(remark)


OF_SIMULATED = ("at_sweetspot", "limit", "events", "by", "duration", "s1", "s2", "miss_cost")
OF_PROCESS = ("at_sweetspot", "duration", "reuse", "cache", "s1", "s2", "miss_cost")
"""Options that do not belong to `account WORKLOAD`, and to `account -- CMD`."""

OPTION = {"at_sweetspot": "at-sweetspot", "duration": "for", "miss_cost": "miss-cost"}
"""Options whose flags differ from their names in the code."""
