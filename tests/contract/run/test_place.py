"""A placement on real processes, by the agent: every thread is bound, and everything is as before, whatever happens."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.unit.analysis.corun_cases import profile
from tests.waiting import wait_for

from becalm.cli.main import becalm as group
from becalm.results.place_costs import Chip

pytestmark = [
    pytest.mark.xdist_group("settings"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one CPU alone"),
]

CPUS = tuple(sorted(os.sched_getaffinity(0)))[:2]
COSTS = np.array([[0, 0.02, 0.2], [0.02, 0, 0.2], [0.2, 0.2, 0]])

TASK = """
import os, sys, threading, time
for _ in range(3):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "fork":
        child = os.fork()
        if not child:
            time.sleep(600)
            os._exit(0)
        print(child, flush=True)
"""


@pytest.fixture
def reference(tmp_path, own_directories):
    """Return a profile of three tasks for two chips, the first of which has room for two: t0 and t1 belong together."""
    chips = (Chip(2, cpus=(CPUS[0], CPUS[0])), Chip(1, cpus=(CPUS[1],)))
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(profile(COSTS, [1, 1, 1], chips=chips, machine={}).to_json()))
    return str(path)


@contextmanager
def running(count=3):
    """Run processes of four threads each, which fork on request."""
    processes = [
        subprocess.Popen([sys.executable, "-c", TASK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    try:
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def becalm(*words):
    """Call becalm as on the command line; return its result."""
    return CliRunner().invoke(group, words)


def masks(process):
    """Return the CPUs of each thread of a process."""
    return [os.sched_getaffinity(int(tid)) for tid in os.listdir(f"/proc/{process.pid}/task")]


def machine_is_free():
    """Return whether no becalm changes this machine or has changed it."""
    value = json.loads(becalm("status", "--json").stdout)
    return value["busy"] is None and not value["places"]


def pairs(processes):
    return [word for number, process in enumerate(processes) for word in ("--pid", f"t{number}={process.pid}")]


def test_every_thread_is_bound_until_reset(reference):
    with running() as processes:
        before = [masks(process) for process in processes]
        assert [len(value) for value in before] == [4, 4, 4]
        done = becalm("place", reference, "--apply", *pairs(processes), "--json")
        assert done.exit_code == 0, done.output
        document = json.loads(done.stdout)
        assert document["processes"] == 3
        try:
            assert masks(processes[0]) == masks(processes[1]) == [{CPUS[0]}] * 4
            assert masks(processes[2]) == [{CPUS[1]}] * 4
            assert "process_cpus" in becalm("status").stdout
        finally:
            undone = becalm("reset")
        assert undone.exit_code == 0, undone.output
        assert [masks(process) for process in processes] == before


def test_processes_may_end_and_fork_while_placed(reference):
    with running() as processes:
        before = masks(processes[0])[0]
        assert becalm("place", reference, "--apply", *pairs(processes)).exit_code == 0
        try:
            print("fork", file=processes[0].stdin, flush=True)
            child = int(processes[0].stdout.readline())
            assert os.sched_getaffinity(child) == {CPUS[0]}
            processes[2].kill()
            processes[2].wait()
        finally:
            undone = becalm("reset")
        assert undone.exit_code == 0, undone.output
        assert os.sched_getaffinity(child) == before
        os.kill(child, signal.SIGKILL)


def test_until_ctrl_c_and_what_a_killed_becalm_leaves(reference):
    with running() as processes:
        before = [masks(process) for process in processes]
        for end in (signal.SIGINT, signal.SIGKILL):
            held = subprocess.Popen(
                [sys.executable, "-m", "becalm", "place", reference, "--apply", "--hold", *pairs(processes)],
                stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            assert "until Ctrl-C" in held.stderr.readline()
            assert masks(processes[2]) == [{CPUS[1]}] * 4
            held.send_signal(end)
            held.communicate()
            # Of a killed one the agent sees the end by itself.
            wait_for(machine_is_free, "the agent and its guard end")
            assert [masks(process) for process in processes] == before


def test_nothing_is_bound_where_one_cannot_be(reference):
    """Processes of others without rights; threads of the kernel not even with them."""
    number = 1 if os.geteuid() else 2
    if number == 2 and Path("/proc/2/comm").read_text() != "kthreadd\n":
        pytest.skip("threads of the kernel are not seen here")
    with running(1) as processes:
        pids = ["--pid", f"t0={processes[0].pid}", "--pid", f"t2={number}"]
        done = subprocess.run(
            [sys.executable, "-m", "becalm", "place", reference, "--apply", *pids, "--force"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode in (2, 3)
        assert done.stderr.startswith("becalm: ")
        assert len(done.stderr.splitlines()) == 1
        assert masks(processes[0])[0] == os.sched_getaffinity(0)
