"""Guests, other machines and workers of clusters, through the suite of hosts."""

import pytest
from tests.suites.hosts import *  # noqa: F403
from tests.suites.hosts import trials


@pytest.fixture(params=trials("system"))
def trial(request):
    """Return a row, and a name of its kind."""
    row, name = request.param
    return row, name or request.getfixturevalue(f"{row.kind}_trial")
