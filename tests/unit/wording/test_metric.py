"""Sentences on numbers that programs print."""

import math

import pytest

from becalm.nouns.finding import Interval
from becalm.nouns.metric import Better, Metric
from becalm.results.compare import Answer, Difference, MetricSummary, Place, Ranking, Summary, Throughput
from becalm.wording import compare, run_problems
from becalm.wording.metric import measured, median_of, per_second, quantity
from becalm.wording.numbers import duration


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.10234, "s", "102.3 ms"),
        (1.559, "s", "1.559 s"),
        (12345.6, "requests", "12,346 requests"),
        (93.9, "us", "93.90 us"),
        (1e-7, "s", "100.0 ns"),
        (0.000250012, "s", "250.0 µs"),
        (1e-7, "J", "1.000e-07 J"),
        (5e17, "", "5.000e+17"),
        (0.0, "", "0"),
        (math.nan, "s", "?"),
        (0.0, "bytes", "0 B"),
        (1023.0, "bytes", "1,023 B"),
        (52_428_800.0, "bytes", "50.00 MiB"),
        (3e15, "bytes", "2,728 TiB"),
    ],
)
def test_a_quantity_has_four_digits_and_its_unit(value, unit, text):
    assert quantity(value, unit) == text


def difference(estimate, low, high, answer, better=Better.LOWER):
    return Difference("B", "A", estimate, low, high, 0.95, 30, 0.01, 0.01, answer, 0.001, metric="p99", better=better)


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        (difference(-0.12, -0.13, -0.11, Answer.LOWER), "p99 of B is 12.0 % lower than that of A, which is better ("),
        (difference(0.12, 0.11, 0.13, Answer.HIGHER), "p99 of B is 12.0 % higher than that of A, which is worse ("),
        (
            difference(0.12, 0.11, 0.13, Answer.HIGHER, Better.HIGHER),
            "p99 of B is 12.0 % higher than that of A, which is better (95 %: 11.0 to 13.0 %)",
        ),
        (
            difference(1.5, 1.4, 1.6, Answer.HIGHER),
            "p99 of B is 2.5 times that of A, which is worse (95 %: 2.4 to 2.6)",
        ),
        (
            difference(0.0, -0.01, 0.01, Answer.NO_DIFFERENCE_DETECTED),
            "No difference above 1.0 % in p99 between B and A",
        ),
        (
            difference(0.2, -0.6, 1.4, Answer.NO_DIFFERENCE_DETECTED),
            "Too noisy to tell: the p99 of B is 0.40 to 2.40 times that of A (95 %)",
        ),
        (
            difference(0.0, -math.inf, math.inf, Answer.UNKNOWN),
            "Not yet known whether the p99 of B differs from that of A",
        ),
    ],
)
def test_a_comparison_says_what_is_compared_and_whether_it_is_better(estimate, words):
    assert words in compare.difference(estimate, 10**9)


def summary(metrics=(), throughput=None):
    mean = Interval(2e9, 1.9e9, 2.1e9)
    cv = Interval(0.1, 0.05, 0.2)
    return Summary("x", 9, 0, mean, mean, cv, 1.0, 1, 2, None, None, None, None, 9.0, None, None, metrics, throughput)


def test_a_run_says_its_metric_and_what_it_gets_done():
    value = Interval(5.0, 4.9, 5.1)
    p99 = MetricSummary("p99", "us", Better.LOWER, 9, value, value, Interval(0.01, 0.0, 0.02), 0.1, 4.0, 6.0)
    done = Throughput("messages", Interval(5e5, 4e5, 6e5))
    sentence = compare.run(summary((p99,), done), 10**9, 0.95)
    assert sentence.startswith(
        "The p99 of x is 5.000 us ± 2.0 % on average (95 %), 500,000 messages/s, with a spread of 1.0 %"
    )
    assert measured(summary()).shown(2e9) == "2.000 s"
    assert per_second(summary()) == ""


def test_the_best_of_several_is_named_by_its_metric():
    ranking = Ranking((Place("a", 1, 1, 9), Place("b", 2, 3, 9), Place("c", 2, 3, 9)), 0.95, None, 0.0)
    rate = Metric("(x)", "requests", better=Better.HIGHER)
    assert compare.fastest(ranking, rate) == "a has the highest requests of 3 programs (95 %)."
    assert compare.fastest(ranking, Metric("(x)", "p99")) == "a has the lowest p99 of 3 programs (95 %)."
    assert compare.fastest(ranking) == "a is the fastest of 3 programs (95 %)."
    unsure = Ranking((Place("a", 1, 2, 9), Place("b", 1, 2, 9), Place("c", 3, 3, 9)), 0.95, None, 0.01)
    assert compare.fastest(unsure, rate).startswith("a had the highest requests of 3 programs; b differs from it by")
    assert "c cannot have the highest requests." in compare.fastest(unsure, rate)


def test_a_number_that_was_not_printed_is_reported_with_the_last_line():
    numbers = {
        "status": 0, "outcome": "failed", "stderr": "The metric's pattern matches nothing. Last line: 'x'.\nwarning",
        "done": 3, "warmup": False, "wall_ns": 5, "seq": 3, "unread": True,
    }  # fmt: skip
    sentence = run_problems.failure("prog", numbers)
    assert sentence.startswith(
        "prog ended well, but its metric could not be read in run 3, after 3 good runs. The metric's pattern"
    )
    assert sentence.endswith("End of its standard error:\n    warning")


def test_a_median_is_called_one_once():
    assert median_of("time of a loop") == "median time of a loop"
    assert median_of("median of the rounds") == "median of the rounds"


def test_values_that_a_step_is_between_are_told_apart():
    assert [quantity(0.5012 + place * 2e-5, "s", 2e-5) for place in range(3)] == ["501.20 ms", "501.22 ms", "501.24 ms"]
    assert duration(501.2e6, 2e4) == "501.20 ms"
    assert duration(501.2e6) == "501.2 ms"
    assert quantity(10, "ops") == "10.00 ops"
