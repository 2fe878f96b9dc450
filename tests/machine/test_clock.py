"""The evaluation of this machine's timers, with its own clock: events, reasons, an end; no assertion about speed."""

import ctypes.util
import json
import os
import subprocess
import sys

import pytest
from tests.needs import missing

from becalm.errors import UsageError
from becalm.hosts.timer_evaluation import evaluate

pytestmark = pytest.mark.machine

ASKED = {"budget_ns": 1_000_000_000, "filter": "robust", "search": "grid", "seed": 1}


def test_the_agent_tells_trust_then_cells_then_the_end():
    events = list(evaluate({**ASKED, "timers": ["barrier", "clock_gettime call"], "flushes": ["L1", "L2"]}))
    assert events[0]["event"] == "trust"
    assert events[-1]["event"] == "done"
    cells = [each for each in events if each["event"] == "cell"]
    absent = {each["flush"] for each in events if each["event"] == "absent"}
    assert {each["flush"] for each in cells} | absent == {"L1", "L2"}
    # A system call costs more than an instruction on any machine.
    costs = {each["timer"]: each["smallest_cost"] for each in cells if each["flush"] == "L1"}
    assert costs["barrier"] < costs["clock_gettime call"]
    for each in cells:
        assert (each["t_min"] is None) == bool(each["no_t_min"])


def test_papi_is_measured_where_it_is_installed():
    if ctypes.util.find_library("papi") is None:
        missing("PAPI is not installed: apt-get install libpapi-dev")
    names = ["PAPI_get_real_nsec", "PAPI_get_real_cyc", "PAPI_read", "barrier"]
    events = list(evaluate({**ASKED, "timers": names, "flushes": ["L1"]}))
    cells = {each["timer"]: each for each in events if each["event"] == "cell"}
    # PAPI_get_real_nsec is a system call, past the vDSO.
    assert cells["PAPI_get_real_nsec"]["smallest_cost"] > cells["barrier"]["smallest_cost"]
    assert "PAPI_get_real_cyc" in cells
    reasons = {each["timer"]: each["reason"] for each in events if each["event"] == "absent"}
    assert "PAPI_read" in cells or "PAPI" in reasons["PAPI_read"]


def test_what_names_nothing_is_refused_in_words():
    with pytest.raises(UsageError, match="sundial is not a timer; there are: barrier"):
        list(evaluate({**ASKED, "timers": ["sundial"]}))


def test_the_command_prints_json(tmp_path):
    line = [sys.executable, "-m", "becalm", "clock", "--budget", "500ms", "--timer", "barrier", "--flush", "L1"]
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run([*line, "--json"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cells"][0]["timer"] == "barrier"
