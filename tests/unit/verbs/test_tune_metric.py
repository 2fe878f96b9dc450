"""`tune` of a number that programs print, on a simulated machine whose programs print what follows from their time."""

import json
from dataclasses import replace

import pytest
from tests.unit.small_machine import RANGES, Repeatable

from becalm import workloads as sources
from becalm.errors import UsageError
from becalm.hosts import Runs
from becalm.nouns.finding import Interval
from becalm.nouns.metric import metric
from becalm.nouns.options.tune import TuneOptions, with_source_metric
from becalm.nouns.workload import Workload
from becalm.report import forms
from becalm.results.tune import Transfer, from_json
from becalm.results.tune_arms import BASELINE, TUNED
from becalm.store import Store
from becalm.verbs.records import show
from becalm.verbs.tune import tune, tune_cost
from becalm.wording import multi_host
from becalm.wording.findings import finding

# A design whose places hang on no last digit of what was measured.
USUAL = {"host": "sim:fast", "seed": 7, "design": "composite", "factors": RANGES, "confirm_loops": 8}
RATE = "rate=([0-9.]+),name=rate,unit=req/s,better=higher"
LATENCY = "latency=([0-9.]+),name=latency,unit=ms"


@pytest.fixture
def prints(trouble, monkeypatch):
    """Programs that print their rate, or their latency: of what they are asked for, by its name."""
    measure = Repeatable.measure

    def printed(workload, run):
        if not workload.metrics or run.outcome != "ok":
            return run
        rate = workload.metrics[0].name == "rate"
        return run._replace(metrics=(1e9 / run.wall_ns if rate else run.wall_ns / 1e6,))

    def printing(self, request):
        for event in measure(self, request):
            if isinstance(event, Runs):
                event = Runs([printed(self.programs[run.workload], run) for run in event.rows])
            yield event

    monkeypatch.setattr(Repeatable, "measure", printing)


@pytest.fixture(scope="module")
def timed():
    """Remember the study of the same programs that makes their time small."""
    return []


def best(verdict):
    (mine,) = [comparison for comparison in verdict.comparisons if comparison.arm == TUNED]
    return mine


@pytest.mark.parametrize(("metric", "unit", "way"), [(RATE, "req/s", "higher"), (LATENCY, "ms", "lower")])
def test_a_printed_metric_is_tuned_as_well_as_the_time(prints, store, timed, metric, unit, way):
    if not timed:
        timed.append(tune(["p"], **USUAL, minimize="time"))
    (fastest,) = timed
    verdict = tune(["p"], **USUAL, minimize="metric", metric=metric)
    # What is printed says no more and no less than the time, so the search takes the same way.
    assert verdict.settings == fastest.settings
    assert best(verdict).ratio.value == pytest.approx(best(fastest).ratio.value)
    assert verdict.metric.unit == unit
    assert f"% {way} (95 %:" in verdict.sentence
    assert "which is better" in verdict.sentence
    assert unit in verdict.sentence
    arms = {arm.name: arm for arm in verdict.arms}
    means = [arms[name].metric.value for name in (TUNED, BASELINE)]
    assert (means[0] > means[1]) is (way == "higher")
    assert arms[TUNED].mean_ns.value == pytest.approx({arm.name: arm for arm in fastest.arms}[TUNED].mean_ns.value)
    assert verdict.metric.name in verdict.contributions[0].sentence
    (response,) = verdict.fit.responses
    assert response.name == ("1/rate" if way == "higher" else "latency")
    with Store.open(store) as opened:
        assert from_json(opened.verdict(verdict.study)).to_json() == verdict.to_json()
    assert show(verdict.study).verdict.to_json() == verdict.to_json()
    assert json.loads(json.dumps(verdict.to_json(), allow_nan=False))
    forms.draw_all(verdict)
    assert verdict.metric.name in forms.as_markdown(verdict)


def test_a_stored_study_is_concluded_again_from_its_runs(prints, store):
    verdict = tune(["p"], **USUAL, minimize="metric", metric=RATE)
    clamped = finding("setting_clamped", {"knob": "slice_ns", "place": "p", "found": "1", "wanted": "2"})
    with Store.open(store) as opened:
        opened.notice(verdict.study, clamped)
        with opened._writing() as db:
            db.execute("DELETE FROM verdict")
    again = show(verdict.study).verdict
    assert again.settings == verdict.settings
    assert clamped in again.findings


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"minimize": "metric"}, "needs the metric: --metric SPEC"),
        ({"minimize": "time", "metric": LATENCY}, "use --minimize metric"),
        ({"minimize": "metric", "metric": LATENCY, "threshold": "1%"}, "--minimize metric is for a mean"),
        ({"metric": LATENCY}, "A sweep for the spread varies one setting"),
        ({"minimize": "metric", "metric": "nothing"}, "no group around the number"),
    ],
)
def test_contradictory_options_are_refused(options, words):
    with pytest.raises(UsageError, match=words):
        tune(["p"], **{**USUAL, **options})


def test_a_program_whose_source_says_what_it_prints_needs_no_metric_said():
    (own,) = sources.open(["wakeups:requests=10"])
    values = {"minimize": "metric"}
    options = with_source_metric(TuneOptions.of(values), values, [own])
    assert options.metric == own.metrics[0]
    assert options.minimize == "time"
    assert with_source_metric(TuneOptions.of({"minimize": "time"}), {"minimize": "time"}, [own]).metric is None
    with pytest.raises(UsageError, match="needs the metric of true: --metric SPEC"):
        with_source_metric(TuneOptions.of(values), values, [own, Workload(("true",), name="true")])
    other = replace(own, name="other", metrics=own.metrics[1:])
    with pytest.raises(
        UsageError,
        match=r"measured by wake-up p99, and other by wake-up p50\. Name one metric for all programs: --metric",
    ):
        with_source_metric(TuneOptions.of(values), values, [own, other])


def test_the_metric_of_a_source_is_what_is_made_small(prints, monkeypatch):
    """Not the time, which the program takes next to it."""
    named = tune(["p"], **USUAL, minimize="metric", metric=RATE)
    of = Workload.measuring
    (own,) = (metric(RATE),)
    monkeypatch.setattr(Workload, "measuring", lambda self, *request: replace(of(self, *request), metrics=(own,)))
    verdict = tune(["p"], **USUAL, minimize="metric")
    assert verdict.metric == named.metric
    assert verdict.sentence == named.sentence


def test_the_cost_is_estimated_from_the_printed_metric(prints, monkeypatch):
    usual = {**USUAL, "minimize": "metric", "metric": LATENCY}
    printed, timed = tune_cost(["p"], **usual), tune_cost(["p"], **USUAL, minimize="time")
    # The latency is the time in other units.
    assert printed.noise == pytest.approx(timed.noise)
    assert printed.search_runs == timed.search_runs
    measure = Repeatable.measure

    def scattering(self, request):
        for event in measure(self, request):
            if isinstance(event, Runs):
                event = Runs(
                    [run._replace(metrics=(run.metrics[0] ** 3,)) if run.metrics else run for run in event.rows]
                )
            yield event

    monkeypatch.setattr(Repeatable, "measure", scattering)
    wider = tune_cost(["p"], **usual)
    assert wider.noise == pytest.approx(3 * timed.noise, rel=0.1)
    assert wider.run_ns == timed.run_ns


def test_a_transfer_to_another_host_is_reported_in_words_of_the_metric(prints):
    verdict = tune(
        ["p"],
        **{name: value for name, value in USUAL.items() if name != "host"},
        hosts=["sim:fast", "sim:small"],
        minimize="metric",
        metric=RATE,
        single_out=False,
    )
    assert "On sim:small with the settings of sim:fast " in verdict.sentence
    assert " rate" in verdict.sentence.split("with the settings of sim:fast")[1]
    assert "it takes" not in verdict.sentence


@pytest.mark.parametrize(
    ("ratio", "text", "message"),
    [
        ((1.25, 1.2, 1.3), RATE, "rate is 25.0 % higher (95 %: 20.0 to 30.0 %), which is better."),
        ((1.25, 1.2, 1.3), LATENCY, "latency is 20.0 % lower (95 %: 16.7 to 23.1 %), which is better."),
        ((0.8, 0.75, 0.85), LATENCY, "latency is 25.0 % higher (95 %: 17.6 to 33.3 %), which is worse."),
        ((1.0, 0.95, 1.05), RATE, "no change in rate is seen (95 %: -5.0 to +5.0 %)."),
    ],
)
def test_a_transfer_in_words(ratio, text, message):
    transfer = Transfer("b", "a", Interval(*ratio))
    assert (
        multi_host.transfer(transfer, 0.95, timed=True, metric=metric(text)) == f"On b with the settings of a {message}"
    )
