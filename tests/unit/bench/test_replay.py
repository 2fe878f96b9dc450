"""Figures of the replay, its halves, and TCPDBench's scores."""

import json

import numpy as np
import pytest

import fill
from campaign import machine
from replay_rows import steps
from replay_rows.change_points import Marked, matched, observed, scores
from replay_rows.cpython import Suite, found, lasting, levelled, peer_named, shuffled
from replay_rows.figures import Table, bootstrap, events, halves, markdown, missing, share
from replay_rows.modes import without_modes
from replay_rows.settling import late_change
from replay_rows.stored import alone, by_suite, normal_tails
from replay_rows.tuning import becalm as steady
from replay_rows.tuning import best_mean, best_worst


def test_a_share_and_a_rate_carry_exact_intervals():
    hits = share(10, 49)
    assert (hits.low, hits.high) == (pytest.approx(0.1024, abs=1e-4), pytest.approx(0.3434, abs=1e-4))
    assert share(0, 0).text == "none of 0"
    none = events(0, 2.52)
    assert (none.low, none.high) == (0.0, pytest.approx(3.689 / 2.52, abs=1e-3))


def test_a_mean_lies_within_the_interval_of_its_bootstrap():
    mean = bootstrap([0.2, 0.4, 0.9])
    assert mean.low <= mean.value == 0.5 <= mean.high


def test_the_half_of_a_series_does_not_depend_on_the_others():
    names = [f"series {number}" for number in range(40)]
    few, many = halves(names[:20]), halves(names)
    assert set(few["choosing half"]) <= set(many["choosing half"])
    assert sorted(many["choosing half"] + many["judging half"]) == many["all"] == sorted(names)


def test_a_change_counts_for_the_nearest_mark_once():
    assert matched([0, 28], [0, 24, 33]) == 2
    assert matched([10, 12], [11]) == 1
    assert matched([10], [16]) == 0


def test_scores_are_those_of_the_benchmark():
    marked = Marked(np.zeros(100), ((28,), (), (28, 60)))
    assert scores(marked, []) == pytest.approx((22 / 29, 1.0, 11 / 18))
    f1, precision, recall = scores(marked, [28, 90])
    assert precision == pytest.approx(2 / 3)
    assert recall == pytest.approx((1 + 1 + 2 / 3) / 3)
    assert f1 == pytest.approx(2 * precision * recall / (precision + recall))


def test_positions_count_gaps_that_a_rule_does_not_see():
    assert observed(lambda _: [2], np.array([1.0, np.nan, 2.0, 3.0])) == [3]


def test_a_table_survives_json_and_names_peers_that_are_not_installed():
    table = Table("Title", "source", ("a", "b"), (("peer", missing(("a", "b"))),), "Text.")
    text = markdown([json.loads(json.dumps(table.json()))])
    assert "| peer | not installed | not installed |" in text
    assert text.endswith("Text.")


def test_a_series_has_no_true_modes_where_no_value_is_rare_between_common_ones():
    assert without_modes(np.repeat([5.0, 6.0, 7.0], [20, 50, 30]))
    assert not without_modes(np.repeat([5.0, 6.0, 8.0], [20, 50, 30]))
    assert without_modes(np.repeat([5.0, 6.0, 8.0], [20, 50, 3]))


def test_rules_of_tuning_choose_and_promise():
    slow = [[8.0, 8.1, 8.0, 8.0]] * 3
    speeds = np.array([[10.0, 10.1, 9.9, 10.0], [13.0, 5.0, 12.0, 13.0], [9.0, 9.1, 0.0, 9.0], *slow])
    assert best_mean(speeds) == (1, 10.75, 24)
    assert best_worst(speeds) == (0, 9.9, 24)
    index, promise, samples = steady(speeds)
    assert index == 0
    assert 9.0 < promise < 9.9
    # One of the four finalists fails on its third machine, and the fifth takes its place.
    assert samples == 12 + 8 + 2


def test_each_row_fills_a_block_of_its_own(tmp_path):
    table = Table("Title", "source", ("a",), (("rule", (share(1, 4),)),))
    row = {"machine": machine(), "seconds": 3.2, "tables": [table.json()]}
    path = tmp_path / "replay.json"
    path.write_text(json.dumps({"command": "python bench/replay.py DIR", "rows": {"modes": row}}))
    (block,) = fill.blocks("replay", path).items()
    assert block[0] == "replay_modes"
    assert "1 of 4: 25.0 %" in block[1]


def test_a_rule_for_change_points_reports_a_late_one_in_blocks():
    seen = []
    assert late_change(lambda means: seen.append(len(means)) or [9])(np.ones(310))
    assert seen == [10]
    assert not late_change(lambda _: [4])(np.ones(300))


def test_intervals_of_the_suite_are_narrower_than_of_each_by_itself():
    rng = np.random.default_rng(1)
    old, new = 0.01 * rng.standard_normal((60, 3)), 0.01 * rng.standard_normal(60)
    widths = [np.median(rule(old, new, 0.05 / 60)) for rule in (normal_tails, by_suite, alone)]
    assert widths[0] < widths[2]
    assert widths[1] < widths[2]


def test_a_shift_that_lasts_ten_builds_is_one_and_a_stray_build_is_none():
    values = 0.001 * np.random.default_rng(1).standard_normal(40)
    values[8] += 1.0
    assert lasting(values) == []
    values[20:] += 0.2
    ((at, size),) = lasting(values)
    assert (at, size) == (20, pytest.approx(0.2, abs=0.002))
    suite = Suite(tuple(map(str, range(40))), ("a",), values[:, None])
    assert found(suite, {"a": [(23, 0.2)]}, ["a"]) == (1, 1)
    assert found(suite, {"a": [(23, -0.2), (26, 0.2)]}, ["a"]) == (0, 1)
    assert peer_named(suite, lambda _: [20]) == {"a": [(20, pytest.approx(0.2, abs=0.002))]}
    flat = levelled(suite, lambda _: [20])
    assert lasting(flat.values[:, 0]) == []
    assert sorted(shuffled(flat, 1).values[:, 0]) == sorted(flat.values[:, 0])


@pytest.mark.parametrize("kind", [steps.near, steps.young])
def test_simulated_steps_have_one_stray_session_of_the_first_benchmark(kind):
    for series in kind(2, 3):
        values = series.values.copy()
        values[series.at :, 0] -= steps.SIZE
        far = np.argwhere(np.abs(values) > 8 * steps.NOISE)
        assert [column for _, column in far] == [0]
        assert far[0][0] != series.at
