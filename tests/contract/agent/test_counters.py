"""Counting cycles and instructions, with the kernel's own events in their places: these are on every machine.

The path is the same from the system call to the columns: a pair of events, inherited by all that a program starts.
"""

import sys

import pytest
from tests.contract.conversation import Agent, needs_root, observed, sh

from becalm import hosts

NAMES = ("cycles", "instructions", "counters_enabled_ns", "counters_running_ns", "counters_scope")


@pytest.fixture
def counting():
    """Return an agent that counts CPU time in ns as `cycles`, and page faults as `instructions`."""
    agent = Agent("--count", "task-clock,page-faults")
    yield agent
    agent.close()


def known(done):
    """Skip where a sandbox lets nobody count, with the reason that the agent reports."""
    if "counters" in done["unknown"]:
        assert "refuses" in done["unknown"]["counters"] or "built without" in done["unknown"]["counters"]
        pytest.skip(done["unknown"]["counters"])


def test_only_events_of_the_program_are_counted(counting):
    """Compare a program that does nothing with one that touches 16 MiB, a page fault for each page."""
    _, (idle,), _, done = observed(counting, "true")
    known(done)
    touch = "kept = bytearray(range(256)) * 65536"
    (run,), (load,), _, _ = observed(counting, sys.executable, "-S", "-c", touch)
    assert run["minor_faults"] > 4096
    assert load["instructions"] > 4096 + idle["instructions"]
    assert load["cycles"] > 0
    assert load["counters_running_ns"] == load["counters_enabled_ns"] > 0, "nobody else wants these"


def test_children_of_children_are_counted_whether_anybody_waits_for_them_or_not(counting):
    (run,), (alone,), _, done = observed(counting, *sh("true"))
    known(done)
    deep = "for i in 1 2 3 4 5 6 7 8; do sh -c 'sh -c true & exec true'; done; wait"
    (many,), (load,), _, _ = observed(counting, *sh(deep))
    assert many["minor_faults"] > 4 * run["minor_faults"]
    assert load["instructions"] > 4 * alone["instructions"]


def test_short_runs_are_summed(counting):
    runs, loads, _, done = observed(counting, "true", steps=30)
    known(done)
    assert sum(load["last"] + 1 - load["first"] for load in loads) == len(runs) == 30
    assert sum(load["instructions"] for load in loads) > 30


@needs_root
def test_of_root_the_kernels_own_work_is_counted_too(counting):
    _, (load,), _, done = observed(counting, "true")
    known(done)
    assert load["counters_scope"] == "all"


def test_without_a_counter_the_reason_is_in_the_block_and_by_doctor(agent):
    _, (load,), _, done = observed(agent, "true")
    with hosts.open("local") as host:
        ability = next(ability for ability in host.facts()["abilities"] if ability["name"] == "hardware_counters")
    if ability["have"]:
        assert load["cycles"] is None or load["cycles"] > 0
        assert load["counters_running_ns"] is not None
    else:
        assert [load[name] for name in NAMES] == [None] * len(NAMES), "unknown, and never zero"
        assert done["unknown"]["counters"].split(" (")[0] in ability["reason"]
