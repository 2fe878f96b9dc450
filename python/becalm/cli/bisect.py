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
@options.of(*VALUES, without=("name", "directory", "host", "output"))
@output.options
@click.argument("good")
@click.argument("bad")
@click.argument("commands", nargs=-1, type=click.UNPROCESSED)
def command_bisect(good: str, bad: str, commands: tuple[str, ...], **given: Any) -> None:
    """Find the commit that made a program slower (docs/how-to/bisect.md).

    `build` and `run` begin the two commands, each behind a --; without `build` nothing is built. Both run in the top
    directory of a working tree of each commit that is tried.

    \b
    becalm bisect v1.2 HEAD -- build make -j4 -- run ./parse input
    becalm bisect --error 1% v1.2 HEAD -- run python3 bench.py

    Exit code 0 when the commit was found, 5 when not.
    """
    build, run = _commands(commands)
    out, chosen = output.OutputForm.of(given), options.keywords(given, *VALUES)
    with out.listener() as heard:
        result = becalm.bisect(good, bad, build=build, run=run, listener=heard, **chosen)
    out.end(result)


def _commands(words: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the words after `build` and `run`. Raises UsageError."""
    parts: dict[str, list[str]] = {}
    begun: list[str] | None = None
    previous = "--"
    for word in words:
        if previous == "--" and word in ("build", "run") and word not in parts:
            begun = parts[word] = []
        elif begun is None:
            raise UsageError(f"{word!r} stands where `build` or `run` is expected: {FORM}")
        else:
            begun.append(word)
        previous = word
    for name in parts:
        # The -- between the two commands belongs to neither.
        if parts[name] and parts[name][-1] == "--" and name != list(parts)[-1]:
            parts[name].pop()
        if not parts[name]:
            raise UsageError(f"`{name}` is followed by no command: {FORM}")
    if "run" not in parts:
        raise UsageError(f"What is to be measured? {FORM}")
    return parts.get("build", []), parts["run"]
