"""Set-up of the suites of this tier."""

import pytest

pytest.register_assert_rewrite("tests.suites")
