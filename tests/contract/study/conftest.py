"""The fixtures of tests of studies."""

from tests.support.recorded_move import root, rows  # noqa: F401
