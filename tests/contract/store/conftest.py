"""Stores for the tests of this folder."""

import pytest
from tests.support.open_store import location, store  # noqa: F401

pytest.register_assert_rewrite("tests.suites")
