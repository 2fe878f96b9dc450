"""The fixtures of tests of sources of programs."""

from tests.support.phoronix_suite import suite  # noqa: F401
