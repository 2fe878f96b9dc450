"""The output of `becalm export`: data as they are for a file or program, and nothing that a terminal would obey."""

import os
import sys

import pytest
from click.testing import CliRunner

import becalm as api
from becalm.cli.main import becalm as group
from becalm.errors import UsageError
from becalm.nouns.workload import Workload

HOSTILE = "a\x1b]0;title\x07\x1b[2J\u202eb"
FORMATS = ("csv", "json", "markdown", "html", "hyperfine", "pyperf")


@pytest.fixture
def hostile(home):
    """Store a study of a program whose name has control characters."""
    api.run(Workload.of("spin 1s", name=HOSTILE), runs=2, host="sim:normal", seed=1)


def exported(*words):
    """Return the bytes that `becalm export` writes to a pipe."""
    result = CliRunner().invoke(group, ["export", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout_bytes


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_has_nothing_that_a_terminal_obeys(hostile, becalm, monkeypatch, name):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    ended = becalm("export", "--format", name)
    assert ended.returncode == 0
    assert len(ended.stdout) > 100
    obeyed = {letter for letter in ended.stdout if ord(letter) < 32 or 127 <= ord(letter) < 160 or letter == "\u202e"}
    assert not obeyed - set("\r\n\t")


def test_a_pipe_and_a_file_get_the_data_as_they_are(hostile, tmp_path):
    piped = exported("--format", "csv", "--raw")
    assert HOSTILE in piped.decode()
    file = tmp_path / "runs.csv"
    exported("--format", "csv", "--raw", "--to", str(file))
    assert file.read_bytes() == piped


def test_a_name_is_no_formula_unless_cells_are_raw(home):
    name = "=cmd|'/C calc'!A0"
    api.run(Workload.of("spin 1s", name=name), runs=2, host="sim:normal", seed=1)
    assert f"\n'{name},0," in exported("--format", "csv").decode()
    assert f"\n{name},0," in exported("--format", "csv", "--raw").decode()
    with pytest.raises(UsageError, match="raw is for cells of CSV, and the format json has none"):
        api.export(raw=True)


@pytest.mark.parametrize("name", FORMATS)
def test_a_name_that_is_not_utf_8_is_exported(home, tmp_path, name):
    file = tmp_path / "out"
    api.run(Workload.of("spin 1s", name=os.fsdecode(b"caf\xe9")), runs=2, host="sim:normal", seed=1)
    piped = exported("--format", name)
    exported("--format", name, "--to", str(file))
    assert file.read_bytes() == piped
    assert b"caf" in piped


def test_a_kind_of_which_there_is_no_study_is_not_an_empty_store(hostile, becalm):
    assert "has no study of the kind tune." in becalm("list", "--kind", "tune").stdout
    assert "1.005 s" in becalm("list", "--kind", "run").stdout
