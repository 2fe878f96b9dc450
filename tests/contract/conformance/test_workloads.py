"""Sources that ask programs for their benchmarks, through the suite of sources."""

import pytest
from tests.suites.workloads import *  # noqa: F403
from tests.suites.workloads import kinds


@pytest.fixture(params=kinds(started=True))
def kind(request):
    return request.param
