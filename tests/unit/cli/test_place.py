"""`becalm place simulate` and `train` as they are typed."""

import click
import pytest
from click.testing import CliRunner

from becalm.cli.place import Placing
from becalm.cli.place import command_place as shipped


@click.command("place", cls=Placing)
@click.argument("profile", default="last")
def command_place(profile):
    click.echo(f"profile {profile}")


def typed(*words):
    return CliRunner().invoke(command_place, words)


def test_the_shipped_command_has_both():
    assert "becalm place train" in CliRunner().invoke(shipped, ["--help"]).output
    assert "--drain" in CliRunner().invoke(shipped, ["simulate", "--help"]).output


def test_other_words_are_the_commands_own():
    assert typed("12").output == "profile 12\n"
    assert typed().output == "profile last\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("perl",), "There is no program 'perl'"),
        (("lbm", "mcf", "--chips", "1"), "2 processes do not fit on chips that have room for 1"),
        (("lbm", "--method", "best"), "There is no placement 'best'"),
        (("lbm", "--programs", "/nowhere.toml"), "cannot be read"),
        (("lbm", "mcf", "--method", "mlp"), "was trained on eight"),
    ],
)
def test_invalid_placements_are_refused_in_a_sentence(words, message):
    done = typed("simulate", *words)
    assert message in str(done.exception)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("lbm", "mcf", "--chips", "two"), "'two' does not describe chips"),
        (("lbm", "--objective", "speed"), "'speed' is not one of 'degradation', 'slowdown'"),
    ],
)
def test_invalid_values_of_options_are_usage_errors(words, message):
    done = typed("simulate", *words)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
