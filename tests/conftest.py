"""For all tests: what a test is marked to need is there before it begins; a database server that many of them share."""

import signal

import pytest
from tests import needs, postgresql

# Under nohup hang-ups are ignored, and by all programs that a test starts: those that try one would wait for ever.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs"):
        needs.need(*mark.args)


@pytest.fixture(scope="session")
def postgresql_server():
    """Where a private PostgreSQL server is (`tests.postgresql.database`)."""
    with postgresql.serving() as server:
        yield server
