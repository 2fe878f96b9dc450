"""Every example in help and in the documents is one that the command line takes: its verb, its options, its numbers."""

import re
import shlex
from contextlib import suppress

import click
import pytest
from tests.places import ROOT

from becalm.cli.main import becalm as group

STOPS = {"|", ";", "&&", "||", "&", ">", ">>", "2>", "2>&1", "<", "#"}
"""Words of a shell behind which another command begins."""

OPEN = re.compile(r"…|\.\.\.|<[a-z]|\[[A-Z]")
"""Lines that show a form and are no example."""


def commands(text):
    """Yield the words of each `becalm …` in lines of a shell."""
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        for part in line.strip().removeprefix("$ ").split("; "):
            if not part.startswith("becalm ") or OPEN.search(part):
                continue
            try:
                words = shlex.split(part, comments=True)
            except ValueError:
                continue
            stop = next((at for at, word in enumerate(words) if word.rstrip(";") in STOPS or word.endswith(";")), None)
            yield tuple(
                word.rstrip(";") for word in words[1 : None if stop is None else stop + words[stop].endswith(";")]
            )


def commands_with_help(command, name=""):
    """Yield each command with its help, those of groups as well."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for subcommand in command.list_commands(context):
            yield from commands_with_help(command.get_command(context, subcommand), f"{name} {subcommand}".strip())
    yield name, command.help or ""


def documented():
    """Yield the shell blocks of all documents."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for kind, body in re.findall(
            r"^```(\w*)\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ):
            if kind in ("sh", "bash", "console", "shell"):
                yield str(path.relative_to(ROOT)), body


def parsed(words):
    """Parse the words as the command line would, down to the verb's own options, and run nothing."""
    command, context = group, None
    words = list(words)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        context = context or click.Context(group, info_name="becalm", **group.context_settings)
        name, command, words = command.resolve_command(context, words)
        context = click.Context(command, info_name=name, parent=context)
    if not isinstance(command, click.Group):
        command.make_context(context.info_name, words, parent=context.parent)


HELP = sorted({(name, words) for name, text in commands_with_help(group) for words in commands(text)})
DOCS = sorted({(place, words) for place, text in documented() for words in commands(text)})


@pytest.mark.parametrize(("place", "words"), [*HELP, *DOCS], ids=lambda name: str(name)[:60])
def test_examples_are_taken(place, words):
    with suppress(click.exceptions.Exit):
        parsed(words)


@pytest.mark.parametrize("words", [("clock", "--nothing"), ("nothing",), ("run", "--runs", "many", "true")])
def test_an_invalid_example_would_be_found(words):
    with pytest.raises(click.UsageError):
        parsed(words)
