"""From a history to differences, looks, stops and summaries."""

import math

import numpy as np
import pytest
from msgspec.structs import replace
from tests.unit.plans.test_history import row

from becalm.analysis.compare import SequentialComparison, against_baseline, difference
from becalm.analysis.limit import decides_ns, gate
from becalm.analysis.summaries import averages, left_behind, summarise
from becalm.nouns.metric import Better, Metric, Tasks
from becalm.nouns.run import Averages
from becalm.nouns.stopping_rule import StoppingRule
from becalm.nouns.workload import Workload
from becalm.plans.history import History
from becalm.results.compare import Answer, Gate, Stopped
from becalm.stats.paired import PairedEstimate


def history(rounds, slower=1.0, noise=0.01, seed=1):
    """Return two programs in turn; the second one takes `slower` times as long."""
    rng = np.random.default_rng(seed)
    result, seq = History(2), 0
    for number in range(rounds):
        for program in rng.permutation(2):
            wall_ns = round(1e6 * math.exp(noise * rng.normal()) * (slower if program else 1.0))
            result.extend([row(seq, int(program), number, wall_ns)])
            seq += 1
    return result


def compared(runs, goal=None, fail_above=None):
    comparison = SequentialComparison(("a", "b"), 0, goal or StoppingRule(budget_ns=10**9), 0.95, fail_above)
    comparison.look(runs)
    return comparison


def difference_of(low, estimate, high):
    logs = (math.log1p(estimate), math.log1p(low), math.log1p(high))
    return difference("b", "a", logs, confidence=0.95, pairs=9, detectable=0.01, p_value=0.5, standard_error=0.01)


@pytest.mark.parametrize(
    ("slower", "answer"), [(1.05, Answer.SLOWER), (1 / 1.05, Answer.FASTER), (1.0, Answer.NO_DIFFERENCE_DETECTED)]
)
def test_the_answer_is_where_the_interval_lies(slower, answer):
    (estimate,) = compared(history(120, slower)).differences
    assert estimate.answer is answer
    assert estimate.low < slower - 1 < estimate.high
    assert (estimate.name, estimate.reference, estimate.pairs) == ("b", "a", 120)


def test_without_an_interval_nothing_is_known():
    assert difference_of(-0.5, 0.0, 0.5).answer is Answer.NO_DIFFERENCE_DETECTED
    logs = (0.0, -math.inf, math.inf)
    estimate = difference("b", "a", logs, confidence=0.95, pairs=1, detectable=math.inf, p_value=1, standard_error=1)
    assert estimate.answer is Answer.UNKNOWN
    assert estimate.high == math.inf


def test_it_looks_again_only_when_a_tenth_more_is_known():
    comparison = SequentialComparison(("a", "b"), 0, StoppingRule(), 0.95, None)
    assert comparison.due(history(1))
    comparison.look(history(100))
    assert not comparison.due(history(109))
    assert comparison.due(history(111))


def test_it_stops_when_the_answer_is_known():
    assert SequentialComparison(("a", "b"), 0, StoppingRule(), 0.95, None).enough() is None, "nothing seen yet"
    assert compared(history(200, 1.5)).enough() is Stopped.KNOWN
    assert compared(history(200, 1.0)).enough() is None, "no difference above 0.05 % takes longer"
    assert compared(history(200, 1.5), StoppingRule(runs=1000)).enough() is None, "as many rounds as were asked for"
    assert compared(history(200, 1.5), StoppingRule(precision=0.5)).enough() is Stopped.PRECISION
    assert compared(history(200, 1.5), StoppingRule(precision=1e-6)).enough() is None
    assert compared(history(200, 1.0), fail_above=0.2).enough() is Stopped.KNOWN, "within the limit for certain"
    assert compared(history(200, 1.5), fail_above=0.2).enough() is Stopped.KNOWN, "beyond it for certain"
    assert compared(history(200, 1.2), fail_above=0.2).enough() is None, "the limit lies within the interval"


class Watched:
    """Looks at programs that also run at once, with a fixed estimate. `disturbances`: those of the last question."""

    def __init__(self, estimate):
        self.estimate = PairedEstimate(estimate, estimate - 1e-4, estimate + 1e-4, 5e-5, 100, 2.0, 1e-4, 0.5, 0.0)
        self.disturbances = {}

    def looks(self, history, fraction):
        return {1: self.estimate}

    def would_detect(self, disturbances):
        self.disturbances = disturbances
        return False


@pytest.mark.parametrize(
    ("estimate", "goal", "limit", "decisive"),
    [
        (0.001, StoppingRule(), 0.02, math.log(1.02) - 0.001),
        (0.05, StoppingRule(), 0.02, 0.05 - math.log(1.02)),
        (-0.03, StoppingRule(), None, 0.03),
        (0.0, StoppingRule(), None, 0.0005),
        (0.0, StoppingRule(precision=0.01), None, 0.01),
    ],
)
def test_it_does_not_stop_before_a_disturbance_that_changes_the_answer_is_excluded(estimate, goal, limit, decisive):
    watched = Watched(estimate)
    comparison = SequentialComparison(("a", "b"), 0, goal, 0.95, limit, schedules=watched)
    comparison.look(history(200))
    assert watched.disturbances == {1: pytest.approx(decisive)}
    assert comparison.enough() is None


def test_half_of_the_interval_is_what_a_precision_and_a_known_difference_are_about():
    comparison = SequentialComparison(("a", "b"), 0, StoppingRule(), 0.95, None)
    for width, known in ((0.9, Stopped.KNOWN), (1.1, None)):
        comparison.differences = (difference_of(2 - 0.2 * width, 2.0, 2 + 0.2 * width),)
        assert comparison.enough() is known, "a tenth of a difference of 200 %"
    comparison.goal = StoppingRule(precision=0.2)
    for width, stopped in ((0.9, Stopped.PRECISION), (1.1, None)):
        comparison.differences = (difference_of(2 - 0.2 * width, 2.0, 2 + 0.2 * width),)
        assert comparison.enough() is stopped


def test_a_limit_is_kept_or_exceeded_for_certain_or_it_is_undecided():
    assert gate([difference_of(0.01, 0.05, 0.09)], None) is None
    assert gate([difference_of(0.03, 0.05, 0.09), difference_of(-0.1, 0, 0.1)], 0.02) is Gate.ABOVE
    assert gate([difference_of(-0.01, 0.0, 0.02), difference_of(-0.1, 0, 0.01)], 0.02) is Gate.WITHIN
    assert gate([difference_of(0.01, 0.05, 0.09)], 0.02) is Gate.UNDECIDED
    assert gate([difference_of(-0.17, 0.05, 0.27), difference_of(-0.1, 0, 0.01)], 0.02) is Gate.UNDECIDED
    assert gate([], 0.02) is Gate.UNDECIDED


def test_the_time_to_decide_falls_with_the_distance_from_the_limit():
    near, far = (decides_ns([difference_of(-0.01, value, 0.05)], 0.02, 10**9) for value in (0.015, -0.02))
    assert near > far
    assert decides_ns([difference_of(-0.01, 0.005, 0.05)], 0.02, 10**9) > 10**9
    assert decides_ns([difference_of(-0.01, 0.02, 0.05)], 0.02, 10**9) < 10**11, (
        "at the limit itself: the least that it takes"
    )
    assert decides_ns([replace(difference_of(-0.01, 0.02, 0.05), weak=True)], 0.02, 10**9) is None
    assert decides_ns([replace(difference_of(-0.01, 0.02, 0.05), standard_error=math.inf)], 0.02, 10**9) is None


def test_from_few_pairs_nobody_is_told_what_would_decide():
    """Their error is small by chance too often: three pairs that agree would have decided by what was spent."""
    few = replace(difference_of(-0.5, 0.033, 1.0), low=-math.inf, high=math.inf, standard_error=1e-4)
    assert [decides_ns([replace(few, pairs=pairs)], 1e-4, 10**9) for pairs in (2, 3, 5)] == [None, None, None]
    # Six coins say nothing at the level of five in a hundred, whatever they show.
    assert decides_ns([replace(few, pairs=6)], 1e-4, 6 * 10**9) == 7 * 10**9
    many = replace(difference_of(-0.01, 0.033, 0.07), standard_error=1e-4, pairs=50)
    assert decides_ns([many], 1e-4, 50 * 10**9) == pytest.approx(55 * 10**9), "not before the next look"


def test_runs_of_another_time_are_weaker_evidence():
    rng = np.random.default_rng(2)
    old, new = (np.round(1e6 * np.exp(0.01 * rng.normal(size=80)) * factor).astype(np.int64) for factor in (1, 1.1))
    estimate = against_baseline("b", "stored", new, old, 0.95)
    assert estimate.weak
    assert estimate.answer is Answer.SLOWER
    assert estimate.low < 0.1 < estimate.high


def test_a_summary_counts_good_runs_and_names_the_failed():
    seen = history(50)
    seen.extend([row(100, 0, 50, outcome="failed"), row(101, 1, 50)])
    summary = summarise("a", seen, 0, Averages(user_ns=5.0), 0.95)
    assert (summary.runs, summary.failed, summary.user_ns) == (50, 1, 5.0)
    assert summary.min_ns <= summary.median_ns.value <= summary.max_ns
    assert summary.mean_ns.low < summary.mean_ns.value < summary.mean_ns.high
    assert summarise("a", History(2), 0, Averages(), 0.95) is None


def test_a_mean_over_runs_of_which_one_is_unknown_is_unknown():
    nan = math.nan
    columns = {"user_ns": [1, 3], "system_ns": [1, nan], "wait_ns": [], "max_rss_bytes": [nan, 7]}
    mean_times = averages({name: np.array(values, dtype=float) for name, values in columns.items()})
    assert mean_times == Averages(user_ns=2.0, system_ns=None, wait_ns=None, max_rss_bytes=7)


def test_descendants_that_outlived_their_program_are_a_finding():
    seen = History(2)
    seen.extend([row(0, 0, 0), row(1, 1, 0, left_behind=2)])
    (finding,) = left_behind(("a", "b"), seen)
    assert (finding.kind, finding.program, finding.numbers) == ("left_behind", "b", {"runs": 1})


def printed(rounds, factor=1.0, better=Better.LOWER, seed=1, noise=0.01):
    """Return two programs that take the same time and print numbers; those of the second are `factor` times as
    large."""
    rng = np.random.default_rng(seed)
    metric = Metric("(x)", "p99", "us", better)
    result, seq = History(2, metric), 0
    for number in range(rounds):
        for program in rng.permutation(2):
            value = 7.0 * math.exp(noise * rng.normal()) * (factor if program else 1.0)
            result.extend([row(seq, int(program), number, 10**6)._replace(metrics=(value, 1.0))])
            seq += 1
    return result


def compared_metric(runs, goal=None, fail_above=None):
    comparison = SequentialComparison(("a", "b"), 0, goal or StoppingRule(), 0.95, fail_above, runs.metric)
    comparison.look(runs)
    return comparison


@pytest.mark.parametrize("better", [*Better])
@pytest.mark.parametrize(("factor", "answer"), [(1.05, Answer.HIGHER), (1 / 1.05, Answer.LOWER)])
def test_a_metric_is_compared_as_it_was_printed(better, factor, answer):
    (estimate,) = compared_metric(printed(120, factor, better)).differences
    assert estimate.answer is answer
    assert estimate.low < factor - 1 < estimate.high
    assert (estimate.metric, estimate.better) == ("p99", better)
    assert estimate.worse is ((answer is Answer.HIGHER) is (better is Better.LOWER))


@pytest.mark.parametrize("better", [*Better])
def test_a_metric_keeps_or_exceeds_a_limit_by_what_is_worse(better):
    worse = 1.05 if better is Better.LOWER else 1 / 1.05
    for factor, expected in ((worse, Gate.ABOVE), (1 / worse, Gate.WITHIN)):
        comparison = compared_metric(printed(120, factor, better), fail_above=0.02)
        assert gate(comparison.differences, 0.02) is expected
        assert comparison.enough() is Stopped.KNOWN


def test_without_a_difference_in_what_is_printed_none_is_seen():
    (estimate,) = compared_metric(printed(120, 1.0, Better.HIGHER)).differences
    assert estimate.answer is Answer.NO_DIFFERENCE_DETECTED
    assert estimate.worse is None


def test_a_run_that_ended_well_without_its_number_is_none_that_counts():
    runs = printed(3)
    runs.extend([row(6, 0, 3), row(7, 1, 3)])
    assert runs.rounds == 3
    assert runs.bad == [1, 1]


def test_a_summary_has_every_metric_and_what_was_done_in_a_second():
    runs = printed(20)
    workload = Workload(("x",), metrics=(runs.metric, Metric("(y)", "rss")), tasks=Tasks(1000.0, "messages"))
    both = np.column_stack((runs.printed(0), np.full(20, 3.0)))
    summary = summarise("a", runs, 0, Averages(), 0.95, workload=workload, printed=both)
    assert [metric.name for metric in summary.metrics] == ["p99", "rss"]
    assert summary.metrics[0].mean.value == pytest.approx(runs.printed(0).mean())
    assert summary.metrics[1].mean.value == 3.0
    assert summary.throughput.per_second.value == pytest.approx(1e6)
    assert summary.mean_ns.value == pytest.approx(1e6), "wall time is kept alongside"
    alone = summarise("a", runs, 0, Averages(), 0.95, workload=workload)
    assert [metric.name for metric in alone.metrics] == ["p99"], "while it is measured only the first is at hand"


def test_a_metric_is_compared_with_another_time():
    metric = Metric("(x)", "rate", better=Better.HIGHER)
    rng = np.random.default_rng(3)
    before, now = np.exp(0.01 * rng.normal(size=(2, 200)))
    estimate = against_baseline("b", "a in study 1", now * 1.1, before, 0.95, metric)
    assert estimate.weak
    assert (estimate.answer, estimate.worse) == (Answer.HIGHER, False)
