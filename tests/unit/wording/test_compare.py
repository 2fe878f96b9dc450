"""Wording: the examples of the documentation, and edges."""

import io
import math
import re

import pytest
from msgspec.structs import replace
from rich.console import Console

from becalm.analysis.diagnostics import failure_numbers
from becalm.nouns.finding import Interval
from becalm.nouns.run import Run
from becalm.report import terminal
from becalm.report.progress import intervals
from becalm.results.compare import Answer, Difference
from becalm.verbs.compare import compare
from becalm.verbs.run import run as run_program
from becalm.wording import compare as measurement
from becalm.wording import numbers, run_problems, short_names
from becalm.wording.numbers import factor


def difference(estimate, low, high, answer, detectable=0.002, weak=False):
    return Difference("B", "A", estimate, low, high, 0.95, 212, detectable, 0.01, answer, 0.001, weak)


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (difference(0.0102, 0.0080, 0.0125, Answer.SLOWER),
         "B is 1.02 % slower than A (95 %: 0.80 to 1.25 %), 212 pairs, 4.1 s; "
         "a difference of 0.20 % would have been seen."),
        (difference(-0.0102, -0.0125, -0.0080, Answer.FASTER),
         "B is 1.02 % faster than A (95 %: 0.80 to 1.25 %), 212 pairs, 4.1 s; "
         "a difference of 0.20 % would have been seen."),
        (difference(0.0005, -0.0021, 0.0030, Answer.NO_DIFFERENCE_DETECTED),
         "No difference above 0.30 % between B and A (95 %: -0.21 to +0.30 %), 212 pairs, 4.1 s."),
        (difference(2.6, -0.51, 14.76, Answer.NO_DIFFERENCE_DETECTED),
         "Too noisy to tell: B takes 0.49 to 15.8 times as long as A (95 %), 212 pairs, 4.1 s. Measure longer."),
        (difference(1.31, 1.29, 1.33, Answer.SLOWER, 0.05),
         "B takes 2.31 times as long as A (95 %: 2.29 to 2.33), 212 pairs, 4.1 s; "
         "a difference of 5.0 % would have been seen."),
        (difference(-0.5, -0.51, -0.49, Answer.FASTER, 0.05),
         "B is 2.00 times as fast as A (95 %: 1.96 to 2.04), 212 pairs, 4.1 s; "
         "a difference of 5.0 % would have been seen."),
    ],
)  # fmt: skip
def test_verdicts(estimate, text):
    assert measurement.difference(estimate, 4_100_000_000) == text


def test_unknown_asks_for_more():
    estimate = difference(0.1, -math.inf, math.inf, Answer.UNKNOWN)
    assert "too few" in measurement.difference(estimate, 10**8)


def test_a_baseline_is_called_weaker():
    text = measurement.difference(difference(0.0102, 0.008, 0.0125, Answer.SLOWER, weak=True), 10**9)
    assert "another time" in text


@pytest.mark.parametrize(
    ("ns", "text"),
    [(17_321_456, "17.32 ms"), (999, "999 ns"), (1500, "1.500 µs"), (999_999_999, "1.000 s"), (61e9, "61.00 s"),
     (600e9, "10.0 min"), (0, "0 ns"), (-0.3, "0 ns"), (999_960, "1.000 ms")],
)  # fmt: skip
def test_durations(ns, text):
    assert numbers.duration(ns) == text


@pytest.mark.parametrize(
    ("value", "uncertainty", "text"),
    [
        (0.0102, 0.00225, "1.02"),
        (0.5, 0.1, "50"),
        (0.01, None, "1.0"),
        (0.0, None, "0.00"),
        (0.000012, 0.0005, "0.001"),
        (-0.0000012, 0.0005, "0.000"),
    ],
)
def test_percent(value, uncertainty, text):
    assert numbers.percent(value, uncertainty) == text


def run(**changes):
    base = dict.fromkeys(Run._fields, 0) | {"outcome": "failed", "status": 3, "wall_ns": 10**9}
    return Run(**(base | changes))


def test_failures_say_what_to_do():
    def failure_text(failed, stderr, done):
        return run_problems.failure("prog", failure_numbers(failed, stderr, done))

    assert "exit code 3" in failure_text(run(), "boom\n", 2)
    assert "boom" in failure_text(run(), "boom\n", 2)
    assert "--expect 0,3" in failure_text(run(), "", 2)
    assert "SIGKILL" in failure_text(run(status=-9), "", 0)
    assert "--timeout" in failure_text(run(outcome="timeout"), "", 0)


def test_names_are_distinct_and_short():
    assert short_names.short(["x", "x"]) == ("x [1]", "x [2]")
    long = short_names.short(["a" * 100, "b"])
    assert len(long[0]) == 40


def test_eight_programs_in_one_round_are_one_sentence(store):
    """A budget shorter than a round: what looked best, and what would tell."""
    programs = [f"spin {n}00ms" for n in range(1, 9)]
    comparison = compare(programs, host="sim:drift", seed=1, budget="1s", store=store)
    (line,) = comparison.sentence.splitlines()
    assert line.startswith("Not yet known how 8 programs differ: 1 round in ")
    assert " is too few. spin 100ms was the fastest. 10 rounds would take about " in line
    assert re.search(r"about (\d+)\.0 s: --budget \1s\.$", line)
    assert intervals(comparison) == ["nothing is known yet about 8 programs"]
    assert len(intervals(replace(comparison, differences=comparison.differences[:2]))) == 2


def test_no_interval_of_a_time_begins_below_zero(store):
    verdict = run_program("spin 20ms", host="sim:calm", runs=3, store=store)
    (summary,) = verdict.summaries
    wide = replace(summary, mean_ns=Interval(3.852e6, -3.707e6, 11.41e6))
    sentence = measurement.run(wide, 16_000_000, 0.95)
    assert "takes 3.852 ms on average (95 %: at most 11.41 ms)" in sentence
    assert "±" not in sentence.partition(";")[0]
    out = io.StringIO()
    Console(file=out, width=80).print(terminal.verdict(replace(verdict, summaries=(wide,))))
    assert "95 %: at most 11.41 ms" in out.getvalue()
    assert "-3.7" not in out.getvalue()


def test_one_is_too_few_and_two_are(store):
    (summary,) = run_program("spin 20ms", host="sim:calm", runs=1, store=store).summaries
    unsure = replace(summary, mean_ns=Interval(1e6, -math.inf, math.inf))
    assert "; 1 run, 1.0 s is too few to tell" in measurement.run(unsure, 10**9, 0.95)
    assert "; 2 runs, 1.0 s are too few to tell" in measurement.run(replace(unsure, runs=2), 10**9, 0.95)


@pytest.mark.parametrize(
    ("estimate", "half", "message"),
    [(0.5, 0.02, "1.50"), (0.5, 0.3, "1.5"), (2.0, 0.0, "3.00"), (5002566.9, 0.2, "5,000,000"), (1234.5, 3.0, "1,240")],
)
def test_a_factor_has_as_many_digits_as_it_is_worth(estimate, half, message):
    assert factor(estimate, half) == message


def test_a_hook_that_failed_is_named_and_not_the_program():
    numbers = {"seq": 3, "status": None, "outcome": "refused", "wall_ns": 0, "warmup": True, "done": 0}
    sentence = run_problems.failure(
        "./new", {**numbers, "stderr": "The setup command failed. /bin/cc ended with exit code 1. x"}
    )
    assert sentence == "The setup command of ./new failed (a warm-up run). /bin/cc ended with exit code 1. x"
    after = {**numbers, "status": 0, "outcome": "failed", "warmup": False, "done": 2, "spoilt": True}
    sentence = run_problems.failure(
        "./new", {**after, "stderr": "The cleanup command failed. rm ended with exit code 1. "}
    )
    assert sentence == "The cleanup command of ./new failed in run 3, after 2 good runs. rm ended with exit code 1."
    sentence = run_problems.failure("./new", {**after, "stderr": "A neighbour ended."})
    assert sentence == "./new ended well, but its run does not count in run 3, after 2 good runs. A neighbour ended."
    # What a program prints itself is its own.
    sentence = run_problems.failure(
        "./new", {**numbers, "status": 2, "outcome": "failed", "stderr": "The setup command failed. "}
    )
    assert "failed with exit code 2" in sentence
