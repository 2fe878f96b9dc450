"""The fixtures of tests that measure on a quiet machine."""

from tests.machine_fixtures import agent, gate, marker, own_directories  # noqa: F401
