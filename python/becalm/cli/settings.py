"""`becalm knobs`, `apply`, `reset`, `status`, `install-service`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.errors import UsageError

HOST = click.option(
    "--host", default="local", show_default=True, help=becalm.options(becalm.SessionOptions)["host"].help
)


def _print(found: Any, plain: bool) -> None:
    from becalm.report.terminal import console

    console(plain=plain).print(found)


@click.command("knobs")
@click.argument("name", required=False)
@HOST
@options.one(becalm.SessionOptions, "sudo")
@options.one(becalm.SessionOptions, "root")
@output.as_json
@output.plain
def command_knobs(name: str | None, host: str, sudo: bool, root: str | None, as_json: bool, plain: bool) -> None:
    """List the settings that becalm knows, with their present values; or explain one.

    \b
    becalm knobs
    becalm knobs governor
    """
    from becalm.report import settings as report

    rows = becalm.knobs(host, name=name, sudo=sudo, root=root)
    if as_json:
        output.print_json("knobs", {"knobs": [row.to_json() for row in rows]})
        return
    _print(report.catalogue(rows) if name is None else report.knob(rows[0]), plain)


class Apart(click.Command):
    """A command whose words after `--` are a program with its arguments, and those before becalm's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, with the program in `ctx.obj`."""
        ctx.obj = ()
        if "--" in args:
            place = args.index("--")
            ctx.obj, args = tuple(args[place + 1 :]), args[:place]
            if not ctx.obj:
                raise click.UsageError("No program stands after --.", ctx)
        return super().parse_args(ctx, args)


@click.command("apply", cls=Apart, options_metavar="[OPTIONS]")
@click.argument("profiles", nargs=-1, metavar="[PROFILE]... [-- PROGRAM ...]")
@click.option(
    "--set",
    "settings",
    type=options.Setting(),
    multiple=True,
    help="One setting, with or without a profile.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be written; write nothing.")
@click.option("--strict", is_flag=True, help="Refuse if this machine lacks one of the settings.")
@click.option("--boot", is_flag=True, help="Put on what is set at boot, for the next start.")
@options.one(becalm.SessionOptions, "allow_reboot")
@click.option("--keep", is_flag=True, help="With --boot: have every start be as this one, until reset.")
@click.option("--as", "owner", metavar="NAME", default="", help="Put them on under a name: becalm reset --as NAME.")
@options.one(becalm.SessionOptions, "dangerous")
@HOST
@options.one(becalm.SessionOptions, "sudo")
@options.one(becalm.SessionOptions, "root")
@output.as_json
@output.plain
@click.pass_obj
def command_apply(
    command: tuple[str, ...],
    profiles: tuple[str, ...],
    settings: tuple[tuple[str, str], ...],
    dry_run: bool,
    strict: bool,
    boot: bool,
    allow_reboot: bool,
    keep: bool,
    owner: str,
    dangerous: bool,
    host: str,
    sudo: bool,
    root: str | None,
    as_json: bool,
    plain: bool,
) -> None:
    """Put settings on: for the time of a command, or until `becalm reset`.

    PROFILE is llvm-tips, pyperf, one of your own, a file, or the number of a study: what `becalm tune` found. Several
    may be put on together.

    \b
    becalm apply --dry-run llvm-tips
    becalm apply --sudo pyperf -- ./bench
    becalm apply --sudo --set swappiness=1 --set stat_interval=20

    Without --, the settings stay until `becalm reset`. With it, the exit code is that of the program.

    \b
    becalm apply --boot 12
    becalm apply --boot --host bench --sudo --allow-reboot 12

    With --boot, what is set at boot is put on instead: for the next start, and, when that went well and you say so,
    for every one until `becalm reset`.
    """
    from becalm.report import settings as report
    from becalm.report.program_output import Telling

    if not profiles and not settings:
        raise UsageError("Which settings? Name a profile (becalm apply llvm-tips) or give --set NAME=VALUE.")
    try:
        chosen = becalm.profile(*profiles, settings=options.once(settings))
    except UsageError as error:
        unsure = len(profiles) > 1 and not command
        hint = " A program stands after --: becalm apply PROFILE -- PROGRAM"
        raise UsageError(f"{error}{hint if unsure else ''}") from None

    def put_on(keep: bool) -> becalm.ApplyResult:
        return becalm.apply(
            chosen,
            list(command) or None,
            host=host,
            sudo=sudo,
            root=root,
            owner=owner,
            dangerous=dangerous,
            strict=strict,
            dry_run=dry_run,
            boot=boot,
            allow_reboot=allow_reboot,
            keep=keep,
            listener=Telling(),
        )

    done = put_on(keep)
    if done.boot is not None and done.boot.state == "on" and not as_json and sys.stdin.isatty() and sys.stdout.isatty():
        _print(report.applied(done, host), plain)
        if not click.confirm(f"This start went well. Have {' '.join(done.boot.parameters)} at every start?"):
            return
        done = put_on(True)
    if as_json:
        output.print_json("apply", asdict(done))
    elif done.exit_code is None:
        _print(report.applied(done, host), plain)
    else:
        for each in done.skipped:
            echo(f"becalm: left out {each.knob}: {each.reason}", err=True)
        for remark in done.remarks:
            output.warned(remark)
    nothing = command == () and bool(done.skipped) and not done.changes
    sys.exit(done.exit_code or (3 if nothing else 0))


@click.command("reset")
@click.option(
    "--force",
    is_flag=True,
    help="Also overwrite what somebody else has changed, and end a becalm that holds the machine.",
)
@click.option("--mine", is_flag=True, help="Refuse to take off what somebody else has put on.")
@click.option("--as", "owner", metavar="NAME", default="", help="Take off only what you put on under this name.")
@HOST
@options.one(becalm.SessionOptions, "sudo")
@options.one(becalm.SessionOptions, "root")
@output.as_json
@output.plain
def command_reset(
    force: bool, mine: bool, owner: str, host: str, sudo: bool, root: str | None, as_json: bool, plain: bool
) -> None:
    """Put everything back that becalm has left set, whoever it was, and say who.

    A profile, or what a killed becalm could not put back. Exits with 3 when something is not as it was before, and
    says what.
    """
    from becalm.report import settings as report

    done = becalm.reset(host, sudo=sudo, root=root, force=force, mine=mine, owner=owner)
    if as_json:
        output.print_json("reset", asdict(done))
    else:
        _print(report.reset(done, host), plain)
    sys.exit(3 if done.unsettled else 0)


@click.command("status")
@HOST
@options.one(becalm.SessionOptions, "root")
@output.as_json
@output.plain
def command_status(host: str, root: str | None, as_json: bool, plain: bool) -> None:
    """Show what becalm has set on this machine, by whom and when."""
    from becalm.report import settings as report

    found = becalm.status(host, root=root)
    if as_json:
        output.print_json("status", asdict(found))
    else:
        _print(report.status(found, host), plain)


@click.command("install-service")
@click.option("--remove", is_flag=True, help="Remove it.")
def command_install_service(remove: bool) -> None:
    """Have systemd put back, at every start, what a killed becalm or a power cut left.

    Needs root. Copies the agent to a directory that only root can write to.
    """
    for sentence in becalm.remove_service() if remove else becalm.install_service():
        echo(sentence)
