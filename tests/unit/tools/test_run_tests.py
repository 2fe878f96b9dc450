"""The tiers of tests: which commands run which folders, and what their exit codes say."""

from contextlib import nullcontext

import pytest
import run_tests
from tests.places import ROOT


def folders(tier):
    """Return the folders of tests that the commands of a tier name."""
    return {
        word
        for command in run_tests.TIERS[tier](())
        for word in command
        if word.startswith("tests/") and (ROOT / word).is_dir()
    }


def test_every_folder_of_tests_belongs_to_one_tier():
    named = [folder.split("/")[1] for tier in run_tests.TIERS for folder in folders(tier)]
    tests = {path.parent.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").rglob("test_*.py")}
    assert tests <= set(named)
    assert folders("unit") == {"tests/unit", "tests/property"}


def test_words_after_two_dashes_go_to_pytest():
    tiers, words = run_tests.split(["unit", "contract", "--", "-k", "store"])
    assert (tiers, words) == (["unit", "contract"], ["-k", "store"])
    assert run_tests.unit(words)[0][-2:] == ["-k", "store"]


@pytest.mark.parametrize("arguments", [[], ["everything"], ["--", "-x"]])
def test_unknown_tiers_are_a_usage_error(arguments, capsys):
    assert run_tests.main(arguments) == 2
    assert "tiers: rust unit contract system measurement" in capsys.readouterr().err


def results(monkeypatch, *codes):
    """Have the commands that are run end with these exit codes; return the list of those run."""
    commands, left = [], list(codes)

    def code_of(self, command, env, output=None):
        assert ("TMPDIR" in env) == ("tools/unchanged.py" not in command)
        assert "PYTHONDONTWRITEBYTECODE" not in env
        commands.append(command)
        return left.pop(0)

    monkeypatch.setattr(run_tests.Runner, "code_of", code_of)
    monkeypatch.setattr(run_tests.signal, "signal", lambda *_: None)
    monkeypatch.setattr(run_tests, "turn", nullcontext)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("TMPDIR", raising=False)
    return commands


def test_all_tiers_run_and_the_first_failure_is_the_exit_code(monkeypatch, capsys):
    commands = results(monkeypatch, 0, 101, 1, 0)
    assert run_tests.main(["rust", "unit", "contract"]) == 101
    assert len(commands) == 4
    rows = capsys.readouterr().out.splitlines()[-3:]
    assert [row.split()[0] for row in rows] == ["rust", "unit", "contract"]
    assert [row.split()[-1] for row in rows] == ["failed", "failed", "passed"]


def test_no_test_is_a_failure_unless_words_select_them(monkeypatch):
    results(monkeypatch, run_tests.NOTHING_COLLECTED)
    assert run_tests.main(["unit"]) == run_tests.NOTHING_COLLECTED
    results(monkeypatch, run_tests.NOTHING_COLLECTED)
    assert run_tests.main(["unit", "--", "-k", "nothing"]) == 0


def test_tiers_that_change_the_machine_compare_it_before_and_after():
    for tier in ("contract", "system"):
        assert all("tools/unchanged.py" in command for command in run_tests.TIERS[tier](()))
