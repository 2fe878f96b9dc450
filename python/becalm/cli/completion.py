"""Shell completion: the script that click makes, where each shell looks for it, and the candidates for each word."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    get_completion_class,
)

import becalm
from becalm.cli import candidates
from becalm.errors import UsageError

if TYPE_CHECKING:
    _AnyType = click.ParamType[Any]
else:
    # In Debian 13's click 8.1 it is not generic.
    _AnyType = click.ParamType


class Offered(_AnyType):
    """A parameter type whose candidates come from a function of `becalm.cli.candidates`."""

    def __init__(self, param_type: _AnyType, offer: Callable[[str], list[CompletionItem]]) -> None:
        self.name = param_type.name
        self._type = param_type
        self._offer = offer

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert a value as the wrapped type does."""
        return self._type.convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the candidates."""
        with ctx.scope(cleanup=False):
            return self._offer(incomplete)


def offer(command: click.Command) -> None:
    """Add candidates to the options and arguments of a command and of its subcommands."""
    for param in command.params:
        function = None if isinstance(param.type, (click.Choice, Offered)) else candidates.of(command.name, param)
        if function is not None:
            param.type = Offered(param.type, function)
    for subcommand in getattr(command, "commands", {}).values():
        offer(subcommand)


class _Completing(ShellComplete):
    """A completion like click's that adds becalm's candidates to the command that is being typed."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return the candidates for the last word."""
        if args and isinstance(self.cli, click.Group):
            command = self.cli.get_command(click.Context(self.cli), args[0])
            if command is not None:
                offer(command)
        return super().get_completions(args, incomplete)


@add_completion_class
class Zsh(_Completing, ZshComplete):
    """The completion for zsh."""


@add_completion_class
class Fish(_Completing, FishComplete):
    """The completion for fish."""


@add_completion_class
class Bash(_Completing, BashComplete):
    """The completion for bash, which splits words at = and :. They are joined, and only the last part is replaced."""

    source_template = BashComplete.source_template.replace(
        "    return 0", "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n\n    return 0", 1
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the current word, and the current word."""
        args, incomplete = super().get_completion_args()
        while args and (_ends(args[-1]) or _ends(incomplete[:1])):
            incomplete = args.pop() + incomplete
        return args, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """Return the text that replaces the last word."""
        typed, value = self.get_completion_args()[1], str(item.value)
        if typed.startswith("-"):
            typed = typed.partition("=")[2]
        before = typed[: 1 + max(map(typed.rfind, "=:"))]
        rest = value[len(before) :] if value.startswith(before) else value
        return super().format_completion(CompletionItem(_SPECIAL.sub(r"\\\1", rest), item.type))


def _ends(word: str) -> bool:
    return word != "" and not word.strip("=:")


_SPECIAL = re.compile(r"([^\w@%+=:,./-])")
"""A character that bash does not accept in a word without a backslash."""

SHELLS = ("bash", "zsh", "fish")


def shell_of(name: str) -> str:
    """Return the shell of this name, or the user's for "auto". Raises UsageError for one that is not supported."""
    shell = Path(os.environ.get("SHELL", "")).name if name == "auto" else name
    if shell not in SHELLS:
        raise UsageError(
            f"There is no completion for {shell or 'an unknown shell'!r}. Choose one of {', '.join(SHELLS)}."
        )
    return shell


def script(name: str, command: click.Command) -> str:
    """Return the completion script of a command."""
    completion_class = get_completion_class(shell_of(name))
    assert completion_class is not None
    return completion_class(command, {}, "becalm", "_BECALM_COMPLETE").source()


def install(name: str, command: click.Command) -> str:
    """Write the script where the shell looks for it. Return a sentence on what was done and what is left to do."""
    shell = shell_of(name)
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    path, next_step = {
        "bash": (data / "bash-completion/completions/becalm", "It works in every new shell with bash-completion."),
        "zsh": (
            Path.home() / ".zfunc/_becalm",
            "Put this into ~/.zshrc if it is not there: fpath+=~/.zfunc; autoload -Uz compinit && compinit",
        ),
        "fish": (config / "fish/completions/becalm.fish", "It works in every new shell."),
    }[shell]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with becalm.overwriting(), becalm.writing(path) as file:
            file.write(script(shell, command).encode())
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}.") from error
    return f"Wrote {path}. {next_step}"
