"""The size of statistical simulations and property tests: small in `make test`, large in `make test-long`.

`BECALM_SAMPLES=long` selects the large size. Seeds are fixed in both, so a test gives the same answer every time.
"""

import os
from typing import TypeVar

from hypothesis import settings

LONG = os.environ.get("BECALM_SAMPLES") == "long"
"""Whether the large sizes are used."""

settings.register_profile("default-samples", derandomize=True, deadline=None, max_examples=40, database=None)
settings.register_profile("long-samples", derandomize=True, deadline=None, max_examples=1000, database=None)


Size = TypeVar("Size")


def samples(usual: Size, long: Size) -> Size:
    """Return the size of a simulation, or the cases to try: `usual`, or `long` in the long profile."""
    return long if LONG else usual


def load_profile() -> None:
    """Select the Hypothesis profile that goes with the number of samples."""
    settings.load_profile("long-samples" if LONG else "default-samples")
