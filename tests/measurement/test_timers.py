"""The costs of this machine's timers."""

import pytest
from tests.contract.clock.test_clock import NO_CHAIN, evaluated


def costs(events, flush):
    """Return the smallest cost of each timer that was measured at a flush; the others must have their reason."""
    cells = {event["timer"]: event for event in events if event["event"] == "cell" and event["flush"] == flush}
    for event in events:
        if event["event"] == "absent" and event["timer"] and event["flush"] == flush and event["timer"] not in cells:
            assert NO_CHAIN in event["reason"]
    return {name: cell["smallest_cost"] for name, cell in cells.items()}


@pytest.mark.parametrize("call", ["clock_gettime call", "PAPI_get_real_nsec"])
def test_a_system_call_costs_more_than_an_instruction(call):
    """PAPI_get_real_nsec does not use the vDSO."""
    events = evaluated(timers=["barrier", call], flushes=["L1"], budget_ns=1_000_000_000)
    if events is None:
        return
    smallest = costs(events, "L1")
    print(smallest)
    if len(smallest) == 2:
        assert smallest["barrier"] < smallest[call]
