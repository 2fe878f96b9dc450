"""Set-up of the suites that run in this tier."""

import pytest

pytest.register_assert_rewrite("tests.suites")
