"""Fixtures for tests of becalm's command line: a directory for becalm's files, and a function that runs commands."""

import contextlib
import os
import sys
from dataclasses import dataclass

import pytest
from tests.directories import use_directories

from becalm.cli.main import main


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a home directory for store, profiles and state of this test."""
    place = tmp_path / "home"
    place.mkdir()
    use_directories(monkeypatch, place)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TZ", "UTC")
    return place


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def becalm(home, monkeypatch, capfd):
    """Return a function that runs becalm in this process, since a new process takes half a second to start."""

    def run(*arguments, stdin=None, root=None):
        where = [] if root is None else ["--root", str(root)]
        words = [str(argument) for argument in arguments]
        place = words.index("--") if "--" in words else len(words)
        monkeypatch.setattr(sys, "argv", ["becalm", *words[:place], *where, *words[place:]])
        capfd.readouterr()
        with standard_input(stdin), pytest.raises(SystemExit) as end:
            main()
        return Ended(int(end.value.code or 0), *capfd.readouterr())

    return run


@contextlib.contextmanager
def standard_input(text):
    """Make file descriptor 0 a pipe with this text; change nothing for None."""
    if text is None:
        yield
        return
    before, (reader, writer) = os.dup(0), os.pipe()
    os.write(writer, text.encode())
    os.close(writer)
    os.dup2(reader, 0)
    os.close(reader)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)
