"""A laptop's tree for each test, an own place for becalm's files, and becalm as a process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "restore"))

from laptop import changed, laptop, snapshot, strays


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
    subprocess.run([sys.executable, "-m", "becalm", "reset", "--root", tree], capture_output=True, check=False)
    assert changed(before, snapshot(tree)) == {}
    assert strays(tree) == []


@pytest.fixture
def becalm(home):
    """Run becalm; gives exit code, output and errors."""

    def run(*arguments, given=None, root=None):
        where = [] if root is None else ["--root", str(root)]
        words = [str(each) for each in arguments]
        place = words.index("--") if "--" in words else len(words)
        return subprocess.run(
            [sys.executable, "-m", "becalm", *words[:place], *where, *words[place:]],
            capture_output=True,
            text=True,
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            env=dict(os.environ),
        )

    return run
