"""Simulations by becalm-sim, from the verb to the trace."""

import itertools
import json

import pytest
from click.testing import CliRunner

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UsageError


def test_a_simulation_says_where_the_time_went():
    simulation = becalm.simulate("hackbench -g 2 -l 5", host="sim:cfs?cpus=4")
    (run,) = simulation.runs
    assert (run.tasks, run.messages, run.finished, simulation.exit_code) == (80, 2 * 400 * 5, True, 0)
    assert run.run_ns + run.overhead_ns + run.idle_ns == 4 * run.end_ns
    assert simulation.to_json()["runs"][0]["message_latency"]["count"] == run.messages


def test_a_seed_in_the_name_is_that_of_the_first():
    first, second = becalm.simulate("hackbench -g 1 -l 2", host="sim:eevdf?jitter=0.1:3", seeds=2).runs
    assert becalm.simulate("hackbench -g 1 -l 2", host="sim:eevdf?jitter=0.1:4").runs[0].end_ns == second.end_ns
    assert first.end_ns != second.end_ns
    assert becalm.simulate("spin 1ms", host="sim:cfs:7").runs[0].end_ns > 10**6


def test_seeds_differ_by_jitter_alone():
    same = becalm.simulate("hackbench -g 1 -l 2", seeds=3)
    assert len({run.end_ns for run in same.runs}) == 1
    assert "with each of 3 seeds" in same.sentence
    simulation = becalm.simulate("hackbench -g 1 -l 2", host="sim:eevdf?jitter=0.1", seeds=3)
    assert len({run.end_ns for run in simulation.runs}) == 3
    assert simulation.spread > 0
    assert "on average of 3 seeds" in simulation.sentence


def test_the_trace_has_a_slice_for_each_turn(tmp_path):
    simulation = becalm.simulate("hackbench -g 1 -l 1", trace=tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert {slice_["tid"] for slice_ in slices} == {0, 1}
    assert {slice_["name"].split()[0] for slice_ in slices} == {"sender", "receiver"}
    assert sum(slice_["dur"] for slice_ in slices) * 1000 == pytest.approx(simulation.runs[0].run_ns)


def test_the_trace_read_back_is_who_ran_where(tmp_path):
    """Each CPU has a name and runs one task at a time; times are whole ns as a viewer reads them, in microseconds."""
    path = tmp_path / "trace.json"
    simulation = becalm.simulate("hackbench -g 2 -l 3", host="sim:cfs?cpus=3", trace=path, timeline=True)
    events = json.loads(path.read_text())["traceEvents"]
    assert {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"} == {
        cpu: f"CPU {cpu}" for cpu in range(3)
    }
    names = {name: task for task, name in enumerate(simulation.timeline.names)}
    read = [
        (event["tid"], names[event["name"]], round(1000 * event["ts"]), round(1000 * (event["ts"] + event["dur"])))
        for event in events
        if event["ph"] == "X"
    ]
    assert read == list(simulation.timeline.spans)
    for cpu in range(3):
        turns = sorted((start, end) for at, _, start, end in read if at == cpu)
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(turns))


def test_a_deadlock_names_the_task_and_its_channel(tmp_path):
    path = tmp_path / "stuck.toml"
    path.write_text('[[task]]\nname = "reader"\nsteps = ["receive letters"]\n')
    with pytest.raises(UsageError, match="reader waits for a message in letters and nobody who is left writes into it"):
        becalm.simulate([str(path)])


def test_an_endless_simulation_ends_at_its_limit_with_results(tmp_path):
    path = tmp_path / "ever.toml"
    path.write_text('[[task]]\ncount = 3\nsteps = ["repeat forever", "compute 5ms", "end"]\n')
    with pytest.raises(UsageError, match="never ends: task 1 0 repeats its steps for ever"):
        becalm.simulate([str(path)])
    simulation = becalm.simulate([str(path)], until="1s")
    assert (simulation.runs[0].end_ns, simulation.exit_code) == (10**9, 0)
    assert simulation.runs[0].fairness > 0.85, "three on two CPUs: one of them has a whole one"


def test_the_command_prints_a_table_and_json():
    shown = CliRunner().invoke(group, ["simulate", "--plain", "--", "hackbench", "-g", "1", "-l", "2"])
    assert shown.exit_code == 0, shown.output
    assert "hackbench -g 1 -l 2 on sim:eevdf takes" in shown.output
    assert "Not modelled: locks, caches" in shown.output
    arguments = ["simulate", "--json", "--set", "nice=5", "--", "spin", "3ms"]
    document = json.loads(CliRunner().invoke(group, arguments).output)
    assert document["kind"] == "simulate"
    assert document["settings"] == {"nice": "5"}
