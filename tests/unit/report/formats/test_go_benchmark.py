"""What `go test -bench` prints: real output, several packages, and files that are none or half written."""

import numpy as np
import pytest
from tests.places import ROOT

import becalm
from becalm.errors import UsageError
from becalm.nouns.metric import Better
from becalm.report.formats import go_benchmark, read
from becalm.study.sittings import sitting

DATA = ROOT / "tests/data/benchmarks"


def test_real_output_has_a_benchmark_for_each_unit():
    found = sitting(str(DATA / "go-benchmark-1.txt")).series
    assert set(found) == {
        "BenchmarkAppend/small", "BenchmarkAppend/small, MB/s", "BenchmarkAppend/small, B/op",
        "BenchmarkAppend/small, allocs/op", "BenchmarkAppend/large", "BenchmarkAppend/large, MB/s",
        "BenchmarkAppend/large, B/op", "BenchmarkAppend/large, allocs/op", "BenchmarkNothing",
        "BenchmarkNothing, things/s",
    }  # fmt: skip
    text = (DATA / "go-benchmark-1.txt").read_text()
    nanoseconds = [float(line.split()[2]) for line in text.splitlines() if line.startswith("BenchmarkAppend/small")]
    assert np.array_equal(found["BenchmarkAppend/small"].values, nanoseconds)
    assert len(nanoseconds) == 6
    assert found["BenchmarkAppend/small"].unit == "ns"
    assert found["BenchmarkAppend/small, MB/s"].better is Better.HIGHER
    assert found["BenchmarkAppend/small, B/op"].better is Better.LOWER
    assert set(found["BenchmarkAppend/large, B/op"].values) == {1024.0}


def test_two_files_are_compared_as_benchstat_does():
    old, new = (str(DATA / f"go-benchmark-{k}.txt") for k in (1, 2))
    found = becalm.compare_stored(old, new)
    assert len(found.benchmarks) == 10
    assert not found.gone
    assert not found.added


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
    found = sitting(str(tmp_path / "two.txt")).series
    assert {name: each.values.tolist() for name, each in found.items()} == {
        "example.org/a.BenchmarkX": [5.0],
        "example.org/b.BenchmarkX": [7.0],
        "example.org/b.BenchmarkY": [9000.0],
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("BenchmarkX-8 10 5 ns/op\nBenchmarkX-8 10 5", "half written"),
        ("BenchmarkX-8 10 5 ns/op\nBenchmarkX-8 10 5 ns/o", "half written"),
        ("BenchmarkX-8 10 5 ns/op\nBenchmarkX-8 10 1e999 ns/op\n", "is no number"),
        ("BenchmarkX-8 10 5..5 ns/op\n", "5..5 ns/op of BenchmarkX-8 is no number"),
        ("BenchmarkX-8 10 0 ns/op\n", "no benchmark with values"),
        ("PASS\nok example.org 1s\n", "`go test` without results of benchmarks"),
        ("", "is empty. becalm imports"),
    ],
)
def test_what_is_none_is_refused_in_a_sentence(text, said, tmp_path):
    (tmp_path / "out.txt").write_text(text)
    with pytest.raises(UsageError, match=said):
        read(tmp_path / "out.txt")


def test_a_text_that_looks_like_one_nearly_takes_no_time():
    assert not go_benchmark.recognises("Benchmark" + " 1" * 200_000)
    assert not go_benchmark.recognises("BenchmarkX 1" + " 1.5 a" * 100_000 + " 1")
