"""Reports of `tune` on its cost before it starts."""

import json

import pytest
from click.testing import CliRunner
from msgspec import structs
from tests.places import ROOT
from tests.support.listeners import Heard
from tests.unit.small_machine import KNOBS, RANGES

from becalm.cli.main import becalm as group
from becalm.errors import UsageError
from becalm.results.tune_cost import TuneCost
from becalm.store import Store
from becalm.verbs.tune import tune, tune_cost
from becalm.wording.tune_cost import cost as sentence

TIMED = {"host": "sim:fast", "seed": 7, "minimize": "time", "factors": RANGES}


def test_it_says_how_many_runs_how_long_and_how_small_a_gain(trouble):
    cost = tune_cost(["p"], **TIMED)
    assert cost.search_runs == 8 + 2 * 8, "eight, and eight for each of two factors, controls among them"
    assert cost.confirm_runs == 4 * (12 * 5 + 1)
    assert cost.pilots == 5
    assert 0.001 < cost.noise < 0.05
    assert 0.5 * cost.noise < cost.smallest < 3 * cost.noise
    runs = 7 + cost.search_runs + cost.confirm_runs
    assert cost.duration_ns == pytest.approx(runs * cost.run_ns, rel=0.01)
    assert "runs of a search (surface) in 2 factors" in cost.sentence
    assert "% and more would be found." in cost.sentence
    assert cost.factors[1] == "sched_latency_ns=1000000..1000000000ns:log:whole"


def test_the_announced_cost_is_that_of_the_study(trouble):
    cost = tune_cost(["p"], **TIMED)
    done = tune(["p"], **TIMED)
    assert done.search_runs == cost.search_runs
    assert done.confirm_runs <= cost.confirm_runs


def test_a_dry_run_keeps_nothing(trouble, store):
    tune_cost(["p"], **TIMED)
    with Store.open(store) as opened:
        assert not opened.studies()


def test_a_dry_run_reports_whole_names(trouble):
    names = [f"./{'a' * 50}{number}{'b' * 50}" for number in range(2)]
    assert tune_cost(names, **TIMED).programs == tuple(names)


def test_more_noise_more_runs_less_to_be_seen(trouble):
    usual = tune_cost(["p"], **TIMED)
    assert tune_cost(["p"], **TIMED, confirm_loops=3, confirm_runs=2).smallest > usual.smallest
    assert tune_cost(["p"], **TIMED, most_runs=20).search_runs <= 20
    short = tune_cost(["p"], **TIMED, budget="2s")
    assert short.duration_ns == 2_000_000_000
    assert "at most 2.0 s" in short.sentence


def test_a_budget_is_not_promised_that_long_runs_cannot_keep(trouble):
    """Where it is not known how long a run takes, it is said up to which length; else what the least takes."""
    usual = tune_cost(["p"], host="sim:laptop-a", seed=7)
    assert usual.longest_ns == pytest.approx(usual.budget_ns / (25 + 60 + 40), rel=1e-6)
    assert usual.duration_ns == pytest.approx((25 + 60 + 40) * usual.run_ns, rel=1e-6)
    assert "more than the budget of 5.0 min" in usual.sentence
    unknown = sentence(structs.replace(usual, run_ns=0, duration_ns=usual.budget_ns))
    assert "at most 5.0 min if a run takes no longer than 2.400 s" in unknown
    cost = tune_cost(["p"], host="sim:laptop-a", seed=7, budget="10min")
    assert cost.longest_ns == pytest.approx(600e9 / 13, rel=1e-6)
    long = tune_cost(["p"], **TIMED, budget="10ms")
    assert long.duration_ns > long.budget_ns
    assert "more than the budget of 10 ms" in long.sentence


def test_a_limit_too_short_for_any_search_is_reported_before_it_starts(trouble):
    short = tune_cost(["p"], **TIMED, most_runs=3).sentence
    assert "too short for a search (surface) in 2 factors" in short
    assert "would be found" not in short


def test_a_search_for_little_variation_has_a_cost_too(trouble):
    cost = tune_cost(["p"], host="sim:small", seed=7, only=KNOBS, budget="60s")
    assert cost.search_runs is None
    assert cost.method == "race"
    assert "A spread that falls" in cost.sentence
    tried = tune_cost(["p"], host="sim:small", seed=7, tried=("llvm-tips",))
    assert tried.method == "try"
    assert "of what is to be tried" in tried.sentence


def test_it_is_the_first_line_of_a_study(trouble):
    heard = Heard()
    tune(["p"], **TIMED, listener=heard)
    assert heard.states[0].cost == tune_cost(["p"], **TIMED).sentence
    assert not any(state.cost for state in heard.states[1:])


def test_the_command(trouble):
    words = ["tune", "--dry-run", "--minimize", "time", "--host", "sim:fast", "--seed", "7", "--factor", RANGES[0], "p"]
    done = CliRunner().invoke(group, words, catch_exceptions=False)
    assert done.exit_code == 0
    assert done.stdout.count("\n") == 1
    assert json.loads(CliRunner().invoke(group, [*words[:-1], "--json", "p"]).stdout)["kind"] == "tune cost"


def test_fields_of_its_json_are_documented():
    text = (ROOT / "docs/reference/json.md").read_text().split("## The cost of a search")[1].split("\n## ")[0]
    for name in TuneCost.__struct_fields__:
        assert f"`{name}`" in text, name


@pytest.mark.parametrize("alongside", [("--save", "x"), ("--report", "x.html")])
def test_options_that_need_a_result_are_refused_with_a_dry_run(trouble, alongside):
    with pytest.raises(UsageError, match=f"{alongside[0]} has no use"):
        CliRunner().invoke(group, ["tune", "--dry-run", *alongside, "--host", "sim:small", "p"], catch_exceptions=False)


def test_the_first_words_are_what_two_five_and_thirty_minutes_show(trouble):
    cost = tune_cost(["p"], host="sim:small", seed=7, only=KNOBS)
    assert [buy.budget_ns for buy in cost.buys] == [120 * 10**9, 300 * 10**9, 1800 * 10**9]
    two, five, thirty = (buy.smallest for buy in cost.buys)
    assert two >= five >= thirty > 1
    assert cost.buys[2].single
    assert cost.sentence.startswith("What a budget can show: in 2 min a spread that falls ")
    assert "-fold and what each setting does. " in cost.sentence
    timed = tune_cost(["p"], **TIMED)
    assert timed.buys[0].smallest >= timed.buys[2].smallest > 0
    assert "2 min a gain of" in timed.sentence


def test_the_usual_budget_is_five_minutes(trouble):
    assert tune_cost(["p"], host="sim:small", seed=7, only=KNOBS).budget_ns == 300 * 10**9


def test_the_number_of_fresh_runs_is_left_out_until_the_length_of_a_run_is_known(trouble):
    heard = Heard()
    tune(["p"], host="sim:laptop-a", seed=7, budget="2min", listener=heard)
    (text,) = [state.cost for state in heard.states if state.cost]
    assert ", then fresh runs of what it chooses" in text


def test_no_more_fresh_runs_are_announced_than_the_budget_allows(trouble):
    cost = tune_cost(["spin 1s"], host="sim:laptop-a", seed=7, budget="2min")
    assert cost.confirm_runs * cost.run_ns <= 120e9
    assert f"about {cost.confirm_runs} fresh runs" in cost.sentence
