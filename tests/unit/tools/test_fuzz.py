"""The targets of `tools/fuzz.py`, and its behaviour where libFuzzer cannot be compiled."""

from types import SimpleNamespace

import fuzz
import fuzz_readers
import pytest
from tests.places import ROOT


def test_all_targets_of_the_table_are_searched():
    files = {path.stem for path in (ROOT / "fuzz/fuzz_targets").glob("*.rs")}
    assert set(fuzz.targets()) == files


def test_each_reader_of_python_has_files_to_begin_with():
    for name, target in fuzz_readers.TARGETS.items():
        for pattern in target.seeds:
            assert list(ROOT.glob(pattern)), (name, pattern)


@pytest.fixture
def commands(monkeypatch):
    """Return the commands that are run on a machine without a compiler of C++."""
    result = []

    def run(command, **options):
        result.append(command)
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(fuzz.shutil, "which", lambda name: None)
    monkeypatch.setattr(fuzz.subprocess, "run", run)
    monkeypatch.setattr(fuzz.sys, "argv", ["fuzz.py", "--seconds", "5", "journal"])
    return result


def test_without_a_compiler_inputs_are_changed_blindly(commands, monkeypatch, capsys):
    monkeypatch.delenv("CI", raising=False)
    assert fuzz.main() == 0
    ((*_, dashes, seconds, five, seed, command, name),) = commands
    assert (dashes, seconds, five, seed, command, name) == ("--", "--seconds", "5.0", "--seed", "1", "journal")
    assert "blindly" in capsys.readouterr().err


def test_without_a_compiler_ci_fails(commands, monkeypatch):
    monkeypatch.setenv("CI", "true")
    assert fuzz.main() == 1
    assert commands == []
