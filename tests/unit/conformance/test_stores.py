"""Every store that needs no server, through the suite of stores."""

import pytest
from tests.suites.stores import *  # noqa: F403
from tests.suites.stores import SERVERS

from becalm.store.location import TABLE


@pytest.fixture(params=[pytest.param(row, id=row.kind) for row in TABLE if row.kind not in SERVERS])
def row(request):
    return request.param
