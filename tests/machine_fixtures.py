"""The fixtures of tests that start real programs: an agent, and directories of their own."""

import itertools
import os
import tempfile
from pathlib import Path

import pytest
from tests.contract.conversation import Agent, Gate
from tests.directories import use_directories

from becalm.nouns.elsewhere import place_in

os.environ.setdefault("BECALM_INTERRUPT_WAIT", "0.2")
"""Idle devices are not waited for: nobody waits a minute after each test for interrupts that it has moved."""


_count = itertools.count()


@pytest.fixture
def agent():
    """Return a conversation with an agent of this test."""
    conversation = Agent()
    yield conversation
    conversation.close()


@pytest.fixture
def marker():
    """Return a number of seconds, about a day, that no other program has in its argument list."""
    return f"86400.{os.getpid()}{next(_count):04}"


@pytest.fixture
def gate(tmp_path):
    """Return a gate at which programs wait until the test lets them go on."""
    fifo = Gate(tmp_path / "gate")
    yield fifo
    fifo.close()


@pytest.fixture
def own_directories(tmp_path, monkeypatch):
    """Keep what becalm writes in directories of this test, and check that nothing of a connection is left."""
    use_directories(monkeypatch, tmp_path)
    # Not tmp_path, because sockets go there, whose paths are short.
    with tempfile.TemporaryDirectory() as temporary:
        monkeypatch.setenv("TMPDIR", temporary)
        monkeypatch.setattr(tempfile, "tempdir", temporary)
        yield
        forget_spools(tmp_path / "XDG_STATE_HOME")
        assert not list(Path(temporary).glob("becalm-ssh-*")), "a connection's directory was left"


def forget_spools(state):
    """Remove what is on "another machine" for becalms that nobody will start again."""
    for path in state.glob("becalm/spool/*"):
        if place := place_in(path.read_bytes().partition(b"\n")[0]):
            Path(place["spool"]).unlink(missing_ok=True)
