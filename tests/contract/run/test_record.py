"""Sessions of real programs."""

import pytest

import becalm
from becalm.errors import UsageError, WorkloadError


def test_a_benchmark_that_fails_does_not_keep_the_others_from_being_recorded(agent, own_directories):
    place = {"project": "of test_record", "commit": "c", "runs": 3}
    verdict = becalm.record(["true", "false"], references=["sleep 0.001"], **place)
    assert [(summary.name, summary.runs) for summary in verdict.summaries] == [("true", 3), ("sleep 0.001", 3)]
    assert "Runs of false failed" in verdict.sentence
    shown = {benchmark.name: len(benchmark.points) for benchmark in becalm.history("of test_record").benchmarks}
    assert (shown["true"], shown["sleep 0.001"]) == (1, 1)
    assert [benchmark.name for benchmark in becalm.history("of test_record").benchmarks if benchmark.reference] == [
        "sleep 0.001"
    ]
    with pytest.raises(WorkloadError, match="false"):
        becalm.record(["false"], **place)


def test_a_session_follows_a_metric_under_a_name(agent, own_directories):
    program = ["sh", "-c", "echo 'p99: 12.5'"]
    becalm.record([program], names=["latency"], metric=r"p99: ([0-9.]+),unit=ms", project="m", commit="c", runs=3)
    (benchmark,) = becalm.history("m").benchmarks
    assert (benchmark.name, benchmark.unit, benchmark.points[0].value) == ("latency", "ms", 12.5)
    with pytest.raises(UsageError, match="1 benchmark but 2 names"):
        becalm.record(["true"], names=["a", "b"], project="m", commit="d")
