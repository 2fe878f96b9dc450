"""Costs of a simulated scheduler, fitted to runs of becalm-sim whose costs are known."""

import json

import pytest
from click.testing import CliRunner
from tests.unit.verbs.test_simulate_calibration import REAL

import becalm
from becalm.cli.main import becalm as group
from becalm.nouns.settings import Settings
from becalm.verbs.simulate_calibration import hackbench, measured
from becalm.wording.simulate_calibration import sentence


def test_costs_come_out_and_predict_other_sizes():
    calibration = becalm.calibrate_simulation(REAL, validate=True, loops=10, runs=3)
    assert [siz.groups for siz in calibration.sizes if siz.policy == "other"] == list(range(2, 21, 2))
    assert [(siz.groups, siz.policy) for siz in calibration.sizes if siz.fitted] == [
        (2, "other"), (6, "other"), (2, "batch"), (6, "batch"),
    ]  # fmt: skip
    assert calibration.costs.message_ns == pytest.approx(3000, rel=0.1)
    assert calibration.worst < 0.1
    assert calibration.r_squared > 0.99
    assert (calibration.outcome, calibration.exit_code) == ("fits", 0)
    assert calibration.adjusted == pytest.approx(1 - (1 - calibration.r_squared) * 9 / 8)
    # Two groups on two CPUs share them: each goes at about half of its speed, and so do twenty.
    assert [groups for groups, _ in calibration.bootstrapped.times] == list(range(2, 21, 2))
    assert calibration.bootstrapped.speed == pytest.approx(0.5, abs=0.08)
    assert calibration.bootstrapped.adjusted > 0.98
    again = becalm.simulate("hackbench -g 4 -l 10", host=calibration.simulator, seeds=4)
    assert again.end_ns == pytest.approx(calibration.sizes[1].simulated_ns), "the same seeds"


def test_other_options_of_the_model_stay():
    calibration = becalm.calibrate_simulation(REAL, simulator="sim:eevdf?cpus=2&migration_ns=9000", loops=5, runs=2)
    assert calibration.simulator.startswith("sim:eevdf?cpus=2&hz=250&migration_ns=9000&kernel=6.12&write_ns=")


def test_the_command_says_how_to_use_them():
    words = ["simulate", "--plain", "--calibrate", REAL, "--loops", "5", "--runs", "2"]
    result = CliRunner().invoke(group, words)
    assert result.exit_code == 0, result.output
    assert "Use it: becalm simulate --host 'sim:eevdf?cpus=2&hz=250&kernel=6.12&write_ns=" in result.output
    assert "was not tried: --validate" in result.output
    document = json.loads(CliRunner().invoke(group, [*words, "--json"]).stdout)
    assert document["kind"] == "calibration"
    assert document["worst"] is None


def test_batch_tasks_tell_what_a_switch_costs():
    """Dear switches are found though cheap ones are usual, together with the wake-up that comes before each of them."""
    dear = "sim:cfs?write_ns=3000&read_ns=3000&switch_ns=20000&jitter=0.05:3"
    calibration = becalm.calibrate_simulation(dear, simulator="sim:cfs", loops=20, runs=4)
    assert calibration.costs.message_ns == pytest.approx(3000, rel=0.1)
    assert calibration.costs.switch_ns + calibration.costs.wakeup_ns == pytest.approx(21_000, rel=0.3)
    assert max(abs(siz.residual) for siz in calibration.sizes if siz.policy == "batch") < 0.05
    assert max(abs(siz.residual) for siz in calibration.sizes) < 0.1


def test_a_budget_leaves_two_runs_of_each():
    messages = []
    calibration = becalm.calibrate_simulation(REAL, loops=2, runs=50, budget="1ms", say=messages.append)
    assert messages == ["4 runs of hackbench on " + REAL + " a round, 50 rounds."]
    assert all(siz.error_ns > 0 for siz in calibration.sizes)


def test_sizes_that_the_budget_was_too_small_for_are_named():
    calibration = becalm.calibrate_simulation(REAL, validate=True, loops=2, runs=50, budget="1ms")
    assert {siz.groups for siz in calibration.sizes} == {2, 6}
    assert calibration.not_reached == (4, 8, 10, 12, 14, 16, 18, 20)
    assert "before there were two runs with 4, 8, 10" in sentence(calibration)
    assert calibration.to_json()["not_reached"] == list(calibration.not_reached)


def test_times_are_told_as_they_come():
    result = []
    program = hackbench(1, 1)
    times = measured(
        "sim:cfs", [program] * 3, [Settings()] * 3, 2, None, 1, lambda _: None,
        heard=lambda value: result.append(sum(map(len, value))),
    )  # fmt: skip
    assert result == [1, 2, 3, 4, 5, 6]
    assert [len(time) for time in times] == [2, 2, 2]
