"""Figures of the replay, its halves, and TCPDBench's scores."""

import json

import numpy as np
import pytest

from replay_rows.change_points import Marked, matched, observed, scores
from replay_rows.figures import Table, bootstrap, events, halves, markdown, missing, share


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
