"""Set-up of the suites of this tier."""

import os

import pytest

pytest.register_assert_rewrite("tests.suites")


@pytest.fixture
def as_root():
    if os.geteuid() != 0:
        pytest.skip("Settings of the machine need root.")
