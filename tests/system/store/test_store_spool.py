"""Spools in a store of PostgreSQL."""

from tests.suites.store_spool import *  # noqa: F403
