"""The fixtures of system tests outside of guests."""

from tests.machine_fixtures import agent, own_directories  # noqa: F401
