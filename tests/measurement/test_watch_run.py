"""`becalm watch -- COMMAND` on this machine: a run that waits for its CPU, and one that is slower than before."""

import os
import sys

import pytest
from tests.contract.conversation import spinners

import becalm


@pytest.fixture
def store(tmp_path):
    """Return the path of a store of this test."""
    return str(tmp_path / "becalm.db")


def work(seconds):
    """Return a program that uses so much CPU time, however long that takes."""
    return [sys.executable, "-c", f"import time\nwhile time.process_time() < {seconds}: pass"]


def test_a_run_alone_is_hardly_delayed(store):
    watched = becalm.watch(work(0.3), output="discard", store=store)
    print(watched.sentence)
    assert watched.delay_factor >= 0.9
    assert {course.name for course in watched.courses} >= {"cpu", "queue"}


def test_run_queue_waits_explain_the_delay_on_a_shared_cpu(store):
    """Two others on the same CPU: the wait that the kernel counted and the CPU time are the wall time (to 5 %: the
    machine may have its own work, and steal). They count from the fork, the wall time from the program's own start,
    for which it has to wait, too."""
    cpu = min(os.sched_getaffinity(0))
    with spinners(2, cpu):
        watched = becalm.watch(work(0.5), output="discard", store=store, settings={"cpus": str(cpu)})
    assert watched.delay_factor > 1.3
    assert watched.waterfall.largest.name == "run-queue wait"
    before_its_start = 100e6 / watched.run.wall_ns
    assert 0.95 <= watched.delay.exact / watched.delay_factor <= 1.05 + before_its_start
    assert "waiting for a CPU" in watched.sentence


def test_twice_the_work_is_slower_execution(store):
    becalm.run(work(0.05), runs=3, store=store)
    watched = becalm.watch(work(0.1), output="discard", store=store, reference="last")
    print(watched.sentence)
    assert watched.delay.reference_ns < watched.run.wall_ns
    assert watched.waterfall["slower execution"].ns > 0, "twice the work"
