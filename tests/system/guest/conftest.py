"""A machine with the emulated Debian, for the tests of a module."""

import pytest
from tests.system.guest.debian import Debian, install

from becalm.hosts import aliases
from becalm.hosts.ssh import reconnecting


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """A machine with the service that puts things back at its start; `bench` is its name for becalm, too."""
    path = tmp_path_factory.mktemp("restarts")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            patch.setenv(name, str(path / name))
        patch.setenv("BECALM_STORE", str(path / "runs.db"))
        # Where other work keeps the processors busy, an emulated machine takes long to come back.
        patch.setattr(reconnecting, "RETURN_SECONDS", 1200)
        made = Debian(path / "machine")
        aliases.add("bench", "ssh://ada@bench", str(made.config))
        try:
            made.switch_on()
            install(made, path / "tree")
            yield made
        finally:
            made.close()
