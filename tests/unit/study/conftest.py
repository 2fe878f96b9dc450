"""The fixtures of tests of studies."""

from tests.support.recorded_move import root  # noqa: F401
