"""Trees in memory, a home directory and becalm's command line."""

from tests.support.command_line import becalm, home  # noqa: F401
from tests.support.memory_directory import tmp_path  # noqa: F401
