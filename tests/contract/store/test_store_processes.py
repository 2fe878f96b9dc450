"""Processes that write into one store in a file."""

from tests.suites.store_processes import *  # noqa: F403
