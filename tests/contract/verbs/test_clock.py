"""The timers of a simulated scheduler: it has none."""

import pytest

import becalm
from becalm.errors import UsageError


def test_a_simulated_scheduler_has_no_timers():
    with pytest.raises(UsageError, match="sim:cfs has no processor whose timers"):
        becalm.clock(host="sim:cfs", timers=("barrier",))
