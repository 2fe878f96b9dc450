"""`tune --minimize time` from its options to its verdict, on a simulated machine and a real store."""

import io
import json

import pytest
from rich.console import Console
from tests.samples import samples
from tests.unit.small_machine import RANGES, Repeatable, same

from becalm.errors import Interrupted, UsageError, WorkloadError
from becalm.hosts import Ability
from becalm.hosts.abilities import YES
from becalm.methods import TABLE
from becalm.report.forms import on_terminal
from becalm.report.tune import tables
from becalm.report.tune.time_tables import arm_table
from becalm.results.export_settings import ProductionPlan
from becalm.results.tune import from_json
from becalm.results.tune_arms import BASELINE, TUNED
from becalm.store import Store
from becalm.study import tune as measuring
from becalm.verbs.records import show
from becalm.verbs.tune import tune

USUAL = {"host": "sim:fast", "seed": 7, "minimize": "time", "factors": RANGES, "confirm_loops": 8}


def fast(programs=("p",), **options):
    return tune([*programs], **{**USUAL, **options})


def finding(verdict, kind):
    return [finding for finding in verdict.findings if finding.kind == kind]


def tuned(verdict):
    (best,) = [comparison for comparison in verdict.comparisons if comparison.arm == TUNED]
    return best


def test_it_finds_the_fastest_settings_and_confirms_them_on_fresh_runs(trouble, store):
    verdict = fast()
    assert verdict.method == "surface"
    assert verdict.objective == "time"
    assert verdict.search_runs <= 14 + 12
    at = verdict.settings
    assert 20e6 < at["sched_min_granularity_ns"] < 180e6
    assert 40e6 < at["sched_latency_ns"] < 500e6
    best = tuned(verdict)
    assert best.ratio.low > 1.2
    assert best.deviation is not None
    assert "p takes" in verdict.sentence
    assert "% less time (95 %:" in verdict.sentence
    assert "standard deviation" in verdict.sentence
    assert "without it the time changes by" in verdict.contributions[0].sentence
    assert {BASELINE, TUNED} <= {arm.name for arm in verdict.arms}
    assert all(0 < arm.spread.value < 0.1 for arm in verdict.arms), "a share, also where the time is made small"


def test_the_surface_through_the_trials_is_kept_and_read_back(trouble, store):
    verdict = fast()
    (response,) = verdict.fit.responses
    assert verdict.fit.sentence
    assert response.name == "time"
    assert response.model == "quadratic"
    assert response.r_squared > 0.9
    assert response.best.at.levels == pytest.approx((60e6, 150e6), rel=0.9)
    assert 0.015 < response.mean < 0.05, "in seconds"
    assert json.loads(json.dumps(verdict.to_json(), allow_nan=False))
    with Store.open(store) as opened:
        stored = from_json(opened.verdict(verdict.study))
    assert stored.to_json() == verdict.to_json()
    assert stored.fit.factors == verdict.fit.factors


@pytest.fixture(scope="module")
def uncut():
    """Remember the verdict and the number of runs of the study that is stopped nowhere."""
    return []


@pytest.mark.parametrize("part", samples((0.01, 0.4, 0.99), (0.01, 0.1, 0.25, 0.4, 0.6, 0.9, 0.99)))
def test_stopped_anywhere_and_resumed_the_verdict_is_the_same(trouble, store, uncut, part):
    if not uncut:
        whole = fast(budget="none")
        with Store.open(store) as opened:
            uncut += [same(whole), len(list(opened.runs(whole.study)))]
    verdict, count = uncut
    # The five pilot runs come before the study.
    trouble.stops_at = max(5, round(part * count))
    with pytest.raises(Interrupted) as caught:
        fast(budget="none")
    number = int(str(caught.value).split("--resume ")[1])
    assert same(tune(resume=number)) == verdict


def test_a_stored_study_says_the_same_again(trouble, store):
    verdict = fast()
    assert show(verdict.study, store=store).sentence == verdict.sentence


def test_without_factors_all_that_the_host_allows_is_varied(trouble):
    verdict = fast(factors=(), without=("nice",), dangerous=False, confirm_loops=2, single_out=False)
    reasons = {exclusion.knob: exclusion.reason for exclusion in verdict.excluded}
    assert "left out on request" in reasons["nice"]
    assert "the measurement, not the program" in reasons["aslr"]
    assert "--dangerous" in reasons["watchdogs"]
    varied = {knob for trial in verdict.trials for knob in trial.settings}
    assert {"sched_min_granularity_ns", "sched_latency_ns", "transparent_hugepages"} <= varied
    assert "sched_min_granularity_ns" in verdict.settings


def test_a_setting_that_the_machine_refuses_is_reported_before_the_study(trouble):
    trouble.refuses = {"sched_latency_ns": 1_000_000_000}
    with pytest.raises(UsageError, match="--factor sched_latency_ns: sched_latency_ns does not take 1000000000"):
        fast()
    verdict = fast(factors=(), only=("sched_min_granularity_ns", "sched_latency_ns"))
    assert "does not take" in {exclusion.knob: exclusion.reason for exclusion in verdict.excluded}["sched_latency_ns"]


def test_a_setting_that_is_forbidden_in_the_middle_is_censored(trouble):
    trouble.later = {"sched_latency_ns": 1_000_000_000}
    verdict = fast()
    assert finding(verdict, "refused")
    lost = [trial for trial in verdict.trials if trial.settings.get("sched_latency_ns") == 1_000_000_000]
    assert lost
    assert lost == [trial for trial in verdict.trials if trial.spread is None]
    assert finding(verdict, "censored")[0].numbers["failed"] == len(lost)
    assert verdict.settings.get("sched_latency_ns") != 1_000_000_000


def test_runs_that_fail_under_some_settings_are_no_values(trouble):
    trouble.fails = ("sched_min_granularity_ns=1000000000",)
    verdict = fast(design="composite")
    assert verdict.fit.responses[0].missing == finding(verdict, "censored")[0].numbers["failed"] >= 2
    assert verdict.settings["sched_min_granularity_ns"] < 1_000_000_000


@pytest.fixture
def steep(monkeypatch):
    """A machine on which a program takes three times as long below 4 ms of granularity; none is set at first."""
    measured = Repeatable._one

    def one(self, seq, step):
        run, small = measured(self, seq, step), dict(self.defined[step.settings].values)
        slow = small.get("sched_min_granularity_ns", 10**9) < 4_000_000
        return run._replace(wall_ns=3 * run.wall_ns) if slow else run

    monkeypatch.setattr(Repeatable, "_one", one)


@pytest.mark.parametrize("method", [row.name for row in TABLE if "time" in row.minimizes])
def test_slow_trials_are_ended_early_and_are_no_values(trouble, steep, store, method):
    narrow = {"factors": ("sched_min_granularity_ns",)} if method == "golden" else {}
    whole = fast(method=method, **narrow)
    verdict = fast(method=method, abort_above="1.5x", **narrow)
    ended = [trial for trial in verdict.trials if trial.ended_ns is not None]
    assert ended
    assert all(trial.spread is None and not trial.best for trial in ended)
    with Store.open(store) as opened:
        rows = [run for run in opened.runs(verdict.study) if run.outcome == "timeout"]
    assert sorted(run.wall_ns for run in rows) == sorted(trial.ended_ns for trial in ended)
    # No default and no chosen setting was cut short, and what is recommended is about as good.
    assert all(trial.settings for trial in ended)
    assert tuned(verdict).ratio.value > 0.9 * tuned(whole).ratio.value
    assert f"{len(ended)} ended early" in tables.facts(verdict)
    sentence = finding(verdict, "censored")
    assert all("longer than --abort-above allows" in finding.sentence for finding in sentence)
    assert from_json(verdict.to_json()).trials == verdict.trials


def test_a_limit_in_time_that_the_machine_as_it_is_does_not_keep_is_refused(trouble):
    with pytest.raises(UsageError, match=r"--abort-above 10\.00 ms would end every run: p takes"):
        fast(abort_above="10ms")


@pytest.mark.parametrize("part", [0.2, 0.5])
def test_a_study_with_a_limit_is_stopped_and_resumed_to_the_same(trouble, steep, store, part):
    whole = fast(budget="none", abort_above="1.5x")
    with Store.open(store) as opened:
        count = len(list(opened.runs(whole.study)))
    trouble.stops_at = max(5, round(part * count))
    with pytest.raises(Interrupted) as caught:
        fast(budget="none", abort_above="1.5x")
    assert same(tune(resume=int(str(caught.value).split("--resume ")[1]))) == same(whole)


def test_a_program_that_fails_on_the_machine_as_it_is_cannot_be_tuned(trouble):
    trouble.fails = ("p",)
    with pytest.raises(WorkloadError):
        fast()


def test_when_all_settings_fail_nothing_is_recommended(trouble):
    trouble.fails = tuple(f"sched_latency_ns={value}" for value in (1_000_000, 31_622_777, 1_000_000_000))
    verdict = fast(design="composite")
    assert verdict.settings == {}
    assert "none of" in verdict.sentence
    assert verdict.fit is None


def test_where_nothing_is_gained_it_says_what_would_have_been_seen(trouble):
    # A slice of a range in which the default is as good as anything.
    verdict = fast(factors=("swappiness=0..100", "stat_interval=1..10"), seed=3)
    assert verdict.settings == {}
    assert "% would have been seen" in verdict.sentence
    assert not any(comparison.ratio.low > 1 for comparison in verdict.comparisons if comparison.arm == TUNED)


def test_an_optimum_at_the_end_of_a_range_is_reported(trouble):
    verdict = fast(factors=("sched_min_granularity_ns=0.5..5ms", "sched_latency_ns=5..20ms"))
    assert "at the end of the range" in finding(verdict, "choice")[0].numbers["why"]
    assert verdict.settings["sched_min_granularity_ns"] == 5_000_000


def test_a_budget_too_short_for_a_design_is_reported(trouble):
    verdict = fast(most_runs=5, design="composite")
    assert "is too low for sched_min_granularity_ns, sched_latency_ns" in verdict.sentence


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"factors": ("sched_latency_ns=0.01..1ms",)}, "is not within the range of"),
        ({"factors": ("policy",), "dangerous": True}, "--factor policy=other,batch"),
        ({"factors": ("slice_ns",)}, "its kernel is older than Linux 6.12"),
        ({"method": "race"}, "The method race minimizes spread, not time. Methods that do: surface"),
        ({"minimize": "spread"}, "A sweep for the spread varies one setting, and 2 are named"),
        ({"threshold": "1%"}, "--threshold is a limit on the spread"),
    ],
)
def test_invalid_options_are_refused_before_anything_is_measured(trouble, options, message):
    with pytest.raises(UsageError, match=message):
        fast(**options)


def test_a_transfer_to_another_host_is_reported_in_words_of_time(trouble):
    verdict = tune(
        ["p"],
        hosts=["sim:fast", "sim:scheduler"],
        seed=7,
        minimize="time",
        factors=RANGES,
        confirm_loops=8,
        single_out=False,
    )
    assert verdict.transfer[0].ratio.low > 1
    assert "On sim:scheduler with the settings of sim:fast it takes" in verdict.sentence
    assert "spread" not in verdict.sentence


def test_the_production_plan_is_made_after_restore_and_before_close(trouble, monkeypatch):
    events, abilities = [], Repeatable.abilities

    def planned(machine, settings):
        events.append(settings.to_json())
        return ProductionPlan("bench1", "6.12")

    monkeypatch.setattr(Repeatable, "abilities", lambda self: abilities(self) | {Ability.HOLD: YES})
    monkeypatch.setattr(Repeatable, "settle", lambda self: events.append("restore"))
    monkeypatch.setattr(Repeatable, "close", lambda self: events.append("closed"))
    monkeypatch.setattr(measuring, "production_plan", planned)
    verdict = fast()
    assert verdict.settings
    assert verdict.production == ProductionPlan("bench1", "6.12")
    assert events[:3] == ["restore", verdict.settings, "closed"]


def test_throughput_is_reported_for_every_arm(trouble, store):
    verdict = fast(tasks="800 messages")
    for arm in verdict.arms:
        assert arm.throughput.what == "messages"
        assert arm.throughput.per_second.value == pytest.approx(800e9 / arm.mean_ns.value)
        assert arm.throughput.per_second.low == pytest.approx(800e9 / arm.mean_ns.high)
    table = arm_table(verdict, [(arm.name, arm, None) for arm in verdict.arms])
    assert table.head[2] == "messages/s"
    assert all(float(row[2].replace(",", "")) > 0 for row in table.rows)
    out = io.StringIO()
    Console(file=out, width=80).print(on_terminal(verdict, columns=80))
    heads = next(line for line in out.getvalue().splitlines() if "messages/s" in line)
    assert "deviation" in heads, "at 80 columns, too"
    assert json.loads(json.dumps(from_json(verdict.to_json()).to_json())) == json.loads(json.dumps(verdict.to_json()))
    with Store.open(store) as opened:
        assert from_json(opened.verdict(verdict.study)).arms == verdict.arms
    plain = fast()
    assert "messages/s" not in arm_table(plain, [(arm.name, arm, None) for arm in plain.arms]).head
