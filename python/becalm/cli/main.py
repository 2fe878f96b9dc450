"""The command `becalm`: its verbs, which are loaded when used, and the handling of errors."""

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
"""The number of new objects after which Python collects garbage. With the default of 700 the modules of a verb, none of
which is garbage, are scanned about a hundred times: 4 % of the CPU time of a short `becalm compare`."""

VERBS = {verb.name: verb for verb in TABLE if verb.name}
"""The verbs of `becalm.verbs` by name; the module of a verb defines it as `command_NAME`."""


VERBOSE = "becalm.cli.main.verbose"
"""The name of click's metadata for whether --verbose stands on the command line."""


class Verbs(click.Group):
    """A group that loads the module of a verb only when the verb is used, so that `becalm --version` is fast."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does; --version is served before --verbose is read, and has to know of it."""
        ctx.meta[VERBOSE] = "--verbose" in args
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all verbs, in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a verb."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"becalm.cli.{VERBS[cmd_name].module or cmd_name}")
        command: click.Command = getattr(module, f"command_{cmd_name.replace('-', '_')}")
        from becalm.cli.help_pages import whole_words
        from becalm.cli.options import refuse_repeats  # Not needed for the list of verbs.

        return whole_words(refuse_repeats(command))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs first, which most people look for, then the options."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs below their headings, without loading them."""
        width = max(map(len, VERBS))
        for heading, names in HEADINGS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:{width}}", VERBS[name].what) for name in names.split()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Resolve a verb; accept also `help`, `version` and programs without a verb."""
        if args[:1] == ["help"]:
            args = [*args[1:2], "--help"]
            if args == ["--help"]:
                click.echo(ctx.get_help())
                ctx.exit()
        if args[:1] == ["version"]:
            click.echo(_version_text("--verbose" in args))
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
    """Return whether a word looks like a program and not like a misspelt verb."""
    return "/" in word or any(map(str.isspace, word))


def _with_verb(args: list[str]) -> list[str]:
    """Return arguments that begin with several programs, preceded by `compare`. Raises UsageError for one program."""
    if len(args) > 1 and _is_program(args[1]):
        return ["compare", *args]
    raise click.UsageError(f"{args[0]!r} is a program, not a command of becalm. Measure it: becalm run -- {args[0]}")


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


def _version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    click.echo(_version_text(ctx.meta[VERBOSE]))
    ctx.exit()


def _version_text(verbose: bool) -> str:
    if not verbose:
        return f"becalm {VERSION}"
    import becalm as package

    return package.version_report()


def _verbose(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        raise click.UsageError("--verbose extends --version: becalm --version --verbose", ctx)


@click.group(
    cls=Verbs,
    no_args_is_help=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    callback=_version,
    expose_value=False,
    help="Print the version; with --verbose also commit, Python, programs and extras.",
)
@click.option("--verbose", is_flag=True, callback=_verbose, expose_value=False, help="Extend --version.")
@click.option(
    "--install-completion",
    is_flag=False,
    flag_value="auto",
    metavar="[bash|zsh|fish]",
    callback=_install_completion,
    expose_value=False,
    help="Install completion for your shell.",
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
    "--install-man",
    is_flag=True,
    callback=_manual,
    expose_value=False,
    help="Install the manual page, for `man becalm`.",
)
@click.option("--show-man", is_flag=True, callback=_manual, expose_value=False, help="Print the manual page.")
@click.pass_context
def becalm(ctx: click.Context) -> None:
    """Measure and compare programs on Linux, with answers that you can trust.

    \b
    becalm run -- python3 -c pass                       # how long one program takes
    becalm compare 'gzip -5 -c FILE' 'gzip -6 -c FILE'  # which of two is faster
    becalm doctor                                       # what this machine permits
    becalm tune -- ./bench                              # which settings help it
    becalm explain                                      # what slowed the last runs

    `becalm COMMAND --help` shows examples and options.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> NoReturn:
    """Run the command and exit. A BecalmError is printed as a sentence; any other exception is reported as a defect."""
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
        # The reader of the pipe (head, less) has closed it.
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
    """Return whether another error was caused by Ctrl-C, for example in `__set_name__` while a class is created."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None


def _hint(error: click.ClickException) -> str:
    """Return the advice that follows an error of click, if click's own message has none."""
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return ""
    if isinstance(error, click.NoSuchOption) and (other := meant(error.option_name, _options(error.ctx))):
        return f"{other}\nSee: {error.ctx.command_path} --help"
    if isinstance(error, click.NoSuchOption) and (where := _program(error.ctx)):
        return f"\nIf {error.option_name} belongs to your program, {where}\nSee: {error.ctx.command_path} --help"
    return f"\nSee: {error.ctx.command_path} --help"


def _options(ctx: click.Context) -> set[str]:
    """Return the flags of a command."""
    return {name for param in ctx.command.params for name in (*param.opts, *param.secondary_opts)}


def _program(ctx: click.Context) -> str:
    """Return how to write the options of the measured program; empty for a command without a program."""
    arguments = {param.name for param in ctx.command.params if isinstance(param, click.Argument) and param.nargs == -1}
    if "commands" in arguments:
        return f"quote the program with its options: {ctx.command_path} 'PROGRAM …' 'PROGRAM …'"
    metavars = "".join(param.metavar or "" for param in ctx.command.params if isinstance(param, click.Argument))
    if "command" in arguments or "-- PROGRAM" in metavars:
        return f"write -- before the program: {ctx.command_path} … -- PROGRAM …"
    return ""


def _close_output() -> None:
    """Discard standard output, which is broken: flushing its buffer must not fail again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave(sentence: str, code: int) -> NoReturn:
    echo(f"becalm: {without_endless_words(sentence)}", err=True)
    sys.exit(code)
