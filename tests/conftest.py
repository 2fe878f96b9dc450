"""Set-up for all tests: the tier of a test decides what it may use and whether it runs.

A test's tier is the first folder below `tests`: unit and property use memory only, contract and system need the agent,
measurement a quiet machine. Tests marked `long` run with BECALM_SAMPLES=long only.
"""

import gc
import os
import signal
import tempfile
from contextlib import nullcontext

import pytest
from tests import memory_only, needs, postgresql, samples
from tests.fixtures import (  # noqa: F401
    facts,
    facts_of,
    floor,
    name,
    replay,
    store,
    study,
    trouble,
)
from tests.places import ROOT

from becalm import system_clock

# nohup ignores SIGHUP, and a shell SIGINT for what it runs in the background. The programs that a test starts would
# ignore them too, and those that wait for such a signal would wait for ever.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
# SIGTERM ends the tests as Ctrl-C does: fixtures restore what they changed. Not so in a process that a test forks.
signal.signal(signal.SIGTERM, signal.default_int_handler)
os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))

# becalm, browsers, dask-jobqueue and matplotlib keep their files in a directory that goes with this process.
HOME = tempfile.TemporaryDirectory(prefix="becalm-tests-home-")
for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "DASK_CONFIG", "MPLCONFIGDIR"):
    os.environ[variable] = os.path.join(HOME.name, variable)
# With these variables of a developer's, tests would write to the developer's store, or read scripted figures.
for variable in ("BECALM_STORE", "BECALM_TEST_SCRIPT", "BECALM_TRACE"):
    os.environ.pop(variable, None)

MEMORY_ONLY = ("unit", "property")


def tier(item) -> str:
    """Return the first folder below `tests` of a test."""
    return item.path.relative_to(ROOT / "tests").parts[0]


def pytest_configure():
    samples.load_profile()


def pytest_collection_modifyitems(config, items):
    """Leave out the tests marked `long`, but in the long profile."""
    if samples.LONG:
        return
    long = [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


def pytest_collection_finish():
    """Have the garbage collector ignore the tests themselves, which all stay; it takes a tenth of the unit tier."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Guard the tests of the memory-only tiers, fixtures of all scopes included."""
    with memory_only.guard() if tier(item) in MEMORY_ONLY else nullcontext():
        return (yield)


def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs"):
        needs.need(*mark.args)


@pytest.fixture
def clock():
    """Return the fake clock of a memory-only test."""
    return system_clock.current


@pytest.fixture(scope="session")
def postgresql_server():
    """Return where a private PostgreSQL server is (`tests.postgresql.database`)."""
    with postgresql.serving() as server:
        yield server
