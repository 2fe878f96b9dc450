"""A laptop's tree for each test, an own place for becalm's files, and becalm's command line."""

import contextlib
import os
import sys
from dataclasses import dataclass

import pytest
from tests.contract.restore.laptop import changed, laptop, snapshot, strays

from becalm.cli.main import main
from becalm.verbs.settings import reset


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Store, profiles and state of this test alone."""
    place = tmp_path / "home"
    place.mkdir()
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(place / name))
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("BECALM_STORE", str(place / "runs.db"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TZ", "UTC")
    return place


@pytest.fixture
def root(tmp_path, home):
    """A tree; after the test it is as it was."""
    tree = laptop(tmp_path / "root")
    before = snapshot(tree)
    yield tree
    reset(root=str(tree))
    assert changed(before, snapshot(tree)) == {}
    assert strays(tree) == []


@dataclass(frozen=True)
class Ended:
    """What a command came to."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def becalm(home, monkeypatch, capfd):
    """Run becalm's command line in this process (a new one costs half a second); `given` is its standard input."""

    def run(*arguments, given=None, root=None):
        where = [] if root is None else ["--root", str(root)]
        words = [str(each) for each in arguments]
        place = words.index("--") if "--" in words else len(words)
        monkeypatch.setattr(sys, "argv", ["becalm", *words[:place], *where, *words[place:]])
        capfd.readouterr()
        with standard_input(given), pytest.raises(SystemExit) as end:
            main()
        return Ended(int(end.value.code or 0), *capfd.readouterr())

    return run


@contextlib.contextmanager
def standard_input(text):
    """File descriptor 0 is a pipe with this text; nothing is changed for None."""
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
