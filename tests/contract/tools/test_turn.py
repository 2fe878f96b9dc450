"""Runs of tests: the turn of those that change settings of the machine, and the end by a signal."""

import os
import signal
import subprocess
import sys

import pytest
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
        assert process.stdout.readline().startswith("Other tests are using the settings")
        first.close()
        assert process.stdout.read() == "its turn\n"
    assert process.returncode == 0


RUN = """
import sys, run_tests
run_tests.TIERS["unit"] = lambda words: [["sh", "-c", sys.argv[1]], ["echo", "another command"]]
run_tests.turn = lambda: run_tests.contextlib.nullcontext()
print("exit code", run_tests.main(["unit", "contract"]))
"""
RESTORES = "trap 'read end; echo restored; exit 2' INT TERM; echo begun; while :; do read word; done"
"""A command that takes its time to end after a signal, as tests with settings to restore do."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_when_its_command_has_restored(number):
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, RESTORES], cwd=ROOT / "tools", text=True, process_group=0,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    with process:
        assert process.stdout.readline() == "begun\n"
        # As a terminal does, to the whole group; any other signal is sent to one process.
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        process.stdin.write("end\n")
        process.stdin.close()
        lines = process.stdout.read().splitlines()
    assert lines[0] == "restored"
    assert lines[-1] == f"exit code {128 + number}"
    assert "another command" not in lines


def test_a_run_that_waits_for_its_turn_can_be_interrupted():
    name = f"becalm-tests-waiting-{os.getpid()}"
    code = "import sys, run_tests; run_tests.Runner(); run_tests.turn(sys.argv[1])"
    with run_tests.turn(name):
        process = subprocess.Popen(
            [sys.executable, "-c", code, name], cwd=ROOT / "tools", text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        with process:
            assert process.stdout.readline().startswith("Other tests are using")
            process.send_signal(signal.SIGINT)
            assert process.stderr.read().rstrip().endswith("KeyboardInterrupt")
