"""Counts of the kernel's events next to what it tells of the same runs elsewhere."""

from tests.contract.agent.test_counters import counting, known  # noqa: F401
from tests.contract.conversation import cpu_ns, observed, spinning


def test_only_events_of_the_program_are_counted(counting):  # noqa: F811
    _, (idle,), _, done = observed(counting, "sleep", "0.2")
    known(done)
    (run,), (load,), _, _ = observed(counting, *spinning(0.3))
    assert 0.5 * cpu_ns(run) < load["cycles"] < 1.5 * cpu_ns(run)
    assert idle["cycles"] < load["cycles"] / 2
    assert 0.5 * run["minor_faults"] < load["instructions"] < 2 * run["minor_faults"] + 100
    assert load["counters_running_ns"] == load["counters_enabled_ns"] > 0, "nobody else wants these"


def test_short_runs_are_summed(counting):  # noqa: F811
    runs, loads, _, done = observed(counting, "true", steps=30)
    known(done)
    faults, counted = sum(run["minor_faults"] for run in runs), sum(load["instructions"] for load in loads)
    assert 0.5 * faults < counted < 2 * faults + 1000
