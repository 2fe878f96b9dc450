"""Shell completion: the script that click makes, put where each shell looks for it."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from becalm.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


def shell_of(name: str) -> str:
    """The shell asked for, or the user's own for "auto". Raises UsageError for one that is not supported."""
    shell = Path(os.environ.get("SHELL", "")).name if name == "auto" else name
    if shell not in SHELLS:
        raise UsageError(
            f"There is no completion for {shell or 'an unknown shell'!r}. Name one of {', '.join(SHELLS)}."
        )
    return shell


def script(name: str, command: click.Command) -> str:
    """The completion script of a command."""
    found = get_completion_class(shell_of(name))
    assert found is not None
    return found(command, {}, "becalm", "_BECALM_COMPLETE").source()


def install(name: str, command: click.Command) -> str:
    """Write the script where the shell looks for it; returns what was done and what is left to do."""
    shell = shell_of(name)
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    path, then = {
        "bash": (data / "bash-completion/completions/becalm", "It works in every new shell with bash-completion."),
        "zsh": (
            Path.home() / ".zfunc/_becalm",
            "Put this into ~/.zshrc if it is not there: fpath+=~/.zfunc; autoload -Uz compinit && compinit",
        ),
        "fish": (config / "fish/completions/becalm.fish", "It works in every new shell."),
    }[shell]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script(shell, command))
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}.") from error
    return f"Wrote {path}. {then}"
