"""The figures of runs on this machine against what is known of their programs: CPU time, waiting, copies."""

import os
import sys
import time

import pytest
from tests.contract.conversation import cpu_ns, sh, spinners

SCHEDSTAT = os.path.exists("/proc/self/schedstat")


def test_a_run_lasts_at_least_as_long_as_it_slept(agent):
    before = time.time_ns()
    (row,), _ = agent.run(*sh("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.02"))
    print(row)
    assert row["wall_ns"] >= 20_000_000
    assert 0 < cpu_ns(row) <= row["wall_ns"] * 1.5
    assert before <= row["started_ns"] <= time.time_ns()


@pytest.mark.skipif(not SCHEDSTAT, reason="this kernel keeps no run-queue wait (no /proc/PID/schedstat)")
def test_waiting_for_a_cpu_is_seen(agent):
    cpu = min(os.sched_getaffinity(0))
    spin = sh("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
    with spinners(1, cpu):
        (row,), _ = agent.run(*spin, settings={"cpus": str(cpu)})
    print(f"waited for {row['wait_ns'] / row['wall_ns']:.0%} of its time")
    assert row["wait_ns"] > 0.1 * row["wall_ns"], "half the time should have been the other's"


def test_the_cpu_time_of_copies_is_added_up(agent):
    """Three times the CPU time that each of them measures; the time of the run is that of the longest."""
    spin = "import time\nwhile time.process_time() < 0.1: pass"
    (row,), _ = agent.run(sys.executable, "-c", spin, copies=3)
    print(f"{cpu_ns(row) / 1e6:.0f} ms of CPU time in {row['wall_ns'] / 1e6:.0f} ms")
    assert cpu_ns(row) >= 3 * 0.1e9
    assert row["wall_ns"] >= max(0.1e9, cpu_ns(row) / os.cpu_count() * 0.9)
