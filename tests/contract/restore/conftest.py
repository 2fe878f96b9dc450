"""Trees in memory."""

from tests.support.memory_directory import tmp_path  # noqa: F401
