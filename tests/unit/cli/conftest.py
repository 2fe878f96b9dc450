"""The command line in this process: `becalm(*words)` runs a command as a person types it."""

import pytest
from click.shell_completion import BashComplete
from tests.support.command_line import becalm, home  # noqa: F401
from tests.support.no_repository import no_repository  # noqa: F401


@pytest.fixture
def any_bash(monkeypatch):
    """Write completion scripts without asking bash for its version."""
    monkeypatch.setattr(BashComplete, "_check_version", staticmethod(lambda: None))
