"""Findings in a series of runs: each kind is found where it is, and not where it is not."""

import numpy as np
import pytest
from tests.unit.plans.test_history import row

from becalm.analysis.contamination import parse_rule
from becalm.analysis.diagnostics import contaminated, failure_numbers, series_findings, unknown
from becalm.nouns.metric import Metric
from becalm.nouns.workload import Workload
from becalm.plans.history import History


def series(wall):
    history = History(1)
    history.extend([row(seq, 0, seq, max(1, round(value))) for seq, value in enumerate(wall)])
    return history


def columns_of(history):
    count = len(history.wall_ns(0))

    def columns(program, names):
        wall = history.wall_ns(0).astype(float)
        known = {"seq": np.arange(count, dtype=float), "wall_ns": wall, "user_ns": wall}
        return {name: known.get(name, np.zeros(count)) for name in names}

    return columns


def kinds(wall):
    history = series(wall)
    return {finding.kind: finding for finding in series_findings("p", history, columns_of(history))}


def noise(size=200, seed=5, scale=0.01):
    return 1e7 * np.exp(scale * np.random.default_rng(seed).normal(size=size))


def test_a_quiet_series_shows_nothing():
    assert kinds(noise()) == {}


def test_runs_of_a_millisecond_are_mostly_start_up():
    assert set(kinds(np.full(5, 9e5))) == {"short"}
    assert kinds(np.full(5, 1.1e6)) == {}


def test_too_few_runs_show_nothing_but_that_they_are_short():
    assert kinds([1e7, 9e7] * 9) == {}


def test_each_shape_is_found():
    warm = noise()
    warm[:10] *= 1.5
    assert kinds(warm)["warmup"].numbers["drop"] == pytest.approx(10, abs=3)
    slower = noise() * np.linspace(1, 1.3, 200)
    assert kinds(slower)["drift"].numbers["change"] == pytest.approx(0.3, abs=0.1)
    jumping = noise()
    jumping[180:] *= 1.3
    numbers = kinds(jumping)
    assert numbers["levels"].numbers["run"] == 181
    assert numbers["levels"].numbers["change"] == pytest.approx(0.3, abs=0.01)
    assert "drift" not in numbers
    swinging = noise() * (1 + 0.05 * np.sin(2 * np.pi * np.arange(200) / 10))
    assert kinds(swinging)["period"].numbers["period"] == pytest.approx(10, abs=0.5)
    modes = noise() * np.where(np.random.default_rng(1).random(200) < 0.5, 1, 1.3)
    numbers = kinds(modes)["bimodal"].numbers
    assert numbers["low_ns"] == pytest.approx(1e7, rel=0.05)
    assert numbers["high_ns"] == pytest.approx(1.3e7, rel=0.05)


def test_outliers_are_counted_and_the_farthest_carry_their_reasons():
    wall = noise()
    wall[[20, 60, 90, 150]] *= [3, 1.5, 4, 2]
    numbers = kinds(wall)["outliers"].numbers
    assert (numbers["count"], numbers["runs"]) == (4, 200)
    assert numbers["seqs"] == [90, 20, 150]
    assert numbers["changes"][0] == pytest.approx(3, abs=0.1)
    assert [reason["kind"] for reason in numbers["reasons"]] == ["slower execution"] * 3
    assert numbers["causes"] == ["slower execution"] * 3


def test_the_farthest_is_farthest_from_the_median_on_either_side():
    wall = noise()
    wall[[20, 60, 90, 150]] *= [1.5, 0.2, 1.4, 1.3]
    numbers = kinds(wall)["outliers"].numbers
    assert (numbers["count"], numbers["seqs"]) == (4, [60, 20, 90])
    assert numbers["changes"][0] == pytest.approx(-0.8, abs=0.02)


def test_contaminated_rounds_carry_the_rule_and_how_often_each_limit_was_exceeded():
    by = parse_rule("cpu>20%,steal>5%")
    assert contaminated([], {}, by, 9, False) == ()
    (finding,) = contaminated([2, 4], {"cpu": 2, "steal": 1}, by, 9, True)
    assert finding.numbers["rounds"] == [2, 4]
    assert finding.numbers["measures"] == {"cpu": 2, "steal": 1}
    assert finding.numbers["limits"] == {"cpu": 0.2, "steal": 0.05}
    assert "7 count" in finding.sentence


def test_rounds_of_which_a_rule_cannot_say_it_are_named_with_what_they_lack():
    by = parse_rule("cpu>20%")
    assert unknown([], {}, by, 9, False) == ()
    (finding,) = unknown([2, 4], {"cpu": 2}, by, 9, True)
    assert (finding.kind, finding.numbers["rounds"], finding.numbers["measures"]) == (
        "contamination_unknown",
        [2, 4],
        {"cpu": 2},
    )


@pytest.mark.parametrize(
    ("outcome", "status", "metrics", "unread"),
    [
        ("failed", 0, True, True),
        ("failed", 1, True, False),
        ("failed", -9, True, False),
        ("failed", None, True, False),
        ("timeout", 0, True, False),
        ("failed", 0, False, False),
    ],
)
def test_a_run_that_ended_well_without_its_number_is_told_apart(outcome, status, metrics, unread):
    work = Workload(("p",), metrics=(Metric("json:a", "a"),) if metrics else ())
    run = row(3, 0, 0, outcome=outcome)._replace(status=status)
    assert failure_numbers(run, "", 2, work).get("unread", False) is unread


def test_numbers_of_a_failure():
    failed = row(3, 0, -1, outcome="timeout")
    assert failure_numbers(failed, "err", 2) == {
        "seq": 3, "status": 0, "outcome": "timeout", "wall_ns": 1000, "warmup": True, "stderr": "err", "done": 2,
    }  # fmt: skip
