"""An agent for each test, and another machine to log in to."""

import os
import tempfile
from pathlib import Path

import pytest
from tests.contract.conversation import Agent
from tests.contract.far import Far, until
from tests.contract.restore.laptop import changed, laptop, snapshot, strays

from becalm.hosts import aliases
from becalm.nouns.elsewhere import place_in

os.environ.setdefault("BECALM_INTERRUPT_WAIT", "0.2")
"""Idle devices are not waited for: nobody waits a minute after each test for interrupts that it has moved."""


@pytest.fixture
def agent():
    made = Agent()
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One server for the tests that do not harm it."""
    path = tmp_path_factory.mktemp("far")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(path / "config"))
        made = Far(path / "machine")
    yield made
    made.close()


def forget_spools(state):
    """Remove what is on "another machine" for becalms that nobody will start again."""
    for path in state.glob("becalm/spool/*"):
        if place := place_in(path.read_bytes().partition(b"\n")[0]):
            Path(place["spool"]).unlink(missing_ok=True)


@pytest.fixture
def own_directories(tmp_path, monkeypatch):
    """Nothing of the person's; and after a test nothing of a connection is left."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("BECALM_STORE", str(tmp_path / "runs.db"))
    # Short, because sockets go there.
    with tempfile.TemporaryDirectory(dir="/tmp") as temporary:
        monkeypatch.setenv("TMPDIR", temporary)
        monkeypatch.setattr(tempfile, "tempdir", temporary)
        yield
        forget_spools(tmp_path / "XDG_STATE_HOME")
        assert not list(Path(temporary).glob("becalm-ssh-*")), "a connection's directory was left"


@pytest.fixture
def far(shared, own_directories):
    """The server under its name, reached as usual."""
    shared.configure()
    shared.known_hosts(shared.path / "host_key.pub")
    aliases.add("far", "ssh://far", str(shared.path / "ssh_config"))
    return shared


@pytest.fixture
def tree(tmp_path):
    """A directory that looks like the machine there, and is to be as it was at the end of the test."""
    made = laptop(tmp_path / "tree")
    before = snapshot(made)
    yield made
    until(lambda: not changed(before, snapshot(made)) and not strays(made))
