"""Ratios, rates and means of a suite, against figures that were published and by hand; and their tables."""

import json
from dataclasses import replace

import pytest

from becalm.analysis.rated_runs import Cell, cells
from becalm.analysis.rated_runs import ratings as of_runs
from becalm.analysis.rating import DAY_NS, geometric_mean, rate, rated, ratio, tuning
from becalm.nouns.options.suite import SuiteOptions
from becalm.nouns.rating import Ratings
from becalm.nouns.run import COLUMNS, Run
from becalm.nouns.settings import Settings
from becalm.report import suite as report
from becalm.wording import suite as words

S = 10**9


def test_published_figures_of_cpu95():
    """SPEC CINT95 of the reference machine itself, a SPARCstation 10/40: each ratio is 1, and so is the mean.

    Reference times of CINT95 (SPEC CPU95 run rules, "SPEC CPU95 Reference Times"): go 4600, m88ksim 1900, gcc 1700,
    compress 1800, li 1900, ijpeg 2400, perl 1900, vortex 2700 s. One copy on it does 86400 / 4600 a day.
    """
    references = [4600, 1900, 1700, 1800, 1900, 2400, 1900, 2700]
    assert geometric_mean(ratio(each, each) for each in references) == 1.0
    rates = [rate(1, each * S, max(references) * S, each * S) for each in references]
    assert rates == pytest.approx([86400 / 4600] * 8)
    assert geometric_mean(rates) == pytest.approx(18.7826, abs=1e-4)


def test_by_hand():
    assert ratio(10, 4) == 2.5
    assert rate(4, 10 * S, 40 * S, 20 * S) == 4 * 0.25 * 86400 / 20
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([]) is None
    assert geometric_mean([2.0, None]) is None
    assert DAY_NS == 86400 * S


def test_the_median_of_the_runs_counts_and_the_rest_is_unknown():
    program = rated("a", 12 * S, 24 * S, [6 * S, 3 * S, 4 * S], [8 * S, 9 * S, 10 * S], 2)
    assert (program.median_ns, program.ratio) == (4 * S, 3.0)
    assert (program.rate_median_ns, program.rate, program.delay) == (9 * S, 2 * 0.5 * 86400 / 9, 2.25)
    without = rated("b", None, 24 * S, [4 * S], [8 * S], 2)
    assert (without.ratio, without.rate, without.delay) == (None, None, 2.0)
    failed = rated("c", 12 * S, 24 * S, [], [], 2, failed=3)
    assert (failed.median_ns, failed.ratio, failed.delay, failed.failed) == (None, None, None, 3)
    both = tuning("base", {}, [program, without])
    assert (both.ratio, both.rate) == (None, None), "no mean over some of the programs"


@pytest.fixture
def ratings():
    first = rated("pack|x", 12 * S, 24 * S, [6 * S, 3 * S, 4 * S], [8 * S, 9 * S, 10 * S], 2)
    second = rated("render", 24 * S, 24 * S, [2 * S], [4 * S], 2)
    base = tuning("base", {"aslr": "off"}, [first, second])
    return Ratings("office", 7, "local", 3, 2, (base,))


def test_the_sentence_says_the_means_and_what_is_missing(ratings):
    # Ratios 3 and 12, rates 9600 and 43200: means 6 and 20364.67.
    assert words.sentence(ratings) == (
        "office, base: 2 programs, median of 3 runs; geometric mean: ratio 6.00, rate 20,400 with 2 copies."
    )
    gap = rated("gap", None, None, [S], [], None, failed=2)
    said = words.sentence(Ratings("x", None, "local", 1, None, (tuning("peak", {}, [gap]),)))
    assert said.splitlines()[0] == "x, peak: 1 program, median of 1 run."
    assert "2 runs did not end well" in said
    assert "no ratio, and no geometric mean: gap" in said


def test_tables(ratings):
    lines = report.as_markdown(ratings).splitlines()
    assert "## base (aslr=off)" in lines
    assert "| program | reference | time | spread | ratio | 2 copies | rate | delay |" in lines
    assert "| pack\\|x | 12.00 s | 4.000 s | 75.0 % | 3.00 | 9.000 s | 9,600 | 2.25 |" in lines
    assert "| geometric mean |  |  |  | 6.00 |  | 20,400 |  |" in lines
    from becalm.report import terminal

    console = terminal.console(plain=True)
    with console.capture() as capture:
        console.print(report.on_terminal(ratings, plain=True))
    said = capture.get()
    assert "geometric mean" in said
    assert words.UNKNOWN not in said
    assert json.loads(json.dumps(ratings.to_json()))["tunings"][0]["programs"][0]["times_ns"] == [6 * S, 3 * S, 4 * S]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.01234, "0.0123"), (1.0, "1.00"), (12.345, "12.3"), (123.4, "123"), (20364.7, "20,400"), (None, "–")],
)
def test_three_digits(value, text):
    assert words.number(value) == text


def test_ratings_of_stored_runs():
    """Two programs, base and peak, alone and twice: each workload has its place; warm-ups and failures count for
    nothing."""
    kinds = cells(2, 2, 2)
    assert kinds.index(Cell(1, 0, True)) == 6
    assert cells(1, 2, None) == [Cell(0, 0, False), Cell(0, 1, False)]
    about = SuiteOptions(
        suite="s", tunings=("base", "peak"), copies=2, programs=("a", "b"), references_ns=(10 * S, None)
    )
    empty = Run._make([None] * len(COLUMNS))
    rows = [
        empty._replace(workload=index, wall_ns=(index + 1) * S, round=number, outcome="ok")
        for number in (-1, 0, 1)
        for index in range(8)
        if number >= 0 or not kinds[index].together
    ]
    rows[-1] = rows[-1]._replace(outcome="failed")
    peak = Settings.of({"nice": 5})
    found = of_runs(about, (Settings(), peak), rows, study=7, host="local")
    base, other = found.tunings
    assert (base.programs[0].times_ns, base.programs[0].rate_times_ns) == ((S, S), (3 * S, 3 * S))
    assert (other.programs[0].ratio, other.programs[0].rate_median_ns) == (10 / 5, 7 * S)
    assert (other.programs[1].ratio, other.programs[1].failed, found.failed) == (None, 1, 1)
    assert other.settings == {"nice": 5}
    alone = of_runs(replace(about, copies=None), (Settings(), peak), rows[:4], study=None, host="local")
    assert alone.tunings[0].programs[0].rate is None
