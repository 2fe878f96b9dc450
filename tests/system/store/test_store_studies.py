"""Studies, runs and imports in a store of PostgreSQL."""

from tests.suites.store_studies import *  # noqa: F403
