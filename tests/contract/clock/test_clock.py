"""The evaluation of this machine's timers, with its own clock: events, reasons, an end; no assertion about speed."""

import ctypes.util
import json
import os
import subprocess
import sys

import pytest
from tests.needs import missing

from becalm.errors import MachineError, UsageError
from becalm.hosts.timer_evaluation import evaluate

NO_CHAIN = "A multiplication took"
"""How the engine begins to say that additions do not take what they should, as beside load on the same core: there is
no work of a known length then, and nothing is measured, or not that cell."""

ASKED = {"budget_ns": 1_000_000_000, "filter": "robust", "search": "grid", "seed": 1}


def evaluated(**asked):
    """Events of an evaluation, or None where the machine is so busy that there is no chain of additions."""
    try:
        return list(evaluate({**ASKED, **asked}))
    except MachineError as refused:
        if NO_CHAIN not in str(refused):
            raise
        return None


def costs(events, flush):
    """The smallest cost of each timer that was measured at a flush; those that were not have their reason."""
    cells = {each["timer"]: each for each in events if each["event"] == "cell" and each["flush"] == flush}
    for each in events:
        if each["event"] == "absent" and each["timer"] and each["flush"] == flush and each["timer"] not in cells:
            assert NO_CHAIN in each["reason"]
    return {name: each["smallest_cost"] for name, each in cells.items()}


def test_the_agent_tells_trust_then_cells_then_the_end():
    events = evaluated(timers=["barrier", "clock_gettime call"], flushes=["L1", "L2"])
    if events is None:
        return
    assert events[0]["event"] == "trust"
    assert events[-1]["event"] == "done"
    cells = [each for each in events if each["event"] == "cell"]
    absent = {each["flush"] for each in events if each["event"] == "absent"}
    assert {each["flush"] for each in cells} | absent == {"L1", "L2"}
    # A system call costs more than an instruction on any machine.
    found = costs(events, "L1")
    if len(found) == 2:
        assert found["barrier"] < found["clock_gettime call"]
    for each in cells:
        assert (each["t_min"] is None) == bool(each["no_t_min"])


def test_papi_is_measured_where_it_is_installed():
    if ctypes.util.find_library("papi") is None:
        missing("PAPI is not installed: apt-get install libpapi-dev")
    names = ["PAPI_get_real_nsec", "PAPI_get_real_cyc", "PAPI_read", "barrier"]
    events = evaluated(timers=names, flushes=["L1"])
    if events is None:
        return
    found = costs(events, "L1")
    # PAPI_get_real_nsec is a system call, past the vDSO.
    if {"PAPI_get_real_nsec", "barrier"} <= set(found):
        assert found["PAPI_get_real_nsec"] > found["barrier"]
    unusable = {each["timer"]: each["reason"] for each in events if each["event"] == "absent" and not each["flush"]}
    assert "PAPI_get_real_cyc" not in unusable
    assert "PAPI" in unusable.get("PAPI_read", "PAPI")


def test_what_names_nothing_is_refused_in_words():
    with pytest.raises(UsageError, match="sundial is not a timer; there are: barrier"):
        list(evaluate({**ASKED, "timers": ["sundial"]}))


def test_the_command_prints_json(tmp_path):
    line = [sys.executable, "-m", "becalm", "clock", "--budget", "500ms", "--timer", "barrier", "--flush", "L1"]
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run([*line, "--json"], capture_output=True, text=True, env=environment)
    if done.returncode == 3 and NO_CHAIN in done.stderr:
        return
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    timers = [each["timer"] for each in found["cells"]]
    assert timers == ["barrier"] or NO_CHAIN in found["absences"][0]["reason"]
