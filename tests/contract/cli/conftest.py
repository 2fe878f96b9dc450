"""The command line in this process: `becalm(*words)` runs a command as a person types it."""

from tests.support.command_line import becalm, home  # noqa: F401
