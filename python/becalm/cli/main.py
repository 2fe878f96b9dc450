"""The command `becalm`: its verbs, loaded when used, and what happens when one fails."""

from __future__ import annotations

import difflib
import errno
import gc
import importlib
import os
import shlex
import sys
import traceback
from typing import Any, NoReturn

import click

from becalm._version import VERSION
from becalm.cli import one_thread
from becalm.cli.echo import echo, write_out
from becalm.cli.habits import meant
from becalm.cli.workflow_commands import guard
from becalm.errors import BecalmError, StoreError
from becalm.verbs import HEADINGS, TABLE
from becalm.wording.printable import without_endless_words

GARBAGE = 100_000
"""Objects more than before at which Python looks for circles among them. At its 700 the modules of a verb, which all
stay, are looked through some hundred times: 4 % of the CPU time of a short `becalm compare`."""

VERBS = {each.name: each for each in TABLE if each.name}
"""The verbs as `becalm.verbs` lists them; the module of each has it as `command_NAME`."""


class Verbs(click.Group):
    """Loads a verb's module only when it is called, so that `becalm --version` costs nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all verbs, in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a verb."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"becalm.cli.{VERBS[cmd_name].module or cmd_name}")
        command: click.Command = getattr(module, f"command_{cmd_name.replace('-', '_')}")
        from becalm.cli.options import refuse_repeats  # The list of verbs is shown without it.

        return refuse_repeats(command)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs, which most people look for, then the options."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs below their headings, without loading them."""
        width = max(map(len, VERBS))
        for heading, names in HEADINGS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:{width}}", VERBS[name].what) for name in names.split()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Resolve a verb as click does; `help`, `version` and programs without a verb are understood, too."""
        if args[:1] == ["help"]:
            args = [*args[1:2], "--help"]
            if args == ["--help"]:
                click.echo(ctx.get_help())
                ctx.exit()
        if args[:1] == ["version"]:
            click.echo(f"becalm {VERSION}")
            ctx.exit()
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            if _is_program(args[0]):
                args = _with_verb(args)
                click.echo(f"$ becalm {shlex.join(args)}", err=True)
            else:
                near = difflib.get_close_matches(args[0], VERBS, n=1)
                hint = f" Did you mean {near[0]!r}?" if near else " `becalm --help` lists the commands."
                raise click.UsageError(f"Unknown command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


def _is_program(word: str) -> bool:
    """Return whether a word can be a program, and no misspelt verb."""
    return "/" in word or any(map(str.isspace, word))


def _with_verb(args: list[str]) -> list[str]:
    """Return the arguments with `compare` before them where they begin with several programs. Raise UsageError."""
    if len(args) > 1 and _is_program(args[1]):
        return ["compare", *args]
    raise click.UsageError(f"{args[0]!r} is a program, and no command of becalm. Measure it: becalm run -- {args[0]}")


def _install_completion(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is None or ctx.resilient_parsing:
        return
    from becalm.cli.completion import install, script

    act = script if parameter.name == "show_completion" else install
    click.echo(act(value, ctx.command))
    ctx.exit()


def _manual(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from becalm.cli import manual

    assert isinstance(ctx.command, click.Group)
    act = manual.page if parameter.name == "show_man" else manual.install
    click.echo(act(ctx.command), nl=parameter.name != "show_man")
    ctx.exit()


@click.group(
    cls=Verbs,
    no_args_is_help=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(VERSION, prog_name="becalm", message="%(prog)s %(version)s")
@click.option(
    "--install-completion",
    is_flag=False,
    flag_value="auto",
    metavar="[bash|zsh|fish]",
    callback=_install_completion,
    expose_value=False,
    help="Teach your shell to complete becalm's words.",
)
@click.option(
    "--show-completion",
    is_flag=False,
    flag_value="auto",
    metavar="[bash|zsh|fish]",
    callback=_install_completion,
    expose_value=False,
    help="Print the completion script.",
)
@click.option(
    "--install-man", is_flag=True, callback=_manual, expose_value=False, help="Write the manual page for man becalm."
)
@click.option("--show-man", is_flag=True, callback=_manual, expose_value=False, help="Print the manual page.")
@click.pass_context
def becalm(ctx: click.Context) -> None:
    """Measure and compare programs on Linux so that the answer can be trusted.

    \b
    becalm run -- python3 -c pass                       # how long one program takes
    becalm compare 'gzip -5 -c FILE' 'gzip -6 -c FILE'  # which of two is faster
    becalm doctor                                       # what this machine permits
    becalm tune -- ./bench                              # which settings help it
    becalm explain                                      # what slowed the last runs

    `becalm VERB --help` has examples for each.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> NoReturn:
    """Run the command and exit. Errors that becalm raises on purpose are sentences; others are defects."""
    gc.set_threshold(GARBAGE)
    one_thread.ask()
    write_out(sys.stdout, sys.stderr)
    guard(os.environ)
    if "_BECALM_COMPLETE" in os.environ:
        importlib.import_module("becalm.cli.completion")
    try:
        code = becalm.main(prog_name="becalm", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        _leave("Interrupted.", 130)
    except click.ClickException as error:
        _leave(error.format_message() + _hint(error), 2)
    except BecalmError as error:
        if os.environ.get("BECALM_TRACE"):
            traceback.print_exc()
        if isinstance(error, StoreError) and error.unsaved:
            echo(error.unsaved, err=True)
        _leave(str(error), error.exit_code)
    except BrokenPipeError:
        # The reader (head, less) has seen enough.
        _close_output()
        sys.exit(0)
    except KeyboardInterrupt:
        _leave("Interrupted.", 130)
    except Exception as error:
        if _interrupted(error):
            _leave("Interrupted.", 130)
        if isinstance(error, OSError) and error.filename is None and error.errno in (errno.ENOSPC, errno.EIO):
            _close_output()
            _leave(
                f"Standard output cannot be written: {error.strerror}. What was measured is in the store: "
                "`becalm show` prints it again.",
                3,
            )
        if isinstance(error, FileNotFoundError) and error.filename is None and not _has_directory():
            _leave("The working directory was deleted, and this needs one. Change to another one.", 2)
        if os.environ.get("BECALM_TRACE"):
            traceback.print_exc()
        _leave(
            f"This is a defect in becalm, not in your command: {type(error).__name__}: {error}. What was measured is "
            "in the store (`becalm list`). BECALM_TRACE=1 shows where it happened; please report that.",
            3,
        )
    sys.exit(code if isinstance(code, int) else 0)


def _has_directory() -> bool:
    """Return whether the working directory is still there."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _interrupted(error: BaseException | None) -> bool:
    """Return whether it is Ctrl-C in the disguise of another error, as from the making of a class
    (object.__set_name__)."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None


def _hint(error: click.ClickException) -> str:
    """Return the next step, where click does not state it."""
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return ""
    if isinstance(error, click.NoSuchOption) and (other := meant(error.option_name, _options(error.ctx))):
        return f"{other}\nSee: {error.ctx.command_path} --help"
    if isinstance(error, click.NoSuchOption) and (where := _program(error.ctx)):
        return f"\nIf {error.option_name} belongs to your program, {where}\nSee: {error.ctx.command_path} --help"
    return f"\nSee: {error.ctx.command_path} --help"


def _options(ctx: click.Context) -> set[str]:
    """Return the options of a command, as they are typed."""
    return {name for param in ctx.command.params for name in (*param.opts, *param.secondary_opts)}


def _program(ctx: click.Context) -> str:
    """Return where the options of a command's program belong; empty for a command without one."""
    taken = {param.name for param in ctx.command.params if isinstance(param, click.Argument) and param.nargs == -1}
    if "commands" in taken:
        return f"quote the program with its options: {ctx.command_path} 'PROGRAM …' 'PROGRAM …'"
    metavars = "".join(param.metavar or "" for param in ctx.command.params if isinstance(param, click.Argument))
    if "command" in taken or "-- PROGRAM" in metavars:
        return f"write -- before the program: {ctx.command_path} … -- PROGRAM …"
    return ""


def _close_output() -> None:
    """Discard standard output, which takes no more: its buffer must not fail again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave(sentence: str, code: int) -> NoReturn:
    echo(f"becalm: {without_endless_words(sentence)}", err=True)
    sys.exit(code)
