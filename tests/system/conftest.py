"""The fixtures of system tests outside of guests."""

from tests.machine_fixtures import agent, gate, marker, own_directories  # noqa: F401
