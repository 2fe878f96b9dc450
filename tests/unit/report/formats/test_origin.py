"""When and where runs of foreign files were measured: each run's own start, zones, machines."""

import json
import time
from datetime import UTC, datetime

import pytest

from becalm.load import sadf
from becalm.report import formats
from becalm.report.formats.origin import Dates


@pytest.fixture(autouse=True)
def zone(monkeypatch):
    """Set the time zone of this process to one that is two hours ahead of UTC."""
    monkeypatch.setenv("TZ", "EET-2")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def ns(*moment):
    return int(datetime(*moment, tzinfo=UTC).timestamp()) * 10**9


def read(tmp_path, value):
    (tmp_path / "f.json").write_text(json.dumps(value))
    (document,) = formats.read(tmp_path / "f.json")
    return document


def pyperf(*dates, **metadata):
    runs = [{"metadata": {"date": date}, "warmups": [[1, 2.0]], "values": [1.0, 1.1]} for date in dates]
    common = {"name": "a", "loops": 1, "hostname": "bench", "cpu_model_name": "Fast", **metadata}
    return {"version": "1.0", "benchmarks": [{"metadata": common, "runs": runs}]}


@pytest.mark.parametrize("metadata", [{}, {"loops": 8}, {"unit": "byte"}], ids=["times", "loops", "bytes"])
def test_each_run_of_pyperf_has_its_own_start(tmp_path, metadata):
    document = read(tmp_path, pyperf("2026-11-20 10:00:10.5", "2026-11-20 10:01:10", **metadata))
    first, second = ns(2026, 11, 20, 8, 0, 10) + 5 * 10**8, ns(2026, 11, 20, 8, 1, 10)
    assert [run.started_ns for run in document.runs] == [first] * 3 + [second] * 3
    assert document.created_ns == first
    assert document.facts == {"host": {"hostname": "bench"}, "cpu": {"model": "Fast"}}
    (noticed,) = document.noticed
    assert noticed.numbers == {"first": "2026-11-20 10:00:10", "offset": "+02:00"}
    assert "read as local time of this machine, UTC+02:00" in noticed.sentence


def test_dates_with_a_zone_are_taken_by_it(tmp_path):
    document = read(tmp_path, pyperf("2026-11-20T10:00:10+01:00"))
    assert {run.started_ns for run in document.runs} == {ns(2026, 11, 20, 9, 0, 10)}
    assert not document.noticed


def test_runs_without_a_date_have_none_of_another_run(tmp_path):
    document = read(tmp_path, pyperf("2026-11-20T10:00:10Z", "yesterday"))
    assert [run.started_ns > 0 for run in document.runs] == [True] * 3 + [False] * 3


def test_a_file_of_several_machines_is_of_none(tmp_path):
    value = pyperf("2026-11-20T10:00:10Z")
    value["benchmarks"] += pyperf("2026-11-20T10:00:10Z", hostname="other", name="b")["benchmarks"]
    assert read(tmp_path, value).facts == {}


def test_the_date_of_a_whole_file_is_not_that_of_its_runs(tmp_path):
    row = {"name": "BM_a", "run_name": "BM_a", "run_type": "iteration", "iterations": 1, "real_time": 5.0}
    context = {"date": "2026-11-20T10:00:10+00:00", "host_name": "bench"}
    document = read(tmp_path, {"context": context, "benchmarks": [row, row]})
    assert [run.started_ns for run in document.runs] == [0, 0]
    assert (document.created_ns, document.facts) == (ns(2026, 11, 20, 10, 0, 10), {"host": {"hostname": "bench"}})
    machine = {"node": "bench", "cpu": {"brand_raw": "Fast"}}
    benchmark = {"fullname": "a", "name": "a", "stats": {"data": [1.0, 2.0], "rounds": 2}}
    value = {"machine_info": machine, "datetime": "2026-11-20T10:00:10.5", "benchmarks": [benchmark], "version": "3"}
    document = read(tmp_path, value)
    # pytest-benchmark writes UTC and does not say so.
    assert document.created_ns == ns(2026, 11, 20, 10, 0, 10) + 5 * 10**8
    assert {run.started_ns for run in document.runs} == {0}
    assert not document.noticed


@pytest.mark.parametrize(
    "text",
    [None, 5, "", "yesterday", "1960-01-01T00:00:00Z", "0001-01-01T00:00:00", "9999-12-31T23:59:59Z", "20/11/2026"],
)
def test_an_invalid_date_is_unknown(text):
    assert Dates().ns(text) == 0


def test_old_dates_of_google_benchmark_are_read():
    assert Dates(utc=True).ns("2016/08/02-14:47:29") == ns(2016, 8, 2, 14, 47, 29)


def test_a_run_without_a_length_has_the_load_of_the_interval_it_began_in(tmp_path):
    document = read(tmp_path, pyperf("2026-11-20T10:00:10Z", loops=8))
    intervals = [
        sadf.SarInterval(ns(2026, 11, 20, 10, minute), ns(2026, 11, 20, 10, minute + 1), {}, 2, None)
        for minute in (0, 1)
    ]
    (load,) = sadf.loads(intervals, document.runs)
    assert (load.first, load.last, load.interval_ns) == (0, 2, 60 * 10**9)
