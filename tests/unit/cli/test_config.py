"""Options from a file."""

import click
import pytest
from click.testing import CliRunner

from becalm.cli.config import config


@click.command()
@config
@click.option("--budget", default="30min")
@click.option("--sudo", is_flag=True)
@click.option("--most-runs", type=int)
@click.option("--without", multiple=True)
@click.option("--env", multiple=True)
def command(**options):
    click.echo(repr(options))


def run(tmp_path, text, *arguments):
    path = tmp_path / "options.toml"
    path.write_text(text)
    return CliRunner().invoke(command, ["--config", str(path), *arguments])


def test_a_file_gives_defaults(tmp_path):
    text = 'budget = "5s"\nsudo = true\nmost_runs = 7\nwithout = ["swap", "smt"]\nenv = { A = "b c", D = 1 }\n'
    result = run(tmp_path, text)
    assert result.exit_code == 0, result.output
    assert eval(result.output) == {
        "budget": "5s",
        "sudo": True,
        "most_runs": 7,
        "without": ("swap", "smt"),
        "env": ("A=b c", "D=1"),
    }


def test_the_command_line_wins(tmp_path):
    assert eval(run(tmp_path, 'budget = "5s"\n', "--budget", "9s").output)["budget"] == "9s"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("budgte = 1\n", "Did you mean 'budget'?"),
        ("sudo = 1\n", "sudo is true or false"),
        ("budget = [1]\n", "takes one value"),
        ("budget = \n", "is not TOML"),
        ("most-runs = 'many'\n", "not a valid integer"),
    ],
)
def test_errors_in_a_file_of_options_are_reported(tmp_path, text, message):
    result = run(tmp_path, text)
    assert result.exit_code == 2
    assert message in result.output


def test_a_file_that_is_not_there(tmp_path):
    result = CliRunner().invoke(command, ["--config", str(tmp_path / "none.toml")])
    assert result.exit_code == 2
    assert "cannot be read" in result.output
