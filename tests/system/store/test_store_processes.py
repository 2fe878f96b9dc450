"""Processes that write into one store in a store of PostgreSQL."""

from tests.suites.store_processes import *  # noqa: F403
