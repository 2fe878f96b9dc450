"""The fixtures of tests through SSH: another machine to log in to."""

import secrets
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.contract.conftest import tree  # noqa: F401
from tests.system.ssh.far import Far

from becalm.hosts import aliases
from becalm.hosts.ssh import connect, install


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Return one server for the tests that do not harm it."""
    path = tmp_path_factory.mktemp("far")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(path / "config"))
        server = Far(path / "machine")
    yield server
    server.close()


@pytest.fixture
def far(shared, own_directories):
    """Return the server, reached as usual under its name."""
    shared.configure()
    shared.known_hosts(shared.path / "host_key.pub")
    aliases.add("far", "ssh://far", str(shared.path / "ssh_config"))
    return shared


@pytest.fixture
def spools(monkeypatch):
    """Return the spools there of the agents that are started, a list that grows."""
    paths = []

    def token_hex(size):
        token = secrets.token_hex(size)
        paths.append(Path(f"{install.SPOOL}{token}"))
        return token

    monkeypatch.setattr(connect, "secrets", SimpleNamespace(token_hex=token_hex))
    return paths
