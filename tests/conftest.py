"""For all tests: what a test is marked to need is there before it begins; a database server that many of them share."""

import os
import signal
import tempfile

import pytest
from tests import needs, postgresql

# Under nohup hang-ups are ignored, and by all programs that a test starts: those that try one would wait for ever.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# dask-jobqueue and matplotlib make a folder in the home of whoever imports them: here in one that goes with us.
FOREIGN = tempfile.TemporaryDirectory(prefix="becalm-tests-foreign-")
for name in ("DASK_CONFIG", "MPLCONFIGDIR"):
    os.environ[name] = os.path.join(FOREIGN.name, name)


def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs"):
        needs.need(*mark.args)


@pytest.fixture(scope="session")
def postgresql_server():
    """Where a private PostgreSQL server is (`tests.postgresql.database`)."""
    with postgresql.serving() as server:
        yield server
