"""What `becalm export` prints: to a file or a program all as it was measured, to a terminal nothing that it obeys."""

import os
import pty
import subprocess
import sys

import pytest

import becalm
from becalm.nouns.workload import Workload

HOSTILE = "a\x1b]0;title\x07\x1b[2J\u202eb"


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = str(tmp_path / "runs.db")
    becalm.run(Workload.of("spin 1s", name=HOSTILE), runs=2, host="sim:normal", seed=1, store=path)
    return path


def on_terminal(*words):
    """What a command prints where its standard output is a terminal, and its exit code."""
    outside, inside = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "becalm", *words], stdout=inside, stderr=inside, stdin=subprocess.DEVNULL
    ) as process:
        os.close(inside)
        said = b""
        while True:
            try:
                said += os.read(outside, 65536)
            except OSError:  # EIO: nobody has the other side any more.
                break
    os.close(outside)
    return said.decode(), process.returncode


@pytest.mark.parametrize("name", ["csv", "json", "markdown", "html", "hyperfine", "pyperf"])
def test_a_terminal_obeys_nothing_of_an_export(store, name):
    said, code = on_terminal("export", "--store", store, "--format", name)
    assert code == 0
    assert len(said) > 100
    assert not {each for each in said if ord(each) < 32 or 127 <= ord(each) < 160 or each == "\u202e"} - set("\r\n\t")


def test_a_terminal_shows_what_is_there(store):
    said, _ = on_terminal("export", "--store", store, "--format", "csv")
    assert "a\\x1b]0;title\\x07\\x1b[2J\\u202eb" in said


def test_a_pipe_and_a_file_get_what_was_measured(store, tmp_path):
    export = [sys.executable, "-m", "becalm", "export", "--store", store, "--format", "csv"]
    piped = subprocess.run(export, capture_output=True, check=True).stdout.decode()
    assert HOSTILE in piped
    file = tmp_path / "runs.csv"
    subprocess.run([*export, "--to", str(file)], check=True)
    assert file.read_bytes().decode() == piped


@pytest.mark.parametrize("name", ["csv", "json", "markdown", "html", "hyperfine", "pyperf"])
def test_a_name_that_is_no_utf8_is_exported(tmp_path, monkeypatch, name):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path, file = str(tmp_path / "runs.db"), tmp_path / "out"
    becalm.run(Workload.of("spin 1s", name=os.fsdecode(b"caf\xe9")), runs=2, host="sim:normal", seed=1, store=path)
    export = [sys.executable, "-m", "becalm", "export", "--store", path, "--format", name]
    piped = subprocess.run(export, capture_output=True, check=True).stdout
    subprocess.run([*export, "--to", str(file)], check=True)
    assert file.read_bytes() == piped
    assert b"caf" in piped
