"""Pages of help whose lines do not end within a word, and whose lists of commands have whole sentences."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

import click

HYPHEN, UNBROKEN = "-", "\N{NON-BREAKING HYPHEN}"


class WholeWords(click.HelpFormatter):
    """A formatter that breaks no line after a hyphen: docs/how-to/suite.md and --no-load stay whole."""

    def write(self, string: str) -> None:
        """Write a text that was wrapped."""
        super().write(string.replace(UNBROKEN, HYPHEN))

    def write_text(self, text: str) -> None:
        """Write a paragraph."""
        super().write_text(text.replace(HYPHEN, UNBROKEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write a list of options or commands."""
        unbroken = [(name, text.replace(HYPHEN, UNBROKEN)) for name, text in rows]
        super().write_dl(unbroken, col_max, col_spacing)


class HelpContext(click.Context):
    """A context whose help is formatted by `WholeWords`."""

    formatter_class = WholeWords


def whole_words(command: click.Command) -> click.Command:
    """Have a command and its subcommands write such pages."""
    command.context_class = HelpContext
    for subcommand in getattr(command, "commands", {}).values():
        whole_words(subcommand)
        # Else click ends the sentence at the end of its line, with "...".
        first, _, _ = inspect.cleandoc(subcommand.help or "").partition("\n\n")
        subcommand.short_help = subcommand.short_help or " ".join(first.split())
    return command
