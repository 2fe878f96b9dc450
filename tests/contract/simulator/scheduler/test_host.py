"""The hosts sim:cfs and sim:eevdf."""

from dataclasses import replace

import pytest
from tests.measuring import ran

import becalm
from becalm import hosts
from becalm.errors import UsageError
from becalm.nouns.run import Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload


def walls(name, program, settings=None, runs=3):
    with hosts.open(name) as host:
        host.define([Workload.of(program)], [Settings.of(settings or {})])
        return [run.wall_ns for run in ran(host, *(Step(0, 0, 0, number) for number in range(runs)))]


def test_without_jitter_all_runs_are_equal_and_with_it_none():
    assert len(set(walls("sim:cfs", "hackbench -g 1 -l 2"))) == 1
    assert len(set(walls("sim:eevdf?jitter=0.05", "hackbench -g 1 -l 2"))) == 3
    assert walls("sim:eevdf?jitter=0.05:4", "spin 1ms") == walls("sim:eevdf?jitter=0.05:4", "spin 1ms")


def test_a_program_alone_takes_its_time_and_a_switch():
    assert walls("sim:cfs?switch_ns=3000", "spin 20ms", runs=1) == [20_003_000]


@pytest.mark.parametrize("policy", ["cfs", "eevdf"])
def test_the_values_that_are_shown_are_those_that_are_simulated(policy):
    with hosts.open(f"sim:{policy}?cpus=4") as host:
        shown = {knob.name: knob.value for knob in host.knobs() if knob.supported and knob.name.startswith("sched_")}
    assert len(shown) > 8
    name = f"sim:{policy}?cpus=4"
    assert walls(name, "hackbench -g 2 -l 5", shown, runs=1) == walls(name, "hackbench -g 2 -l 5", runs=1)


def test_settings_matter():
    """A long slice spares switches, of which each costs 2 us."""
    usual, long = (
        walls("sim:cfs", "hackbench -g 4 -l 20", settings, runs=1)[0]
        for settings in ({}, {"sched_wakeup_granularity_ns": 1_000_000_000})
    )
    assert long < 0.97 * usual


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("sim:cfs?cpu=2", "no option 'cpu'"),
        ("sim:eevdf?cpus=two", "cpus is a number"),
        ("sim:cfs?cpus=0", "1 to 8192 CPUs"),
        ("sim:cfs?switch_ns=-1", "switch_ns lies between 0 and 1000000000000, not -1"),
        ("sim:cfs?write_ns=0&read_ns=0", "cannot both cost nothing"),
        ("sim:cfs?jitter=nan", "jitter lies between 0 and 10"),
        ("sim:cfs?hz=0", "1 to 100000 times a second"),
        ("sim:fcfs", "Did you mean 'sim:cfs'"),
    ],
)
def test_a_name_that_is_wrong_is_refused(name, why):
    with pytest.raises(UsageError, match=why):
        walls(name, "spin 1ms", runs=1)


def test_compare_works_on_it():
    verdict = becalm.compare(
        ["hackbench -g 2 -l 5", "hackbench -g 4 -l 5"], host="sim:eevdf?jitter=0.05:1", runs=16, seed=1, store=False
    )
    (difference,) = verdict.differences
    assert 0.8 < difference.estimate < 1.3, "twice the groups take about twice as long"
    assert "not modelled: locks, caches, interrupts, control groups" in str(
        [finding.sentence for finding in verdict.findings]
    )


@pytest.mark.parametrize("jitter", ["", "?jitter=0.02"])
def test_a_run_is_simulated_no_longer_than_its_time_limit(jitter):
    name, program = f"sim:cfs{jitter}", "hackbench -g 1 -l 20"
    (whole,) = walls(name, program, runs=1)
    with hosts.open(name) as host:
        for limit_ns, outcome in ((whole // 2, "timeout"), (2 * whole, "ok")):
            host.define([replace(Workload.of(program), timeout_ns=limit_ns)], [Settings()])
            rows = ran(host, *(Step(0, 0, 0, number) for number in range(2)))
            assert {run.outcome for run in rows} == {outcome}
            assert rows[0].wall_ns == (limit_ns if outcome == "timeout" else whole)
            # A block ends with the first run that does not end well.
            assert len(rows) == (1 if outcome == "timeout" else 2)


def test_built_in_kernels_are_refused():
    with pytest.raises(UsageError, match=r"has no caches and no memory, so kernel:chase would have no effect there"):
        becalm.run("kernel:chase", host="sim:cfs", runs=2, store=False)


def test_options_of_a_program_that_the_model_leaves_out_are_named_in_its_verdict():
    def remarks(program):
        verdict = becalm.run(program, host="sim:eevdf", runs=3, store=False)
        return [finding.sentence for finding in verdict.findings if finding.kind == "remark"]

    assert remarks("hackbench -T -g 1 -l 5") == [
        "Not modelled on sim:eevdf: hackbench -T (threads instead of processes)."
    ]
    assert remarks("hackbench -g 1 -l 5") == []
