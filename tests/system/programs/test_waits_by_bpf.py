"""Waits for a CPU, counted by a program in the kernel: who ran meanwhile, and the program itself."""

import os
import subprocess
import sys

import pytest
from tests.needs import missing, need

import becalm
from becalm.errors import MachineError, UsageError

BUSY = [sys.executable, "-S", "-c", "while True: pass"]
WORK = [sys.executable, "-S", "-c", "for _ in range(3_000_000): pass"]


@pytest.fixture
def run():
    """Return a function that measures a program on one CPU, and returns what it waited for."""
    need("clang")
    cpu = max(os.sched_getaffinity(0))

    def measure(command):
        try:
            verdict = becalm.run(command, runs=4, by="bpf", settings={"cpus": str(cpu)}, store=False)
        except (MachineError, UsageError) as error:
            if "built without" in str(error):
                missing(f"{error} (make bpf)")
            pytest.skip(str(error))
        return next((finding.numbers for finding in verdict.findings if finding.kind == "waits"), None)

    measure.cpu = cpu
    return measure


def test_the_process_that_ran_on_the_cpu_is_named_with_one_share(run):
    with subprocess.Popen(BUSY, preexec_fn=lambda: os.sched_setaffinity(0, {run.cpu})) as busy:
        try:
            waits = run(WORK)
        finally:
            busy.kill()
    culprits = {culprit["pid"]: culprit for culprit in waits["culprits"]}
    assert culprits[busy.pid]["basis"] == "counted"
    assert culprits[busy.pid]["low"] == culprits[busy.pid]["high"]


def test_waits_of_a_program_for_its_own_tasks_are_its_own(run):
    words = " ".join(f"'{word}'" for word in WORK)
    waits = run(["sh", "-c", f"{words} & {words} & {words}; wait"])
    assert waits["own_ns"] > 0
    assert all(culprit["basis"] == "counted" for culprit in waits["culprits"])
