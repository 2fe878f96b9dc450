"""The manual page, made from the help of all commands, in the format of `man` (man-pages(7))."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click

import becalm
from becalm._version import VERSION


def page(command: click.Group) -> str:
    """Return the page of a group with all of its commands."""
    context = click.Context(command, info_name="becalm", **command.context_settings)
    return "\n".join(_page(command, context)) + "\n"


def _page(command: click.Group, context: click.Context) -> Iterator[str]:
    yield f'.TH BECALM 1 "" "becalm {VERSION}" "User Commands"'
    summary = (command.help or "").split("\n", 1)[0]
    yield from (".SH NAME", f"becalm \\- {_text(summary.rstrip('.'))}")
    yield from (".SH SYNOPSIS", ".B becalm", ".I VERB", "[OPTIONS] \\&...")
    yield from (".SH DESCRIPTION", *_prose(command.help or ""))
    yield ".SH VERBS"
    for name in command.list_commands(context):
        subcommand = command.get_command(context, name)
        assert subcommand is not None
        yield from _verb(subcommand, click.Context(subcommand, info_name=name, parent=context), name)
    yield ".SH OPTIONS"
    yield from _options(command, context)
    yield ".SH EXIT STATUS"
    for code, meaning in CODES.items():
        yield from (".TP", f".B {code}", _text(meaning))


CODES = {
    0: "done",
    1: "the answer is no, or a limit is exceeded",
    2: "usage",
    3: "the machine refuses",
    4: "a program failed",
    5: "a limit is undecided",
    130: "interrupted before anything was measured",
}
"""The exit codes, as in docs/reference/exit-codes.md."""


def _verb(command: click.Command, context: click.Context, name: str) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (f".SS becalm {_text(name)} {_text(usage)}", *_prose(command.help or ""))
    yield from _options(command, context)
    if isinstance(command, click.Group):
        for subname in command.list_commands(context):
            subcommand = command.get_command(context, subname)
            assert subcommand is not None
            yield from _verb(
                subcommand, click.Context(subcommand, info_name=subname, parent=context), f"{name} {subname}"
            )


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for param in command.get_params(context):
        record = param.get_help_record(context)
        if record is not None:
            yield from (".TP", f".B {_text(record[0])}", _text(record[1]))


def _prose(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; those after click's \\b keep their lines."""
    for paragraph in text.replace("\r", "").split("\n\n"):
        verbatim = paragraph.lstrip().startswith("\b")
        lines = [_text(line.strip()) for line in paragraph.replace("\b", "").splitlines() if line.strip()]
        if verbatim:
            yield from (".PP", ".nf", ".RS", *lines, ".RE", ".fi")
        else:
            yield from (".PP", " ".join(lines))


def _text(text: str) -> str:
    """Return text with the characters escaped that roff would interpret: a leading dot, apostrophes, backslashes."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("…", "...")
    return "\\&" + text if text.startswith(".") else text


def install(command: click.Group) -> str:
    """Write the page where `man` finds it for this user, and return a sentence on it. Raises ClickException."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    path = data / "man/man1/becalm.1"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with becalm.overwriting(), becalm.writing(path) as file:
            file.write(page(command).encode())
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}.") from error
    return f"Wrote {path}. Read it with: man becalm; or, if man does not search ~/.local/share/man: man {path}"
