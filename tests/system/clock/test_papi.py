"""The timers of PAPI, where it is installed."""

import ctypes.util

from tests.contract.clock.test_clock import evaluated
from tests.measurement.test_timers import costs
from tests.needs import missing


def test_papi_is_measured_where_it_is_installed():
    if ctypes.util.find_library("papi") is None:
        missing("PAPI is not installed: apt-get install libpapi-dev")
    names = ["PAPI_get_real_nsec", "PAPI_get_real_cyc", "PAPI_read", "barrier"]
    events = evaluated(timers=names, flushes=["L1"])
    if events is None:
        return
    cost_table = costs(events, "L1")
    assert all(cost > 0 for cost in cost_table.values())
    unusable = {
        event["timer"]: event["reason"] for event in events if event["event"] == "absent" and not event["flush"]
    }
    assert "PAPI_get_real_cyc" not in unusable
    assert "PAPI" in unusable.get("PAPI_read", "PAPI")
