"""Words that are no verb: `help`, `version`, programs, and misspelt verbs."""

import pytest
from click.testing import CliRunner

from becalm._version import VERSION
from becalm.cli.main import becalm


def run(*words):
    return CliRunner().invoke(becalm, words)


def test_help_and_version_are_understood():
    assert run("help").output == run("--help").output
    assert run("help", "compare").output == run("compare", "--help").output
    assert run("version").output == run("--version").output == f"becalm {VERSION}\n"


def test_programs_without_a_verb_are_compared(store):
    words = ("./old 1", "./new 1", "--host", "null", "--runs", "2", "--no-store")
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert "$ becalm compare './old 1' './new 1' --host null" in result.stderr
    assert "./new 1" in result.stdout


@pytest.mark.parametrize("words", [("./old",), ("./old 1",), ("./old", "input")])
def test_a_single_program_is_pointed_to_run(words):
    result = run(*words)
    assert result.exit_code == 2
    assert f"becalm run -- {words[0]}" in result.output


def test_a_misspelt_verb_is_not_taken_for_a_program():
    result = run("comprae", "./old", "./new")
    assert result.exit_code == 2
    assert "Unknown command 'comprae'. Did you mean 'compare'?" in result.output
