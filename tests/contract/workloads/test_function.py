"""Python functions as programs: calls timed in fresh processes."""

import os
import threading

import pytest

import becalm
from becalm.errors import UsageError, WorkloadError
from becalm.workloads import function, single


def double():
    """Return six; the function can be found by its name in the module."""
    return 2 * 3


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(function, "WORK_S", 1e-5)


def test_each_run_is_a_fresh_process_that_times_calls(agent, own_directories, tmp_path):
    log = tmp_path / "log"

    def noted():
        with open(log, "a") as file:
            file.write(f"{os.getpid()}\n")

    verdict = becalm.run(noted, runs=3, warmup=0, store=False)
    assert verdict.summaries[0].metrics[0].name == "time of a call"
    assert verdict.summaries[0].metrics[0].mean.value > 0
    assert str(os.getpid()) not in log.read_text().split()
    # One process for the number of calls, and one for each run.
    assert len(set(log.read_text().split())) == 4


def test_functions_are_compared_with_each_other(agent, own_directories):
    verdict = becalm.compare(double, lambda: double(), runs=2, store=False)
    assert [summary.name for summary in verdict.summaries] == ["double", "lambda"]
    assert verdict.metric.unit == "s"


def test_output_of_the_function_does_not_change_its_time(agent, own_directories):
    verdict = becalm.run(lambda: print("becalm_call_s: 5"), runs=2, store=False)
    assert verdict.summaries[0].metrics[0].mean.value != 5


def test_a_function_that_fails_is_named_with_its_last_lines():
    def fails():
        raise ValueError("no luck")

    with pytest.raises(WorkloadError, match=r"(?s)fails failed when it was called.*ValueError: no luck"):
        single(fails)


def test_a_function_that_cannot_travel_is_refused():
    lock = threading.Lock()
    with pytest.raises(UsageError, match="cannot be pickled for another process"):
        single(lambda: lock.locked())
    data = os.urandom(200_000)
    with pytest.raises(UsageError, match="bytes of data"):
        single(lambda: data)
