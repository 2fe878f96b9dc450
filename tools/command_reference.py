"""The command line's reference, from the commands themselves: what --help says, as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click
from markdown import code, table

from becalm.cli.main import becalm

DOCUMENT = re.compile(r"docs/((?:[\w-]+/)+([\w-]+)\.md)")


def commands() -> str:
    """Return the overview and a section for each verb."""
    context = click.Context(becalm, info_name="becalm", **becalm.context_settings)
    verbs = [(name, becalm.get_command(context, name)) for name in becalm.list_commands(context)]
    overview = (
        (f"[`becalm {name}`](#becalm-{name})", prose(command.get_short_help_str(200)))
        for name, command in verbs
        if command is not None
    )
    return "\n".join(
        [
            "## becalm\n",
            described(becalm.help or ""),
            table(("verb", "what it does"), overview),
            *options(becalm, context),
            *(part for name, command in verbs if command is not None for part in section(name, command, context, 2)),
        ]
    )


def section(name: str, command: click.Command, parent: click.Context, level: int) -> Iterator[str]:
    """Yield one command's own description, and below it those of its group."""
    context = click.Context(command, info_name=name, parent=parent)
    yield f"{'#' * level} {context.command_path}\n"
    yield f"```text\n{context.command_path} {' '.join(command.collect_usage_pieces(context))}\n```\n"
    yield described(command.help or "")
    yield from options(command, context)
    if isinstance(command, click.Group):
        for subcommand in command.list_commands(context):
            inner = command.get_command(context, subcommand)
            if inner is not None:
                yield from section(subcommand, inner, context, level + 1)


def options(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the table of a command's options."""
    own = [
        param for param in command.get_params(context) if isinstance(param, click.Option) and "--help" not in param.opts
    ]
    records = [parameter.get_help_record(context) for parameter in own]
    rows = [(code(" ".join(record[0].split())), prose(record[1])) for record in records if record is not None]
    if rows:
        yield table(("option", "meaning"), rows)


def described(text: str) -> str:
    r"""Format a docstring: blocks that click leaves unchanged (after \b) are command lines, the rest is prose."""
    parts = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b\n"):
            parts.append("```console\n" + re.sub(r"^(?=becalm)", "$ ", paragraph[2:], flags=re.MULTILINE) + "\n```")
        else:
            parts.append(prose(paragraph))
    return "\n\n".join(parts) + "\n"


def prose(text: str) -> str:
    """Format help text as Markdown: only code is markup, and documents are links."""
    parts = re.split(r"(`[^`]*`)", text)
    for at in range(0, len(parts), 2):
        plain = re.sub(r"([\\\[\]<>*_{}$])", r"\\\1", parts[at])
        parts[at] = DOCUMENT.sub(lambda match: f"[{match[2]}](../{match[1]})", plain)
    return "".join(parts)
