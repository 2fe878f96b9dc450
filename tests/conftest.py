"""For all tests: what a test is marked to need is there before it begins; a database server that many of them share."""

import os
import signal
import tempfile

import pytest
from tests import needs, postgresql

# Under nohup hang-ups are ignored, and by all programs that a test starts: those that try one would wait for ever.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Whoever runs the tests keeps their home as it is, and none finds anything there: what becalm, browsers, dask-jobqueue
# and matplotlib keep is in a folder that goes with us.
HOME = tempfile.TemporaryDirectory(prefix="becalm-tests-home-")
for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "DASK_CONFIG", "MPLCONFIGDIR"):
    os.environ[name] = os.path.join(HOME.name, name)


def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs"):
        needs.need(*mark.args)


@pytest.fixture(scope="session")
def postgresql_server():
    """Where a private PostgreSQL server is (`tests.postgresql.database`)."""
    with postgresql.serving() as server:
        yield server
