"""Every host in memory, through the suite of hosts."""

import pytest
from tests.suites.hosts import *  # noqa: F403
from tests.suites.hosts import trials


@pytest.fixture(params=trials("unit"))
def trial(request):
    """Return a row, and a name of its kind."""
    return request.param
