"""`becalm bisect`."""

from __future__ import annotations

from typing import Any

import click

import becalm
from becalm.cli import options, output
from becalm.errors import UsageError

VALUES = (
    becalm.BisectOptions,
    becalm.Response,
    becalm.WithProfile,
    becalm.SessionOptions,
    becalm.CommandLine,
    becalm.Workload,
)

FORM = "becalm bisect GOOD BAD -- build make -- run ./program input"


@click.command("bisect")
@options.of(*VALUES, without=("name", "directory", "host", "output", "by"))
@output.options
@click.argument("good")
@click.argument("bad")
@click.argument("commands", nargs=-1, type=click.UNPROCESSED)
def command_bisect(good: str, bad: str, commands: tuple[str, ...], **keywords: Any) -> None:
    """Find the commit that made a program slower (docs/how-to/bisect.md).

    GOOD and BAD are commits. `build` and `run`, each after a --, begin the command that builds a commit and the one
    that is measured; `build` may be left out. Both run in the top directory of a working tree of the commit.

    \b
    becalm bisect v1.2 HEAD -- build make -j4 -- run ./parse input
    becalm bisect --error 1% v1.2 HEAD -- run python3 bench.py

    Exit code: 0 when the commit was found, 5 when it was not.
    """
    build, run = _commands(commands)
    out, chosen = output.OutputForm.of(keywords), options.keywords(keywords, *VALUES)
    with out.listener() as heard:
        result = becalm.bisect(good, bad, build=build, run=run, listener=heard, **chosen)
    out.end(result)


def _commands(words: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the words of the commands after `build` and after `run`. Raises UsageError."""
    commands: dict[str, list[str]] = {}
    current: list[str] | None = None
    previous = "--"
    for word in words:
        if previous == "--" and word in ("build", "run") and word not in commands:
            current = commands[word] = []
        elif current is None:
            raise UsageError(f"{word!r} is where `build` or `run` is expected: {FORM}")
        else:
            current.append(word)
        previous = word
    for name, command in commands.items():
        # The -- between the two commands belongs to neither.
        if command and command[-1] == "--" and name != list(commands)[-1]:
            command.pop()
        if not command:
            raise UsageError(f"`{name}` is not followed by a command: {FORM}")
    if "run" not in commands:
        raise UsageError(f"Which program? {FORM}")
    return commands.get("build", []), commands["run"]
