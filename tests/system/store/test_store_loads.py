"""Records of load in a store of PostgreSQL."""

from tests.suites.store_loads import *  # noqa: F403
