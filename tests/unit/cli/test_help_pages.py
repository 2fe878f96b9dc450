"""Pages of help: lines that fit and end after a word, lists of whole sentences, options that the verb's report uses."""

import click
import pytest
from click.testing import CliRunner

from becalm.cli.main import VERBS
from becalm.cli.main import becalm as group

COUNTED = {"run", "compare", "suite", "record", "check", "explain", "watch"}
"""The verbs whose reports, or `becalm explain` afterwards, name what the programs waited for."""


def page(*words):
    result = CliRunner().invoke(group, [*words, "--help"], terminal_width=80)
    assert result.exit_code == 0, result.output
    return result.output


def commands(command, *path):
    yield path
    for name, subcommand in getattr(command, "commands", {}).items():
        yield from commands(subcommand, *path, name)


@pytest.mark.parametrize("verb", VERBS)
def test_every_line_fits_into_a_terminal_and_ends_after_a_word(verb):
    command = group.get_command(click.Context(group), verb)
    for path in commands(command, verb):
        lines = page(*path).splitlines()
        assert max(map(len, lines)) <= 80
        assert not [line for line in lines if line.endswith("-") and not line.endswith(" -")]


@pytest.mark.parametrize("verb", ["design", "host", "guest", "store"])
def test_the_list_of_commands_has_whole_sentences(verb):
    _, _, listed = page(verb).partition("Commands:\n")
    assert listed
    assert "..." not in listed


@pytest.mark.parametrize("verb", VERBS)
def test_counting_waits_is_offered_where_they_are_reported(verb):
    assert ("--by bpf" in page(verb)) == (verb in COUNTED)
