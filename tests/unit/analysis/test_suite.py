"""Ratios, rates and means of a suite, against figures that were published and by hand; and their tables."""

import dataclasses
import json

import pytest
from msgspec.structs import replace

from becalm.analysis.suite import DAY_NS, geometric_mean, rate, rate_program, ratio, tuning
from becalm.analysis.suite_runs import RatedCell, cells
from becalm.analysis.suite_runs import ratings as of_runs
from becalm.load.record import Load
from becalm.nouns.options.suite import SuiteOptions
from becalm.nouns.run import COLUMNS, Run
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.report import suite as report
from becalm.results.suite import Ratings
from becalm.verbs.suite import conclude
from becalm.wording import suite as words

S = 10**9


CINT2006 = {
    "perlbench": (637, 9770, 15.3),
    "bzip2": (817, 9650, 11.8),
    "gcc": (724, 8050, 11.1),
    "mcf": (1345, 9120, 6.8),
    "gobmk": (721, 10490, 14.6),
    "hmmer": (890, 9330, 10.5),
    "sjeng": (837, 12100, 14.5),
    "libquantum": (1047, 20720, 19.8),
    "h264ref": (993, 22130, 22.3),
    "omnetpp": (690, 6250, 9.1),
    "astar": (773, 7020, 9.1),
    "xalancbmk": (1143, 6900, 6.0),
}
"""SPECINT2006 of an AMD Opteron X4 2356: seconds, the reference machine's seconds, and the ratio as published, in
Patterson & Hennessy, Computer Organization and Design, 4th edition, figure 1.20. Times there are whole seconds."""


def test_published_figures_of_a_real_machine():
    for name, (seconds, reference, published) in CINT2006.items():
        assert ratio(reference, seconds) == pytest.approx(published, abs=0.06), name
    programs = [rate_program(name, ref * S, 22130 * S, [s * S], [], None) for name, (s, ref, _) in CINT2006.items()]
    assert tuning("base", {}, programs).ratio == pytest.approx(11.7, abs=0.05)
    # Stallings, Computer Organization and Architecture, 8th edition, 2.5: a Sun Blade 6250, 464.h264ref.
    assert ratio(22135, 934) == pytest.approx(23.7, abs=0.05)


def test_a_reference_machine_rates_itself_as_the_run_rules_of_cpu95_say():
    """Reference times of CINT95, a SPARCstation 10/40: a copy at a time does 86400 / 4600 of the longest program a day,
    whatever program it is; twice the copies in the same time twice that, in twice the time half."""
    for reference in (4600, 1900, 1700, 1800, 1900, 2400, 1900, 2700):
        assert rate(1, reference * S, 4600 * S, reference * S) == pytest.approx(86400 / 4600)
        assert rate(2, reference * S, 4600 * S, reference * S) == pytest.approx(2 * 86400 / 4600)
        assert rate(1, reference * S, 4600 * S, 2 * reference * S) == pytest.approx(86400 / 9200)


def test_by_hand():
    assert ratio(10, 4) == 2.5
    assert rate(4, 10 * S, 40 * S, 20 * S) == 4 * 0.25 * 86400 / 20
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([]) is None
    assert geometric_mean([2.0, None]) is None
    assert DAY_NS == 86400 * S


def test_the_median_of_the_runs_counts_and_the_rest_is_unknown():
    program = rate_program("a", 12 * S, 24 * S, [6 * S, 3 * S, 4 * S], [8 * S, 9 * S, 10 * S], 2)
    assert (program.median_ns, program.ratio) == (4 * S, 3.0)
    assert (program.rate_median_ns, program.rate, program.delay) == (9 * S, 2 * 0.5 * 86400 / 9, 2.25)
    without = rate_program("b", None, 24 * S, [4 * S], [8 * S], 2)
    assert (without.ratio, without.rate, without.delay) == (None, None, 2.0)
    failed = rate_program("c", 12 * S, 24 * S, [], [], 2, failed=3)
    assert (failed.median_ns, failed.ratio, failed.delay, failed.failed) == (None, None, None, 3)
    both = tuning("base", {}, [program, without])
    assert (both.ratio, both.rate) == (None, None), "no mean over some of the programs"


@pytest.fixture
def ratings():
    first = rate_program("pack|x", 12 * S, 24 * S, [6 * S, 3 * S, 4 * S], [8 * S, 9 * S, 10 * S], 2)
    second = rate_program("render", 24 * S, 24 * S, [2 * S], [4 * S], 2)
    base = tuning("base", {"aslr": "off"}, [first, second])
    return Ratings("office", 7, "local", 3, 2, (base,))


def test_the_sentence_says_the_means_and_what_is_missing(ratings):
    # Ratios 3 and 12, rates 9600 and 43200: means 6 and 20364.67.
    assert words.sentence(ratings) == (
        "office, base: 2 programs, median of 3 runs; geometric mean: ratio 6.00, rate 20,400 with 2 copies."
    )
    gap = rate_program("gap", None, None, [S], [], None, failed=2)
    text = words.sentence(Ratings("x", None, "local", 1, None, (tuning("peak", {}, [gap]),)))
    assert text.splitlines()[0] == "x, peak: 1 program, median of 1 run."
    assert "2 runs did not end well" in text
    assert "no ratio, and no geometric mean: gap" in text


def test_the_sentence_says_what_was_on_before_and_that_times_are_emulated(ratings):
    about = SuiteOptions(suite="s", tunings=("base",), copies=None, programs=("a",), references_ns=(S,))
    options = {**about.to_json(), "standing": {"swappiness": 1}, "emulated": "no KVM"}
    result = conclude(Study("suite", (), options=options), [], 7)
    assert dict(result.standing) == {"swappiness": 1}
    text = words.sentence(replace(ratings, standing=result.standing, emulated=result.emulated))
    assert text.splitlines()[1:] == [
        "Times on this host are emulated (no KVM): they say nothing about a real processor.",
        "Applied before, until `becalm reset`: swappiness=1.",
    ]


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
    output = capture.get()
    assert "geometric mean" in output
    assert words.UNKNOWN not in output
    assert json.loads(json.dumps(ratings.to_json()))["tunings"][0]["programs"][0]["times_ns"] == [6 * S, 3 * S, 4 * S]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.01234, "0.0123"), (1.0, "1.00"), (12.345, "12.3"), (123.4, "123"), (20364.7, "20,400"), (None, "–")],
)
def test_three_digits(value, text):
    assert words.number(value) == text


def test_alongside_other_load_the_ratio_from_cpu_time_stands_alongside():
    about = SuiteOptions(suite="s", tunings=("base",), copies=None, programs=("a", "b"), references_ns=(10 * S, 10 * S))
    empty = Run._make([None] * len(COLUMNS))
    rows = [
        empty._replace(
            seq=seq, workload=seq % 2, round=seq // 2, wall_ns=2 * S, user_ns=3 * S // 4, system_ns=S // 4, outcome="ok"
        )
        for seq in range(6)
    ]
    quiet = Load(0, 0, 0, 2 * S, cpus=2, busy_ns=S, steal_ns=0, swap_out_bytes=0)
    loads = [quiet._replace(first=seq, last=seq, busy_ns=3 * S if seq in (0, 4) else S) for seq in range(6)]
    (base,) = of_runs(about, (Settings(),), rows, loads, workloads=(), study=1, host="local").tunings
    a, b = base.programs
    assert (a.ratio, a.contaminated, a.cpu_ratio) == (5.0, 2, 10.0)
    assert (b.ratio, b.contaminated, b.cpu_ratio) == (5.0, 0, None), "alongside it there was nothing"
    result = Ratings("s", 1, "local", 3, None, (base,))
    assert "Other programs ran during some runs: a (2 of 3)." in words.sentence(result)
    lines = report.as_markdown(result).splitlines()
    assert "| program | reference | time | spread | ratio | by CPU time |" in lines
    assert "| a | 10.00 s | 2.000 s | 0.0 % | 5.00 | 10.0 |" in lines
    assert "| b | 10.00 s | 2.000 s | 0.0 % | 5.00 |  |" in lines
    unknown = [run._replace(user_ns=None) for run in rows]
    (base,) = of_runs(about, (Settings(),), unknown, loads, workloads=(), study=1, host="local").tunings
    assert {program.cpu_ratio for program in base.programs} == {None}
    assert (
        of_runs(about, (Settings(),), rows, workloads=(), study=1, host="local").tunings[0].programs[0].contaminated
        == 0
    )


def test_ratings_of_stored_runs():
    """Two programs, base and peak, alone and twice: each workload has its place; warm-ups and failures count for
    nothing."""
    kinds = cells(2, 2, 2)
    assert kinds.index(RatedCell(1, 0, True)) == 6
    assert cells(1, 2, None) == [RatedCell(0, 0, False), RatedCell(0, 1, False)]
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
    fraction = of_runs(about, (Settings(), peak), rows, workloads=(), study=7, host="local")
    base, other = fraction.tunings
    assert (base.programs[0].times_ns, base.programs[0].rate_times_ns) == ((S, S), (3 * S, 3 * S))
    assert (other.programs[0].ratio, other.programs[0].rate_median_ns) == (10 / 5, 7 * S)
    assert (other.programs[1].ratio, other.programs[1].failed, fraction.failed) == (None, 1, 1)
    assert other.settings == {"nice": 5}
    alone = of_runs(
        dataclasses.replace(about, copies=None), (Settings(), peak), rows[:4], workloads=(), study=None, host="local"
    )
    assert alone.tunings[0].programs[0].rate is None
