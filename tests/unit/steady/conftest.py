"""The study that most tests of the report look at."""

from __future__ import annotations

import pytest
from confirmations import PROGRAM, TRUTH, confirmation, verdict

from becalm import steady
from becalm.steadiness import Steadiness


@pytest.fixture(scope="session")
def study() -> Steadiness:
    """A search that went well: two knobs help, two may go."""
    return verdict(steady.judge(confirmation(TRUTH), (PROGRAM,), margin=0.25))
