"""A home directory and becalm's command line."""

from tests.support.command_line import becalm, home  # noqa: F401
