"""Numbers that programs print, on this machine: read by the agent, part of the run, compared, and missing."""

import re

import pytest
from tests.contract.scripted import MS, run_row, scripted_becalm, write_script

import becalm
from becalm.errors import RefusedError, UsageError, WorkloadError
from becalm.results.compare import Answer, Gate, Stopped
from becalm.store import Store


def shell(text):
    return ["/bin/sh", "-c", text]


def test_a_number_that_a_program_prints_is_part_of_its_run(store):
    script = """echo "start"; echo "Time: 0.5"; echo "Time: 0.25"; echo '{"rate": {"all": [1, 4000]}}' >&2"""
    wanted = ["Time: ([0-9.]+),unit=s,take=first", "json:rate.all[-1],unit=req/s,better=higher"]
    verdict = becalm.run(shell(script), metric=wanted, tasks="100 requests", runs=3, output="keep")
    (summary,) = verdict.summaries
    assert [(metric.name, metric.mean.value) for metric in summary.metrics] == [("Time", 0.5), ("all", 4000.0)]
    assert summary.throughput.what == "requests"
    assert "is 500.0 ms" in verdict.sentence
    with Store.open(store) as opened:
        assert {run.metrics for run in opened.runs(verdict.study)} == {(0.5, 4000.0)}
        assert opened.texts(verdict.study)[0][1].startswith("start\nTime: 0.5\n"), "the output is kept all the same"
    assert becalm.show(verdict.study).verdict.summaries == verdict.summaries


def test_more_is_better_on_request(store):
    slow, fast = (f'echo "$(({rate} + $$ % 7)) req/s"' for rate in (1000, 2000))
    rate = "([0-9]+) req/s,name=rate,better=higher"
    verdict = becalm.compare([shell(slow), shell(fast)], names=["slow", "fast"], metric=rate, runs=30, fail_above="2%")
    (difference,) = verdict.differences
    assert difference.answer is Answer.HIGHER
    assert difference.worse is False
    assert verdict.gate is Gate.WITHIN
    assert "rate of fast is" in verdict.sentence
    assert "which is better" in verdict.sentence
    back = becalm.compare([shell(fast), shell(slow)], names=["fast", "slow"], metric=rate, runs=30, fail_above="2%")
    assert back.gate is Gate.ABOVE
    again = becalm.compare([shell(slow)], names=["fast"], metric=rate, runs=30, baseline=verdict.study)
    assert again.differences[0].worse is True
    with pytest.raises(UsageError, match="has no run with the metric 'other'"):
        becalm.compare([shell(slow)], metric="([0-9]+) req,name=other", runs=2, baseline=verdict.study)


def test_a_missing_number_is_a_failed_run_reported_with_the_last_line(store):
    with pytest.raises(WorkloadError, match="could not be read") as caught:
        becalm.run(shell("echo one; echo two"), metric="Time: ([0-9.]+)", runs=3)
    assert 'Last line of its standard output: "two".' in str(caught.value)
    with pytest.raises(WorkloadError, match='found "0", which is not a number above zero'):
        becalm.run(shell("echo Time: 0"), metric="Time: ([0-9.]+)", runs=3)
    with pytest.raises(WorkloadError, match="failed with exit code 3"):
        becalm.run(shell("echo Time: 1; exit 3"), metric="Time: ([0-9.]+)", runs=3)


def test_runs_before_the_number_went_missing_count(store, tmp_path):
    script = f"echo x >> {tmp_path}/n; [ $(wc -l < {tmp_path}/n) -gt 6 ] || echo Time: 5"
    verdict = becalm.run(shell(script), metric="Time: ([0-9.]+)", runs=40, warmup=0)
    assert verdict.stopped is Stopped.FAILED
    assert verdict.summaries[0].runs == 6
    (sentence,) = [finding.sentence for finding in verdict.findings if finding.kind == "failure"]
    assert "could not be read in run 6, after 6 good runs" in sentence


MUCH = "head -c 20000000 /dev/zero | tr '\\0' x; echo"


@pytest.mark.parametrize(("take", "number"), [("first", 9.0), ("last", 7.0)])
def test_the_first_and_the_last_number_of_much_output(store, take, number):
    script = f"echo Time: 9; {MUCH}; echo Time: 7"
    verdict = becalm.run(shell(script), metric=f"Time: ([0-9.]+),take={take}", runs=1, warmup=0)
    assert verdict.summaries[0].metrics[0].mean.value == number


@pytest.mark.parametrize("metric", ["Time: ([0-9.]+)", "Time: ([0-9.]+),take=first", "json:time"])
def test_a_metric_in_lost_output_is_not_taken_for_missing(store, metric):
    script = f"{MUCH}; echo Time: 8; {MUCH}"
    with pytest.raises(WorkloadError, match=r"bytes that it printed, and the rest was not stored\. Have it print less"):
        becalm.run(shell(script), metric=metric, runs=1, warmup=0)


def test_a_number_that_can_be_read_in_two_ways_is_refused(store):
    for text, words in (("Time: 1,234 ms", "is a part of"), ("Time: 1,234", "is a part of")):
        with pytest.raises(WorkloadError, match=words):
            becalm.run(shell(f"echo '{text}'"), metric="Time: ([0-9.]+)", runs=1, warmup=0)
    with pytest.raises(WorkloadError, match="can be read in two ways"):
        becalm.run(shell("echo 'Time: 1,234'"), metric="Time: ([0-9.,]+)", runs=1, warmup=0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metric": "(["}, "is not valid"),
        ({"metric": "(a)(b)"}, "has 2 groups"),
        ({"metric": "(a)", "output": "inherit"}, "passes that on unread"),
        ({"metric": "(a)", "host": "null"}, "there is no output from which to read"),
        ({"metric": "(a)", "host": "sim:drift"}, "there is no output from which to read"),
    ],
)
def test_an_invalid_metric_is_refused_before_anything_runs(store, options, words):
    with pytest.raises(UsageError, match=words):
        becalm.run("spin 5ms" if "host" in options else shell("echo a"), runs=2, **options)


def test_memory_is_measured_over_time_and_shown_again(store, tmp_path, monkeypatch):
    """Script two processes whose memory grows from 20 to 60 MB together; the larger has 32 MB at most."""
    sizes = [20_000_000, 30_000_000, 40_000_000, 50_000_000, *[60_000_000] * 6]
    resident = [[50 * MS * number, size] for number, size in enumerate(sizes)]
    rows = [run_row(500, resident=resident, max_rss_bytes=32_000_000)]
    scripted_becalm(monkeypatch, write_script(tmp_path / "script", rows))
    specs = ["memory:peak", "memory:average", "memory:growth", "time:wall"]
    verdict = becalm.run("true", metric=specs, runs=2, warmup=0)
    (summary,) = verdict.summaries
    peak, average, growth, wall = (metric.mean.value for metric in summary.metrics)
    assert (peak, wall) == (60e6, 0.5)
    assert 20e6 < average < 60e6
    assert growth == pytest.approx(60 / 55)
    assert [size for _, size in summary.memory] == sizes
    assert becalm.show(verdict.study).verdict.summaries == verdict.summaries


def test_a_run_without_a_sample_of_memory_has_a_peak_only(store, tmp_path, monkeypatch):
    scripted_becalm(monkeypatch, write_script(tmp_path / "script", [run_row(1, max_rss_bytes=4096)]))
    assert becalm.run("true", metric="memory:peak", runs=2).summaries[0].metrics[0].mean.value == 4096
    with pytest.raises(WorkloadError, match=r"memory:average is not known of this run.*memory:peak"):
        becalm.run("true", metric="memory:average", runs=2)


def measurable(spec):
    """Return True where this machine lets us count it, else the reason that is reported."""
    try:
        becalm.run(shell(":"), metric=["time:wall", spec], runs=1)
    except RefusedError as error:
        return str(error)
    return True


def check_counted(event):
    """Compare one shell with seven by what the kernel counts."""
    if (reason := measurable(f"counter:{event}")) is not True:
        pytest.skip(reason)
    work = "for i in 1 2 3 4 5 6; do /bin/sh -c :; done"
    verdict = becalm.compare([shell(":"), shell(work)], metric=f"counter:{event}", names=["one", "many"], runs=12)
    assert verdict.differences[0].answer is Answer.HIGHER
    assert "of many is" in verdict.sentence


def test_a_count_of_the_kernel_is_compared(store):
    check_counted("page-faults")


@pytest.mark.parametrize("event", ["instructions", "cycles", "cache-misses", "context-switches"])
def test_a_counter_that_is_not_here_is_refused_with_the_reason(store, event):
    reason = measurable(f"counter:{event}")
    assert reason is True or re.search(rf"^counter:{event} cannot be measured here: .{{30}}", reason)


def test_wakeups_show_how_soon_threads_run_and_what_is_done_in_a_second(store):
    verdict = becalm.run("wakeups:workers=2,requests=200,work=100", runs=3)
    (summary,) = verdict.summaries
    values = {metric.name: metric.mean.value for metric in summary.metrics}
    assert 0 < values["wake-up p50"] <= values["wake-up p99"] <= values["wake-up p99.9"]
    assert values["requests/s"] > 0
    assert "wake-up p99 of" in verdict.sentence
    rates = becalm.compare(
        ["wakeups:workers={n},requests=50,work=100"],
        parameters={"n": "1,2"},
        metric="json:requests_per_second,name=rate,better=higher",
        runs=5,
    )
    assert rates.metric.name == "rate"
    assert [dict(finding.numbers) for finding in rates.findings if finding.kind == "failure"] == []


def test_a_missing_program_is_reported_with_its_package(store, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(WorkloadError, match=r'no program "hackbench".*package rt-tests'):
        becalm.run("hackbench:groups=1,loops=1", runs=1)
