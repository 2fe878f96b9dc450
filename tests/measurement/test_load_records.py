"""Records of load around runs against what the kernel tells elsewhere: CPU time, waits, pressure, consumers."""

import itertools
import os
import pwd
import sys
import time

import pytest
from tests.contract.conversation import (
    Agent,
    cpu_ns,
    needs_root,
    observed,
    sh,
    spinners,
    spinning,
    unified_group,
)

ROUNDING_NS = 500_000
"""The difference that two clocks may have: that of the scheduler, which it reads now and then, and that of the
agent."""


def test_short_runs_are_taken_together(agent):
    began = time.monotonic()
    runs, loads, _, _ = observed(agent, "true", steps=300)
    took = time.monotonic() - began
    assert loads[0]["first"] == 0
    assert loads[-1]["last"] == 299
    assert all(first["last"] + 1 == second["first"] for first, second in itertools.pairwise(loads))
    assert len(loads) <= took / 0.1 + 1
    for load in loads:
        mine = [run for run in runs if load["first"] <= run["seq"] <= load["last"]]
        # What a process does before it becomes the program, some microseconds, is in the sums of its run alone.
        total = sum(map(cpu_ns, mine))
        assert total - 50_000 * len(mine) < load["exec_ns"] < 1.02 * total


@needs_root
def test_a_whole_tree_is_summed_exactly(agent):
    script = "for i in 1 2 3 4 5; do (true; true) & done; wait; " + f'{sys.executable} -S -c "{spinning(0.1)[-1]}"'
    (run,), (load,), _, _ = observed(agent, *sh(script))
    # User and system time add up to what the scheduler counted (kernel/sched/cputime.c, cputime_adjust).
    assert load["exec_ns"] == pytest.approx(cpu_ns(run), rel=0.01)
    assert load["wait_ns"] >= run["wait_ns"], "the leader is one of them"


@needs_root
def test_threads_are_summed_too(agent):
    threads = """
import threading
def spin():
    import time
    while time.thread_time() < 0.05: pass
made = [threading.Thread(target=spin) for _ in range(4)]
[each.start() for each in made]
[each.join() for each in made]
"""
    (run,), (load,), _, _ = observed(agent, sys.executable, "-c", threads)
    assert load["tasks"] == 5
    assert load["exec_ns"] == pytest.approx(cpu_ns(run), rel=0.01)
    assert load["exec_ns"] >= 200_000_000


def test_time_of_a_spinner_is_running_or_waiting(agent):
    """On a CPU with two others of the same session its time is all spent on the CPU or its run queue."""
    with spinners(2, 0):
        (run,), (load,), _, _ = observed(agent, *spinning(0.4), settings={"cpus": "0"})
    assert load["wait_ns"] > 0.2 * load["exec_ns"], "it had to wait"
    assert load["exec_ns"] == pytest.approx(cpu_ns(run), rel=0.01)
    known = load["exec_ns"] + load["wait_ns"]
    assert known <= 1.02 * run["wall_ns"]
    assert known >= 0.98 * (run["wall_ns"] - (load["steal_ns"] or 0))


def test_waits_before_a_run_begins_are_not_counted(agent):
    """Next to others a new process waits for its turn on its CPU: before a run has begun there is no time to wait "
    "in."""
    cpu = min(os.sched_getaffinity(0))
    with spinners(6, cpu):
        runs, loads, *_ = observed(agent, "/bin/true", steps=12, settings={"cpus": str(cpu)})
    assert len(runs) == 12
    for run in runs:
        assert run["wait_ns"] <= run["wall_ns"] + ROUNDING_NS, run
    for load in loads:
        inside = [run for run in runs if load["first"] <= run["seq"] <= load["last"]]
        assert load["wait_ns"] <= sum(run["wall_ns"] + ROUNDING_NS for run in inside), load


@needs_root
@pytest.mark.parametrize("options", [(), ("--group",)])
def test_an_ordinary_user_sees_the_cpu_time_of_the_leader(options):
    nobody = pwd.getpwnam("nobody")
    agent = Agent(*options, user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])
    try:
        # The interpreter of the tests may be in a directory of root's.
        (run,), (load,), _, _ = observed(agent, *sh("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"))
    finally:
        agent.close()
    assert load["exec_ns"] == pytest.approx(cpu_ns(run), rel=0.01)


def test_a_series_names_who_used_the_cpus(agent):
    with spinners(1, 0) as (other,):
        _, _, (series,), _ = observed(agent, *spinning(0.6), load="series")
    assert len(series["rows"]) >= 3
    assert other.pid in [consumer["pid"] for consumer in series["consumers"]]


@needs_root
@pytest.mark.skipif(unified_group() is None, reason="no group of version 2 can be made here")
def test_the_pressure_on_the_cpu_of_the_programs_is_seen(agent):
    with spinners(1, 0):
        _, (load,), _, _ = observed(agent, *spinning(0.3), settings={"cpus": "0"})
    if (unified_group() / f"becalm-{agent.process.pid}/cpu.pressure").exists():
        print(f"waited for {load['own_cpu_pressure_ns'] / load['interval_ns']:.0%} of its time")
        assert 0 < load["own_cpu_pressure_ns"] <= load["interval_ns"]
