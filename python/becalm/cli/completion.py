"""Shell completion: the script that click makes, put where each shell looks for it, and what it offers of knobs."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, get_completion_class

import becalm
from becalm.errors import UsageError

KERNEL = "kernel"
"""The kind of program whose names are offered."""


@add_completion_class
class Bash(BashComplete):
    """Bash takes NAME=VALUE for three words: they are put together again, and only the last of them is replaced."""

    source_template = BashComplete.source_template.replace(
        "    return 0", "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n\n    return 0", 1
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        """Words before the one at hand, and that one."""
        args, incomplete = super().get_completion_args()
        if incomplete == "=":
            args, incomplete = [*args, "="], ""
        if len(args) >= 2 and args[-1] == "=":
            return args[:-2], f"{args[-2]}={incomplete}"
        # A colon ends a word there, too.
        if len(args) >= 1 and args[-1] == KERNEL and incomplete == ":":
            return args[:-1], f"{KERNEL}:"
        if len(args) >= 2 and args[-2:] == [KERNEL, ":"]:
            return args[:-2], f"{KERNEL}:{incomplete}"
        return args, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """What is put in the place of the last word."""
        if str(item.value).startswith(f"{KERNEL}:") and self.get_completion_args()[1].startswith(f"{KERNEL}:"):
            return super().format_completion(CompletionItem(str(item.value).partition(":")[2], item.type))
        _, equals, value = str(item.value).partition("=")
        return super().format_completion(CompletionItem(value if equals and value else item.value, item.type))


def knobs(incomplete: str) -> list[CompletionItem]:
    """Names of knobs, each with why it matters."""
    found = (row for row in becalm.catalogue() if row.name.startswith(incomplete))
    return [CompletionItem(row.name, help=row.rationale) for row in found]


def kernels(incomplete: str) -> list[CompletionItem]:
    """Built-in kernels as programs, each with what it does, as soon as something was typed."""
    known = [(f"{KERNEL}:{row.name}", row.what) for row in becalm.built_in_kernels()] if incomplete else []
    return [CompletionItem(name, help=what) for name, what in known if name.startswith(incomplete)]


def settings(incomplete: str) -> list[CompletionItem]:
    """NAME= of knobs; after the sign the values of that knob that have names, and the one that `tune` tries."""
    name, equals, value = incomplete.partition("=")
    if not equals:
        return [
            CompletionItem(f"{row.name}=", help=row.rationale)
            for row in becalm.catalogue()
            if row.name.startswith(name)
        ]
    row = {each.name: each for each in becalm.catalogue()}.get(name)
    if row is None:
        return []
    meanings = {each.value: each.meaning for each in row.domain.special}
    values = dict.fromkeys([*row.domain.categories, *([row.tuned_value] if row.tuned_value else [])])
    return [CompletionItem(f"{name}={each}", help=meanings.get(each)) for each in values if each.startswith(value)]


def studies(incomplete: str) -> list[CompletionItem]:
    """Numbers of the newest studies, each with what it is, and `last`."""
    try:
        found = becalm.list_studies(limit=50).studies
    except becalm.BecalmError:
        return []
    items = [CompletionItem("last", help="the newest")]
    for each in found:
        items.append(
            CompletionItem(str(each.number), help=f"{each.study.kind}: {each.study.title or names(each.study)}")
        )
    return [each for each in items if str(each.value).startswith(incomplete)]


def names(study: becalm.Study) -> str:
    """The programs of a study."""
    return " | ".join(each.name for each in study.workloads)


def methods(incomplete: str) -> list[CompletionItem]:
    """Methods of `tune`, each with what it does."""
    return [
        CompletionItem(row.name, help=row.what) for row in becalm.search_methods() if row.name.startswith(incomplete)
    ]


def hosts(incomplete: str) -> list[CompletionItem]:
    """Names that `becalm host` knows, and beginnings of the other kinds."""
    named = [CompletionItem(each.name, help=each.url) for each in becalm.list_hosts()]
    kinds = [CompletionItem(name, help=what) for name, what in HOSTS.items()]
    return [each for each in (*named, *kinds) if str(each.value).startswith(incomplete)]


HOSTS = {
    "local": "this machine",
    "ssh://": "another machine",
    "guest:": "a virtual machine with another kernel",
    "sim:cfs": "a simulated scheduler",
    "sim:eevdf": "a simulated scheduler",
}
"""Kinds of hosts as they are begun to be typed."""

SHELLS = ("bash", "zsh", "fish")


def shell_of(name: str) -> str:
    """The shell asked for, or the user's own for "auto". Raises UsageError for one that is not supported."""
    shell = Path(os.environ.get("SHELL", "")).name if name == "auto" else name
    if shell not in SHELLS:
        raise UsageError(
            f"No completion is available for {shell or 'an unknown shell'!r}. Choose one of {', '.join(SHELLS)}."
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
