"""This machine and the simulator of schedulers, through the suite of hosts."""

import pytest
from tests.suites.hosts import *  # noqa: F403
from tests.suites.hosts import trials

pytestmark = pytest.mark.xdist_group("settings")


@pytest.fixture(params=trials("contract"))
def trial(request):
    """Return a row, and a name of its kind."""
    return request.param
