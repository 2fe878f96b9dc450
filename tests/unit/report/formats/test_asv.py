"""asv's results as sessions: real ones of asv, both versions of the format, and files that are damaged or hostile."""

import copy
import json
import re
import shutil

import pytest
from click.testing import CliRunner
from tests.places import ROOT
from tests.support.no_repository import no_repository  # noqa: F401

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UsageError
from becalm.report.formats import asv, read
from becalm.verbs import records

REAL = ROOT / "tests/data/benchmarks/asv/results"
COLUMNS = ["result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b", "stats_q_25",
           "stats_q_75", "stats_number", "stats_repeat", "samples", "profile"]  # fmt: skip
MACHINE = {"machine": "ci-1", "arch": "x86_64", "cpu": "Xeon", "num_cpu": "8", "os": "Linux 6.1.0", "ram": "16318260",
           "version": 1}  # fmt: skip
BENCHMARKS = {
    "version": 2,
    "bench.time_sort": {"name": "bench.time_sort", "unit": "seconds", "version": "aaa", "params": [["10", "1000"]]},
    "bench.mem_list": {"name": "bench.mem_list", "unit": "bytes", "version": "bbb", "params": []},
    "bench.track_score": {"name": "bench.track_score", "unit": "points", "version": "ccc", "params": []},
}
SECOND = {
    "commit_hash": "a" * 40, "env_name": "virtualenv-py3.11", "date": 1_700_000_000_000, "version": 2,
    "params": {"machine": "ci-1", "python": "3.11"}, "python": "3.11", "requirements": {}, "env_vars": {},
    "result_columns": COLUMNS,
    "results": {
        "bench.time_sort": [[0.001, 0.125], [["10", "1000"]], "aaa", 1_700_000_500_000, 1.5, [0.0009, 0.1],
                            [0.0011, 0.2], None, None, [10, 1], [5, 5], [[0.001, 0.0011], None]],
        "bench.mem_list": [[4096], [], "bbb", 1_700_000_600_000],
        "bench.track_score": [None, [], "ccc"],
        "bench.time_gone": [[1.0], [], "ddd"],
    },
    "durations": {},
}  # fmt: skip
FIRST = {
    "commit_hash": "b" * 40, "date": 1_700_100_000_000, "version": 1, "params": {"machine": "ci-1"}, "python": "3.11",
    "requirements": {}, "started_at": {"bench.time_sort": 1_700_100_500_000}, "benchmark_version": {},
    "results": {
        "bench.time_sort": {"result": [0.002, None], "params": [["10", "1000"]], "stats": [None, None]},
        "bench.mem_list": 8192,
        "bench.track_score": {"result": [float("nan")], "params": []},
    },
}  # fmt: skip


pytestmark = pytest.mark.usefixtures("no_repository")


@pytest.fixture
def results(tmp_path):
    """A directory of results of both versions; gives a function that writes a file of the machine."""
    place = tmp_path / "project/results"
    (place / "ci-1").mkdir(parents=True)

    def write(name, value, text=None):
        (place / name).write_text(json.dumps(value) if text is None else text)
        return place

    write("benchmarks.json", BENCHMARKS)
    write("ci-1/machine.json", MACHINE)
    write("ci-1/aaaaaaaa-virtualenv-py3.11.json", SECOND)
    write("ci-1/bbbbbbbb-py3.11.json", FIRST)
    return write


def values_by_benchmark(document):
    """Return values by name of the benchmark; None for a failed run."""
    result = {workload.name: [] for workload in document.study.workloads}
    for run in document.runs:
        result[document.study.workloads[run.workload].name].append(run.metrics and run.metrics[0])
    return result


def test_a_session_for_each_commit_in_both_versions(results):
    place = results("ci-1/machine.json", MACHINE)
    second, first = read(place)
    assert values_by_benchmark(second) == {
        "bench.time_sort(10)": [1e6, pytest.approx(1.1e6)],
        "bench.time_sort(1000)": [1.25e8],
        "bench.mem_list": [4096.0],
        "bench.track_score": [None],
    }, "samples where there are some; what is no benchmark any more is left out"
    assert values_by_benchmark(first) == {
        "bench.time_sort(10)": [2e6],
        "bench.time_sort(1000)": [None],
        "bench.mem_list": [8192.0],
    }
    options = second.study.options
    assert (options["project"], options["commit"], options["commit_ns"]) == ("project", "a" * 40, 1_700_000_000 * 10**9)
    assert second.created_ns == 1_700_000_500 * 10**9
    assert second.study.kind == "record"
    assert second.facts["cpu"] == {"model": "Xeon", "count": 8}
    assert second.facts["memory"]["total_bytes"] == 16318260 * 1024
    units = {workload.name: workload.metrics[0].unit for workload in second.study.workloads}
    assert units == {"bench.time_sort(10)": "ns", "bench.time_sort(1000)": "ns", "bench.mem_list": "bytes",
                     "bench.track_score": "points"}  # fmt: skip


def test_environments_are_told_apart_where_there_are_several(results):
    place = results("ci-1/machine.json", MACHINE)
    assert {document.study.options["machine"] for document in read(place)} == {
        "ci-1, virtualenv-py3.11",
        "ci-1, py3.11",
    }
    other = results("ci-1/bbbbbbbb-py3.11.json", {**FIRST, "env_name": "virtualenv-py3.11"})
    assert {document.study.options["machine"] for document in read(other)} == {"ci-1, virtualenv-py3.11"}


def test_the_directory_of_one_machine_and_results_of_an_older_benchmark(results):
    newer = copy.deepcopy(BENCHMARKS)
    newer["bench.time_sort"]["version"] = "zzz"
    place = results("benchmarks.json", newer)
    second, _ = read(place / "ci-1")
    assert "bench.time_sort(10)" not in values_by_benchmark(second)
    (place / "benchmarks.json").unlink()
    second, _ = read(place)
    assert values_by_benchmark(second)["bench.time_gone"] == [1e9], (
        "without a list all are present, by the units of their names"
    )


def test_the_project_is_that_of_asvs_configuration(results, tmp_path):
    place = results("ci-1/machine.json", MACHINE)
    (tmp_path / "project/asv.conf.json").write_text('{\n  // a comment\n  "project": "numpy",\n}')
    assert {document.study.options["project"] for document in read(place)} == {"numpy"}


def test_history_goes_on_with_it(results, monkeypatch, store):
    # Drawing the page of each of 14 studies takes five seconds; another test imports real results with it.
    monkeypatch.setattr(records, "_wrong", lambda document, **how: "")
    for number in range(5):
        changed = {**SECOND, "commit_hash": f"{number:040x}", "date": 1_700_000_000_000 + number * 10**6}
        place = results(f"ci-1/{number:08x}-x.json", changed)
    assert len(becalm.import_(place, store, project="sorting")) == 7
    history = becalm.history("sorting", store=store)
    assert history.order == "commit date"
    assert len(history.sessions) == 7
    by_name = {benchmark.name: benchmark for benchmark in history.benchmarks}
    assert by_name["bench.mem_list"].unit == "bytes"
    assert [point.value for point in by_name["bench.time_sort(1000)"].points[:2]] == [1.25e8, 1.25e8]
    done = CliRunner().invoke(group, ["import", str(place), "--store", store, "--project", "again"])
    assert "imported as 7 sessions of again" in done.output
    with pytest.raises(UsageError, match="does not tell which commit"):
        becalm.import_(ROOT / "tests/data/benchmarks/hyperfine-1.json", store, project="x")


BAD = {
    "half written": (None, '{"commit_hash": "aaaa', "not whole JSON .*half written"),
    "no object": (None, "[1]", "no object"),
    "another version": ({**SECOND, "version": 3}, None, "version 3 of the format"),
    "no commit": ({**SECOND, "commit_hash": "<script>"}, None, "'<script>' is not a commit"),
    "no results": ({key: value for key, value in SECOND.items() if key != "results"}, None, "it has no 'results'"),
    "text for a value": ({**SECOND, "results": {"bench.mem_list": [["x"], [], "bbb"]}}, None, "'x' is not a result"),
    "params that are none": ({**SECOND, "results": {"bench.mem_list": [[1], 5, "bbb"]}}, None, "params is 5, where"),
    "too many combinations": (
        {**SECOND, "results": {"bench.mem_list": [None, [["x"] * 400] * 3, "bbb"]}}, None, "64000000 combinations"
    ),
    "results of another form": ({**SECOND, "results": [1]}, None, r"results is \[1\], where an object"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_damaged_entry_is_named_and_the_rest_is_read(name, results):
    value, text, message = BAD[name]
    place = results("ci-1/00000000-x.json", value, text)
    documents = read(place)
    noticed = [notice.sentence for document in documents for notice in document.noticed]
    assert any(re.search(message, sentence) for sentence in noticed)
    assert values_by_benchmark(documents[-1])["bench.mem_list"] == [8192.0], "the others are as they were"


def test_all_files_that_cannot_be_read_are_named_at_once(results):
    results("ci-1/00000000-x.json", None, "{")
    place = results("ci-1/11111111-x.json", {"date": 1, "version": 1})
    noticed = " ".join(notice.sentence for notice in read(place)[0].noticed)
    assert "ci-1/00000000-x.json" in noticed
    assert "ci-1/11111111-x.json" in noticed
    for name in ("aaaaaaaa-virtualenv-py3.11", "bbbbbbbb-py3.11"):
        (place / f"ci-1/{name}.json").unlink()
    with pytest.raises(
        UsageError, match=r"00000000-x.json: it is not whole JSON .*; ci-1/11111111-x.json: it is not a fi"
    ):
        read(place)
    results("benchmarks.json", None, "{")
    with pytest.raises(UsageError, match=r"benchmarks.json tells units .* Unreadable: .*11111111-x.json"):
        read(place)


def test_rows_that_are_passed_over_are_reported(results):
    place = results("ci-1/cccccccc-x.json", {**SECOND, "params": {"machine": "other"}})
    second, first = read(place)
    reasons = {notice.numbers["reason"]: dict(notice.numbers["entries"]) for notice in second.noticed}
    assert reasons["benchmarks.json does not list it"] == {"bench.time_gone": 1}
    assert reasons["it is of machine 'other', and its directory is of 'ci-1'"] == {"ci-1/cccccccc-x.json": 1}
    assert [notice.numbers["entries"] for notice in first.noticed] == [[["bench.track_score", 1]]]


def test_environments_of_the_first_format_are_told_apart_by_the_names_of_files(results):
    other = {**FIRST, "results": {"bench.mem_list": 1}}
    place = results("ci-1/bbbbbbbb-py3.11-foo.json", other)
    machines = [document.study.options["machine"] for document in read(place)]
    assert machines == ["ci-1, virtualenv-py3.11", "ci-1, py3.11-foo", "ci-1, py3.11"]


def test_a_machine_without_results_and_a_file_alone_say_what_to_do(results):
    place = results("ci-1/machine.json", MACHINE)
    with pytest.raises(UsageError, match="import their directory"):
        read(place / "ci-1/aaaaaaaa-virtualenv-py3.11.json")
    for file in (place / "ci-1").glob("*-*.json"):
        file.unlink()
    with pytest.raises(UsageError, match="no results"):
        read(place)
    assert not asv.directory(place.parent)


def test_results_of_asv_itself_are_imported(tmp_path):
    shutil.copytree(REAL, tmp_path / "results")
    numbers = becalm.import_(REAL, str(tmp_path / "runs.db"), project="real")
    history = becalm.history("real", store=str(tmp_path / "runs.db"))
    assert len(history.sessions) == len(numbers) == 2
    assert {benchmark.name for benchmark in history.benchmarks} == {
        "benchmarks.Suite.time_sort(10)", "benchmarks.Suite.time_sort(1000)", "benchmarks.mem_list",
        "benchmarks.peakmem_list", "benchmarks.track_items",
    }  # fmt: skip
    times = {benchmark.name: benchmark.points[0].value for benchmark in history.benchmarks}
    assert 10 < times["benchmarks.Suite.time_sort(10)"] < times["benchmarks.Suite.time_sort(1000)"] < 1e9


def test_memory_is_no_time_where_an_old_asv_says_seconds(results):
    listed = {**BENCHMARKS, "bench.mem_list": {**BENCHMARKS["bench.mem_list"], "unit": "seconds"}}
    _, first = read(results("benchmarks.json", listed))
    assert values_by_benchmark(first)["bench.mem_list"] == [8192.0]
    units = {workload.name: workload.metrics[0].unit for workload in first.study.workloads}
    assert units["bench.mem_list"] == "bytes"
