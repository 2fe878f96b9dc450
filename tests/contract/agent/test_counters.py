"""Counting cycles and instructions, with the kernel's own events in their places: these are on every machine.

The path is the same from the system call to the columns: a pair of events, inherited by all that a program starts.
"""

import pytest
from tests.contract.conversation import Agent, sh
from tests.contract.load.test_load_records import cpu_ns, needs_root, observed, spinning

from becalm import hosts

NAMES = ("cycles", "instructions", "counters_enabled_ns", "counters_running_ns", "counters_scope")


@pytest.fixture
def counting():
    """What is counted: CPU time in ns as `cycles`, page faults as `instructions`."""
    made = Agent("--count", "task-clock,page-faults")
    yield made
    made.close()


def known(done):
    """Skips where a sandbox lets nobody count, which is then said."""
    if "counters" in done["unknown"]:
        assert "refuses" in done["unknown"]["counters"] or "built without" in done["unknown"]["counters"]
        pytest.skip(done["unknown"]["counters"])


def test_what_a_program_did_is_counted_and_nobody_elses(counting):
    _, (idle,), _, done = observed(counting, "sleep", "0.2")
    known(done)
    (run,), (load,), _, _ = observed(counting, *spinning(0.3))
    assert 0.5 * cpu_ns(run) < load["cycles"] < 1.5 * cpu_ns(run)
    assert idle["cycles"] < load["cycles"] / 2
    assert 0.5 * run["minor_faults"] < load["instructions"] < 2 * run["minor_faults"] + 100
    assert load["counters_running_ns"] == load["counters_enabled_ns"] > 0, "nobody else wants these"


def test_children_of_children_are_counted_whether_anybody_waits_for_them_or_not(counting):
    (one,), (alone,), _, done = observed(counting, *sh("sleep 0.15"))
    known(done)
    deep = "for i in 1 2 3 4 5 6 7 8; do sh -c 'sh -c true & exec true'; done; sleep 0.15"
    (many,), (load,), _, _ = observed(counting, *sh(deep))
    assert many["minor_faults"] > 4 * one["minor_faults"]
    assert load["instructions"] > 4 * alone["instructions"]


def test_short_runs_are_summed(counting):
    runs, loads, _, done = observed(counting, "true", steps=30)
    known(done)
    faults, counted = sum(run["minor_faults"] for run in runs), sum(load["instructions"] for load in loads)
    assert 0.5 * faults < counted < 2 * faults + 1000


@needs_root
def test_of_root_the_kernels_own_work_is_counted_too(counting):
    _, (load,), _, done = observed(counting, "sleep", "0.15")
    known(done)
    assert load["counters_scope"] == "all"


def test_without_a_counter_the_reason_is_told_in_the_block_and_by_doctor(agent):
    _, (load,), _, done = observed(agent, "sleep", "0.15")
    with hosts.open("local") as host:
        ability = next(each for each in host.facts()["abilities"] if each["name"] == "hardware_counters")
    if ability["have"]:
        assert load["cycles"] is None or load["cycles"] > 0
        assert load["counters_running_ns"] is not None
    else:
        assert [load[name] for name in NAMES] == [None] * len(NAMES), "unknown, and never zero"
        assert done["unknown"]["counters"].split(" (")[0] in ability["reason"]
