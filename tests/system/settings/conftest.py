"""A home directory for each test."""

from tests.support.command_line import home  # noqa: F401
