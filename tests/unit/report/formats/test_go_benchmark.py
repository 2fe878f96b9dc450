"""The output of `go test -bench`: real files, several packages, and files that are none or half written."""

import numpy as np
import pytest
from tests.places import ROOT

import becalm
from becalm.errors import UsageError
from becalm.nouns.metric import Better
from becalm.report.formats import go_benchmark, read
from becalm.study.stored_sessions import stored_session

DATA = ROOT / "tests/data/benchmarks"


def test_real_output_has_a_benchmark_for_each_unit():
    series = stored_session(str(DATA / "go-benchmark-1.txt")).series
    assert set(series) == {
        "BenchmarkAppend/small", "BenchmarkAppend/small, MB/s", "BenchmarkAppend/small, B/op",
        "BenchmarkAppend/small, allocs/op", "BenchmarkAppend/large", "BenchmarkAppend/large, MB/s",
        "BenchmarkAppend/large, B/op", "BenchmarkAppend/large, allocs/op", "BenchmarkNothing",
        "BenchmarkNothing, things/s",
    }  # fmt: skip
    text = (DATA / "go-benchmark-1.txt").read_text()
    nanoseconds = [float(line.split()[2]) for line in text.splitlines() if line.startswith("BenchmarkAppend/small")]
    assert np.array_equal(series["BenchmarkAppend/small"].values, nanoseconds)
    assert len(nanoseconds) == 6
    assert series["BenchmarkAppend/small"].unit == "ns"
    assert series["BenchmarkAppend/small, MB/s"].better is Better.HIGHER
    assert series["BenchmarkAppend/small, B/op"].better is Better.LOWER
    assert set(series["BenchmarkAppend/large, B/op"].values) == {1024.0}


def test_two_files_are_compared_as_benchstat_does():
    old, new = (str(DATA / f"go-benchmark-{k}.txt") for k in (1, 2))
    comparison = becalm.compare_stored(old, new)
    assert len(comparison.benchmarks) == 10
    assert not comparison.gone
    assert not comparison.added


TWO = """pkg: example.org/a
BenchmarkX-8  10  5 ns/op
PASS
pkg: example.org/b
BenchmarkX-8  10  7 ns/op  0 allocs/op
BenchmarkY
BenchmarkY-8  10  9e3 ns/op
--- FAIL: BenchmarkZ
"""


def test_packages_are_told_apart_and_lines_of_other_things_left_out(tmp_path):
    (tmp_path / "two.txt").write_text(TWO)
    session = stored_session(str(tmp_path / "two.txt"))
    assert {name: points.values.tolist() for name, points in session.series.items()} == {
        "example.org/a.BenchmarkX": [5.0],
        "example.org/b.BenchmarkX": [7.0],
        "BenchmarkY": [9000.0],
    }
    assert left_out(session.left_out) == {
        "zero or below, which has no ratio": {"BenchmarkX-8, allocs/op": 1},
        "it failed": {"BenchmarkZ": 1},
    }


def left_out(findings):
    """Return the entries that findings leave out, by the reason."""
    return {
        finding.numbers["reason"]: dict(finding.numbers["entries"])
        for finding in findings
        if finding.kind == "left_out"
    }


TWO_MACHINES = """goos: linux
pkg: p
cpu: A
BenchmarkX-8  10  5 ns/op
PASS
goos: linux
pkg: p
cpu: B
BenchmarkX-8  10  9 ns/op
cpu: A
BenchmarkX-8  10  6 ns/op
"""


def test_results_of_two_processors_in_one_file_are_not_put_together(tmp_path):
    (tmp_path / "x.txt").write_text(TWO_MACHINES)
    session = stored_session(str(tmp_path / "x.txt"))
    assert {name: points.values.tolist() for name, points in session.series.items()} == {
        "BenchmarkX (cpu=A)": [5.0, 6.0],
        "BenchmarkX (cpu=B)": [9.0],
    }
    (tmp_path / "one.txt").write_text(TWO_MACHINES.replace("cpu: B", "cpu: A"))
    session = stored_session(str(tmp_path / "one.txt"))
    assert {name: points.values.tolist() for name, points in session.series.items()} == {"BenchmarkX": [5.0, 9.0, 6.0]}
    assert dict(session.identities["BenchmarkX"].parameters) == {"package": "p", "GOMAXPROCS": "8"}


UNITS = """pkg: example.org/a
BenchmarkGet-8  10  2416.7 ns/op  2100 50%-ns/op  +Inf MB/s
BenchmarkRatio-8  100  1.2e+07 ns/op  NaN hit-ratio  0.95 hits/get  -2.0 drift  7 1stage
BenchmarkTold-8  100  1,234 ns/op  16 B/op
BenchmarkLog-8  some text of the test
--- SKIP: BenchmarkGone
Unit hits/get better=higher
BenchmarkCut-8  100  12.5 ns/op  3"""


def test_values_that_are_none_are_reported_and_the_rest_of_their_lines_stays(tmp_path):
    (tmp_path / "x.txt").write_text(UNITS)
    session = stored_session(str(tmp_path / "x.txt"))
    assert {name: points.values.tolist() for name, points in session.series.items()} == {
        "BenchmarkGet": [2416.7], "BenchmarkGet, 50%-ns/op": [2100.0], "BenchmarkRatio": [1.2e7],
        "BenchmarkRatio, hits/get": [0.95], "BenchmarkRatio, 1stage": [7.0], "BenchmarkTold, B/op": [16.0],
        "BenchmarkCut": [12.5],
    }  # fmt: skip
    assert session.series["BenchmarkRatio, hits/get"].better is Better.HIGHER
    assert left_out(session.left_out) == {
        "+Inf is not a finite number": {"BenchmarkGet-8, MB/s": 1},
        "NaN is not a finite number": {"BenchmarkRatio-8, hit-ratio": 1},
        "zero or below, which has no ratio": {"BenchmarkRatio-8, drift": 1},
        "1,234 is not a finite number": {"BenchmarkTold-8": 1},
        "its line holds other text than the number of iterations": {"BenchmarkLog-8": 1},
        "it was skipped": {"BenchmarkGone": 1},
        "3 at the end of its line has no unit: it is half written": {"BenchmarkCut-8": 1},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("BenchmarkX-8 10 5 ns/o", "half written"),
        ("BenchmarkX-8 10 1e999 ns/op\n", "1e999 is not a finite number"),
        ("BenchmarkX-8 10 5..5 ns/op\n", "BenchmarkX-8: 5..5 is not a finite number"),
        ("BenchmarkX-8 10 0 ns/op\n", "no benchmark with values"),
        ("PASS\nok example.org 1s\n", "`go test` without results of benchmarks"),
        ("", "is empty. becalm imports"),
    ],
)
def test_other_texts_are_refused_in_a_sentence(text, message, tmp_path):
    (tmp_path / "out.txt").write_text(text)
    with pytest.raises(UsageError, match=message):
        read(tmp_path / "out.txt")


def test_a_text_that_looks_like_one_nearly_takes_no_time():
    assert not go_benchmark.recognises("Benchmark" + " 1" * 200_000)
    assert not go_benchmark.recognises("Benchmarking X 10 5 ns/op\n")
    assert not go_benchmark.recognises("BenchmarkX 1 " + " " * 200_000 + "b")
