"""`becalm knobs`, `apply`, `reset`, `status`, `install-service`."""

from __future__ import annotations

import sys
from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.cli.echo import echo
from becalm.errors import UsageError

HOST = click.option(
    "--host", default="local", show_default=True, help=becalm.options(becalm.SessionOptions)["host"].help
)


def _print(renderable: Any, plain: bool) -> None:
    from becalm.report.terminal import console

    console(plain=plain).print(renderable)


@click.command("knobs")
@click.argument("name", required=False)
@HOST
@options.one(becalm.SessionOptions, "sudo")
@options.one(becalm.SessionOptions, "root")
@output.as_json
@output.plain
def command_knobs(name: str | None, host: str, sudo: bool, root: str | None, as_json: bool, plain: bool) -> None:
    """List the settings that becalm knows, with their present values, or explain one.

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


class CommandWithProgram(click.Command):
    """A command whose words after `--` are a program with its arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments before `--`, and keep the program in `ctx.obj`."""
        ctx.obj = ()
        if "--" in args:
            index = args.index("--")
            ctx.obj, args = tuple(args[index + 1 :]), args[:index]
            if not ctx.obj:
                raise click.UsageError("There is no program after --.", ctx)
        return super().parse_args(ctx, args)


@click.command("apply", cls=CommandWithProgram, options_metavar="[OPTIONS]")
@click.argument("profiles", nargs=-1, metavar="[PROFILE]... [-- PROGRAM ...]")
@click.option(
    "--set",
    "settings",
    type=options.Setting(),
    multiple=True,
    help="Setting to apply, with or without a profile.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be written; write nothing.")
@click.option("--strict", is_flag=True, help="Fail if this machine lacks one of the settings.")
@click.option("--boot", is_flag=True, help="Apply boot settings, for the next start.")
@options.one(becalm.SessionOptions, "allow_reboot")
@click.option("--keep", is_flag=True, help="With --boot: apply at every start, until `becalm reset`.")
@click.option("--as", "owner", metavar="NAME", default="", help="Apply under a name, for `becalm reset --as NAME`.")
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
    """Apply settings, while a program runs or until `becalm reset`.

    PROFILE is llvm-tips, pyperf, one of your own, a file, or the number of a study of `becalm tune`. Several may be
    applied together.

    \b
    becalm apply --dry-run llvm-tips
    becalm apply --sudo pyperf -- ./bench
    becalm apply --sudo --set swappiness=1 --set stat_interval=20

    Without a program, the settings stay until `becalm reset`. With one, the exit code is that of the program.

    \b
    becalm apply --boot 12
    becalm apply --boot --host bench --sudo --allow-reboot 12

    With --boot, boot settings are applied instead, for the next start. If that start goes well and you confirm it,
    they are applied at every start until `becalm reset`.
    """
    from becalm.report import settings as report
    from becalm.report.program_output import WarningListener

    if not profiles and not settings:
        raise UsageError("Which settings? Name a profile (becalm apply llvm-tips) or give --set NAME=VALUE.")
    try:
        chosen = becalm.profile(*profiles, settings=options.once(settings))
    except UsageError as error:
        unsure = len(profiles) > 1 and not command
        hint = " A program stands after --: becalm apply PROFILE -- PROGRAM"
        raise UsageError(f"{error}{hint if unsure else ''}") from None

    def apply(keep: bool) -> becalm.ApplyResult:
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
            listener=WarningListener(),
        )

    done = apply(keep)
    if done.boot is not None and done.boot.state == "on" and not as_json and sys.stdin.isatty() and sys.stdout.isatty():
        _print(report.applied(done, host, root=root, sudo=sudo), plain)
        if not click.confirm(f"This start went well. Have {' '.join(done.boot.parameters)} at every start?"):
            return
        done = apply(True)
    if as_json:
        output.print_result(done)
    elif done.exit_code is None:
        _print(report.applied(done, host, root=root, sudo=sudo), plain)
    else:
        for setting in done.skipped:
            echo(f"becalm: left out {setting.knob}: {setting.reason}", err=True)
        for remark in done.remarks:
            output.warned(remark)
    nothing = command == () and bool(done.skipped) and not done.changes
    sys.exit(done.exit_code or (3 if nothing else 0))


@click.command("reset")
@click.option(
    "--force",
    is_flag=True,
    help="Also overwrite changes by others, and end a becalm that holds the machine.",
)
@click.option("--mine", is_flag=True, help="Do not restore settings that somebody else has applied.")
@click.option("--as", "owner", metavar="NAME", default="", help="Restore only what you have applied under this name.")
@HOST
@options.one(becalm.SessionOptions, "sudo")
@options.one(becalm.SessionOptions, "root")
@output.as_json
@output.plain
def command_reset(
    force: bool, mine: bool, owner: str, host: str, sudo: bool, root: str | None, as_json: bool, plain: bool
) -> None:
    """Restore every setting that becalm has changed, and report who had applied it.

    This ends an applied profile, and restores what a killed becalm could not. Exit code: 3 if something could not be
    restored, which is named.
    """
    from becalm.report import settings as report

    done = becalm.reset(host, sudo=sudo, root=root, force=force, mine=mine, owner=owner)
    if as_json:
        output.print_result(done)
    else:
        _print(report.reset(done, host, root=root, sudo=sudo), plain)
    sys.exit(3 if done.unsettled else 0)


@click.command("status")
@HOST
@options.one(becalm.SessionOptions, "root")
@output.as_json
@output.plain
def command_status(host: str, root: str | None, as_json: bool, plain: bool) -> None:
    """Report which settings becalm has applied, who applied them and when."""
    from becalm.report import settings as report

    status = becalm.status(host, root=root)
    if as_json:
        output.print_result(status)
    else:
        _print(report.status(status, host, root=root), plain)


@click.command("install-service")
@click.option("--remove", is_flag=True, help="Remove the service.")
def command_install_service(remove: bool) -> None:
    """Have systemd restore, at every start, settings that a killed becalm or a power cut left changed.

    Needs root. Copies the agent to a directory that only root can write to.
    """
    for sentence in becalm.remove_service() if remove else becalm.install_service():
        echo(sentence)
