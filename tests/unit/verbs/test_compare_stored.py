"""Runs of two times compared: real files of each tool, sessions that shift, names and units that do not fit."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from tests.places import ROOT
from tests.rates import at_most
from tests.samples import samples

import becalm
from becalm.analysis.compare_stored import compare_sessions
from becalm.cli.main import becalm as group
from becalm.errors import UsageError
from becalm.nouns.metric import Better
from becalm.report import forms
from becalm.results.compare import Answer, Gate
from becalm.results.compare_stored import SessionSeries, StoredSession
from becalm.wording.compare_stored import worded

DATA = ROOT / "tests/data/benchmarks"
CRITERION = DATA / "criterion"
REAL = {
    "Google Benchmark": (DATA / "google-benchmark-1.json", DATA / "google-benchmark-2.json",
                         {"BM_Sum/100", "BM_Sum/10000", "BM_Ms"}),
    "pytest-benchmark": (DATA / "pytest-benchmark-1.json", DATA / "pytest-benchmark-2.json",
                         {"test_b.py::test_sort", "test_b.py::test_sum"}),
    "hyperfine": (DATA / "hyperfine-1.json", DATA / "hyperfine-2.json", {"sleep 0.002", "gzip --version"}),
    "pyperf": (DATA / "pyperf-1.json", DATA / "pyperf-2.json", {"sort", "len"}),
    "Criterion": (f"{CRITERION}@old", CRITERION, {"fold 100", "sizes/10", "sizes/1000"}),
}  # fmt: skip


@pytest.mark.parametrize("tool", REAL)
def test_the_real_output_of_a_tool(tool):
    old, new, names = REAL[tool]
    comparison = becalm.compare_stored(str(old), str(new))
    assert {benchmark.name for benchmark in comparison.benchmarks} == names
    assert not comparison.bounded
    assert "these runs" in comparison.sentence
    for benchmark in comparison.benchmarks:
        d = benchmark.difference
        assert benchmark.unit == "ns"
        # Nanoseconds of one iteration keep their fractions.
        assert math.isclose(math.log(benchmark.new / benchmark.old), math.log1p(d.estimate), abs_tol=1e-9)
        assert (d.low, d.high) == benchmark.by_runs
        assert d.weak
    forms.draw_all(comparison)


def test_values_are_those_of_the_files():
    from becalm.study.stored_sessions import stored_session as read

    def values(path):
        return {name: series.values for name, series in read(str(path)).series.items()}

    google = json.loads((DATA / "google-benchmark-1.json").read_text())["benchmarks"]
    milliseconds = [1e6 * entry["real_time"] for entry in google if entry["name"] == "BM_Ms"]
    assert np.allclose(values(DATA / "google-benchmark-1.json")["BM_Ms"], milliseconds[:8])
    rounds = json.loads((DATA / "pytest-benchmark-1.json").read_text())["benchmarks"][0]["stats"]["data"]
    assert np.allclose(values(DATA / "pytest-benchmark-1.json")["test_b.py::test_sort"], 1e9 * np.array(rounds))
    sample = json.loads((CRITERION / "sizes/10/old/sample.json").read_text())
    expected = np.array(sample["times"]) / sample["iters"]
    assert np.allclose(values(f"{CRITERION}@old")["sizes/10"], expected)
    runs = json.loads((DATA / "pyperf-1.json").read_text())["benchmarks"][1]["runs"]
    seconds = [value for run in runs for value in run.get("values", ())]
    assert np.allclose(values(DATA / "pyperf-1.json")["len"], 1e9 * np.array(seconds))


def session(title, metric="time", unit="ns", better=Better.LOWER, **series):
    result = {name: SessionSeries(unit, better, metric, np.asarray(item, float)) for name, item in series.items()}
    return StoredSession(title, result)


def runs(mean, noise=0.01, n=30, seed=0):
    return mean * np.exp(noise * np.random.default_rng(seed).standard_normal(n))


def compared(old, new, **options):
    options = {"confidence": 0.95, "shift": None, "fail_above": None, "undecided": "fail", **options}
    return worded(compare_sessions(old, new, **options))


@pytest.mark.parametrize("sessions", [1, 3])
def test_the_change_is_the_ratio_of_the_values_alongside_it(sessions):
    rng = np.random.default_rng(5)
    old = [session(f"old {k}", a=1000 + rng.exponential(300 + 200 * k, 20)) for k in range(sessions)]
    benchmark = compared(old, [session("new", a=1000 + rng.exponential(900, 20))]).benchmarks[0]
    assert benchmark.new / benchmark.old == pytest.approx(1 + benchmark.difference.estimate)


def test_a_shift_between_sessions_is_no_difference_when_sessions_were_repeated():
    shifts = (1.0, 1.05, 0.96)
    old = [session(f"old {k}", a=runs(1000 * s, seed=k)) for k, s in enumerate(shifts)]
    new = [session("new", a=runs(1060, seed=9))]
    alone = compared(old[:1], new)
    assert alone.benchmarks[0].difference.answer is Answer.SLOWER
    repeated = compared(old, new)
    benchmark = repeated.benchmarks[0]
    assert benchmark.difference.answer is Answer.NO_DIFFERENCE_DETECTED
    assert benchmark.shift == pytest.approx(np.std(np.log(shifts), ddof=1), abs=0.01)
    assert repeated.bounded
    far = compared(old, [session("far", a=runs(2000, seed=9))])
    assert far.benchmarks[0].difference.answer is Answer.SLOWER


def with_references(title, shift, seed, a=1000.0):
    rng = np.random.default_rng(seed)
    own = {f"still {k}": runs(500 * np.exp(shift * rng.standard_normal()), seed=seed + k) for k in range(3)}
    stored = session(title, a=runs(a * np.exp(shift * rng.standard_normal()), seed=seed + 7), **own)
    return replace(stored, references=tuple(own))


def test_programs_that_never_change_bound_the_shift():
    comparison = compared([with_references("old", 0.02, 1)], [with_references("new", 0.02, 2, 1500)], fail_above=0.05)
    assert [benchmark.name for benchmark in comparison.benchmarks] == ["a"]
    assert comparison.references == ("still 0", "still 1", "still 2")
    assert comparison.bounded
    assert comparison.gate is Gate.ABOVE
    assert "how far 3 programs that never change differ between the two" in comparison.sentence
    vouched = compared([with_references("old", 0.02, 1)], [with_references("new", 0.02, 2)], shift=0.03)
    assert not vouched.references
    one_side = compared([with_references("old", 0.02, 1)], [session("new", a=runs(1000))])
    assert not one_side.bounded


def test_equal_programs_are_seldom_called_different_by_references():
    """One in twenty, where the runs alone call most of them different."""
    alone, by_references, trials = 0, 0, samples(50, 400)
    for seed in range(0, 30 * trials, 30):
        old, new = with_references("old", 0.02, seed), with_references("new", 0.02, seed + 15)
        by_references += compared([old], [new]).benchmarks[0].difference.worse is not None
        bare = [replace(session, references=(), series={"a": session.series["a"]}) for session in (old, new)]
        alone += compared(bare[:1], bare[1:]).benchmarks[0].difference.worse is not None
    assert by_references <= at_most(trials, 0.05, 0.01)
    assert alone > 0.6 * trials


def test_a_limit_needs_to_know_how_far_sessions_shift():
    old, new = [session("old", a=runs(1000))], [session("new", a=runs(1300, seed=1))]
    comparison = compared(old, new, fail_above=0.05)
    assert (comparison.gate, comparison.exit_code) == (Gate.UNDECIDED, 5)
    assert "--shift" in comparison.sentence
    assert compared(old, new, fail_above=0.05, undecided="pass").exit_code == 0
    assert compared(old, new, fail_above=0.05, shift=0.1).exit_code == 1
    assert compared(old, [session("same", a=runs(1000, seed=1))], fail_above=0.05, shift=0.01).exit_code == 0
    assert compared(old, [session("same", a=runs(1000, seed=1))], fail_above=0.05, shift=0.06).exit_code == 5


def test_a_shift_that_is_vouched_for_widens_the_interval_by_as_much():
    old, new = [session("old", a=runs(1000))], [session("new", a=runs(1000, seed=1))]
    narrow, wide = (compared(old, new, shift=shift).benchmarks[0] for shift in (None, 0.03))
    assert (1 + wide.difference.high) / (1 + narrow.difference.high) == pytest.approx(1.03)
    assert (1 + narrow.difference.low) / (1 + wide.difference.low) == pytest.approx(1.03)
    assert wide.by_runs == narrow.by_runs


def test_intervals_of_many_hold_together():
    names = [f"b{k}" for k in range(50)]
    many = compared([session("o", **{n: runs(1000, seed=1) for n in names})],
                    [session("n", **{n: runs(1000, seed=2) for n in names})])  # fmt: skip
    single = compared([session("o", b0=runs(1000, seed=1))], [session("n", b0=runs(1000, seed=2))])
    wide, narrow = (comparison.benchmarks[0].difference for comparison in (many, single))
    assert wide.high - wide.low > 1.4 * (narrow.high - narrow.low)


def test_removed_added_renamed_and_changed_benchmarks_are_reported():
    old = [StoredSession("old", {**session("", stays=runs(10), sort_small=runs(10), left=runs(5)).series,
                           **session("", unit="B", metric="memory", size=runs(100)).series})]  # fmt: skip
    new = [session("new", stays=runs(10), sort_smaller=runs(10), size=runs(100), brand_new=runs(7))]
    comparison = compared(old, new, fail_above=0.5, shift=0.01)
    assert [benchmark.name for benchmark in comparison.benchmarks] == ["stays"]
    assert set(comparison.gone) == {"sort_small", "left"}
    assert set(comparison.added) == {"sort_smaller", "brand_new"}
    assert comparison.renamed == (("sort_small", "sort_smaller"),)
    assert comparison.units == (("size", "memory in B", "time in ns"),)
    for text in ("gone: sort_small and left", "Perhaps renamed: sort_small → sort_smaller", "size was memory in B"):
        assert text in comparison.sentence
    # What could not be compared may hide a slowdown.
    assert comparison.gate is Gate.UNDECIDED


def test_one_program_a_side_is_compared_whatever_it_is_called():
    comparison = compared([session("o", **{"./old": runs(10)})], [session("n", **{"./new": runs(20)})])
    assert [benchmark.name for benchmark in comparison.benchmarks] == ["./old → ./new"]
    assert not comparison.gone
    assert not comparison.added


def test_the_geometric_mean_is_of_each_unit_that_several_have():
    def half(noise_seed, factor, **options):
        return session("s", **{name: runs(mean * factor, 0.001, seed=noise_seed) for name, mean in options.items()})

    single = compared([half(1, 1.0, a=100, b=7)], [half(1, 1.1, a=100, b=7)])
    (mean,) = single.geometric_means
    assert (mean.benchmarks, mean.unit) == (2, "ns")
    assert mean.difference == pytest.approx(0.1, abs=1e-6)
    assert single.to_json()["geometric_means"] == [
        {"metric": "", "unit": "ns", "benchmarks": 2, "difference": mean.difference}
    ]
    assert "geometric mean of 2" in forms.as_markdown(single)
    assert compared([half(1, 1.0, a=100)], [half(1, 1.1, a=100)]).geometric_means == ()


def suite_of(count, sessions, seed=1):
    rng = np.random.default_rng(seed)
    return [
        session(f"{k}", **{f"b{b}": 1000 * np.exp(0.01 * rng.standard_normal() + 1e-4 * rng.standard_normal(3))
                           for b in range(count)})
        for k in range(sessions)
    ]  # fmt: skip


def test_benchmarks_of_a_suite_tell_together_how_far_sessions_shift():
    many = suite_of(40, 4)
    comparison = compared(many[:3], many[3:])
    (suite,) = comparison.suites
    assert (suite.benchmarks, suite.unit) == (40, "ns")
    assert suite.shift == pytest.approx(0.01, rel=0.2)
    few = compared(*([replace(series, series=dict(list(series.series.items())[:7])) for series in side]
                     for side in (many[:3], many[3:])))  # fmt: skip
    assert few.suites == ()
    assert comparison.half_width < 0.8 * few.half_width
    assert "none of 40 benchmarks is known to differ." in comparison.sentence
    assert "40 benchmarks show that together" in comparison.sentence
    assert "stay unseen" not in comparison.sentence
    wide = compared(many[:3], many[3:], fail_above=0.02).sentence
    assert "Half of the intervals are ±6.0 % or wider: smaller changes stay unseen." in wide
    assert "One more new session (--more-new) makes that about 21 % narrower." in wide
    assert comparison.to_json()["half_width"] == comparison.half_width


def test_more_is_better_where_the_metric_says_so():
    old, new = (
        [session(title, metric="requests", unit="req/s", better=Better.HIGHER, a=runs(mean, seed=mean))]
        for title, mean in (("old", 1000), ("new", 800))
    )
    comparison = compared(old, new, fail_above=0.1, shift=0.01)
    assert comparison.benchmarks[0].difference.worse
    assert comparison.gate is Gate.ABOVE


def test_studies_by_number_title_and_last(store):
    for seed, title in ((1, "before"), (2, "after")):
        becalm.compare(["spin 20ms", "spin 21ms"], host="sim:normal", runs=20, seed=seed, title=title)
    by_number, by_title = becalm.compare_stored(1, "last"), becalm.compare_stored("before", "after")
    assert [benchmark.name for benchmark in by_number.benchmarks] == ["spin 20ms", "spin 21ms"]
    assert by_number.benchmarks == by_title.benchmarks
    assert by_title.old == ("before (study 1)",)


AGGREGATES = {"context": {}, "benchmarks": [{"name": "a_mean", "run_type": "aggregate", "real_time": 1}]}
BAD = {
    "summaries alone": (AGGREGATES, "holds summaries only"),
    "no benchmarks": ({"context": {}, "benchmarks": []}, "no benchmark with values"),
    "unknown unit": ({"context": {}, "benchmarks": [{"name": "a", "real_time": 1, "time_unit": "h", "iterations": 1}]},
                     "a time in 'h'"),
    "negative": ({"context": {}, "benchmarks": [{"name": "a", "real_time": -1, "iterations": 1}]}, "zero or below"),
    "no rounds": ({"machine_info": {}, "version": "5", "benchmarks": [{"name": "a", "stats": {"mean": 1}}]},
                  "holds no rounds"),
    "half written": ({"iters": [1, 2], "times": [3]}, "2 iters and 1 times"),
    "no iterations": ({"iters": [0], "times": [3]}, "cannot be read"),
    "units of one pyperf benchmark": ({"version": "1.0", "benchmarks": [{"runs": [
        {"values": [1], "metadata": {"unit": "byte"}}, {"values": [1]}]}]}, "values in byte and second"),
    "another thing": ({"benchmarks": {}}, "none that becalm knows"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_files_that_cannot_be_used_are_refused_in_a_sentence(name, tmp_path):
    value, message = BAD[name]
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(value))
    with pytest.raises(UsageError, match=message):
        becalm.compare_stored(str(path), str(DATA / "hyperfine-1.json"))


def test_a_half_written_file_of_each_tool_is_refused(tmp_path):
    for old, _, _ in REAL.values():
        if str(old).endswith(".json"):
            text = (DATA / old).read_bytes()
            (tmp_path / "half.json").write_bytes(text[: len(text) // 2])
            with pytest.raises(UsageError, match="not JSON"):
                becalm.compare_stored(str(tmp_path / "half.json"), str(old))


def test_sources_that_do_not_exist_say_what_there_is(store, tmp_path):
    with pytest.raises(UsageError, match="neither a file nor a study"):
        becalm.compare_stored("nonesuch", "last")
    with pytest.raises(UsageError, match="It has new, old"):
        becalm.compare_stored(f"{CRITERION}@older", str(CRITERION))
    with pytest.raises(UsageError, match="named twice"):
        becalm.compare_stored(DATA / "pyperf-1.json", DATA / "pyperf-1.json")
    with pytest.raises(UsageError, match="neither results of Criterion"):
        becalm.compare_stored(str(tmp_path), str(CRITERION))


def invoke(*words):
    return CliRunner().invoke(group, ["compare", *map(str, words)])


def test_on_the_command_line(store):
    old, new, _ = REAL["pyperf"]
    done = invoke("--stored", "--json", old, new)
    document = json.loads(done.output)
    assert (document["kind"], len(document["benchmarks"])) == ("stored comparison", 2)
    assert invoke("--stored", old, new, "--fail-above", "5%").exit_code == 5
    more = invoke("--stored", old, new, "--more-old", CRITERION, "--markdown")
    assert more.exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--stored", "1"), "--stored takes the old and the new"),
        (("--stored", "1", "2", "--runs", "3"), "--runs is for programs that are measured"),
        (("--shift", "3%", "a", "b"), "--shift is for --stored"),
    ],
)
def test_no_option_is_ignored(words, message, store):
    done = invoke(*words)
    assert isinstance(done.exception, UsageError)
    assert message in str(done.exception)
