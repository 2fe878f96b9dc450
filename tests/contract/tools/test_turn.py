"""Two runs of tests that change settings of the machine: the second waits for the end of the first."""

import os
import subprocess
import sys

import run_tests
from tests.places import ROOT

SECOND = "import sys, run_tests; run_tests.turn(sys.argv[1]); print('its turn', flush=True)"


def test_one_run_has_its_turn_at_a_time():
    name = f"becalm-tests-{os.getpid()}"
    first = run_tests.turn(name)
    process = subprocess.Popen(
        [sys.executable, "-c", SECOND, name], cwd=ROOT / "tools", stdout=subprocess.PIPE, text=True
    )
    with process, first:
        assert process.stdout.readline().startswith("Another checkout's tests")
        first.close()
        assert process.stdout.read() == "its turn\n"
    assert process.returncode == 0
