"""A store for each test, and a small machine that does wrong what a test wants."""

import pytest
from small_machine import MODEL, Repeatable, Trouble

from becalm import hosts
from becalm.hosts import machine


@pytest.fixture
def store(tmp_path, monkeypatch):
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    path = tmp_path / "runs.db"
    monkeypatch.setenv("BECALM_STORE", str(path))
    return str(path)


@pytest.fixture
def trouble(tmp_path, monkeypatch, store):
    """What the host of the next studies does wrong; nothing yet."""
    path = tmp_path / "small.toml"
    path.write_text(MODEL)
    model, wrong = machine.read(path), Trouble()
    real = hosts.open

    def opened(name="local", access=None):
        return Repeatable(model, wrong) if name == "sim:small" else real(name, access)

    monkeypatch.setattr(hosts, "open", opened)
    return wrong
