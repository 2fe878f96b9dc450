"""Every entry of a file becomes a value or is reported with its reason; one bad entry never rejects the others."""

import json

import pytest
from click.testing import CliRunner
from tests.places import ROOT
from tests.support.no_repository import no_repository  # noqa: F401
from tests.support.pages import drawn_once, pages  # noqa: F401

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UsageError
from becalm.report import forms
from becalm.report.formats import read
from becalm.report.formats.left_out import of_documents
from becalm.verbs.records import import_file

NO_RATIO = "zero or below, which has no ratio"
NO_NUMBER = "no finite number"


def google(*entries):
    return {"context": {}, "benchmarks": list(entries)}


def iteration(name, **more):
    return {"name": name, "run_type": "iteration", "real_time": 5.0, **more}


def rounds(name, data):
    return {"fullname": name, "stats": {"data": data, "iterations": 10}}


def pytest_file(*entries):
    return {"machine_info": {}, "benchmarks": list(entries)}


def suite(*benchmarks):
    return {"version": "1.0", "benchmarks": list(benchmarks)}


def benchmark(name, *values, **metadata):
    return {"metadata": {"name": name, **metadata}, "runs": [{"values": list(values)}]}


GOOD = {"good": [5.0]}
NAN = float("nan")
MIXED = {
    "Google Benchmark": (
        google(
            iteration("good"),
            iteration("null", real_time=None),
            iteration("zero", real_time=0),
            iteration("nan", real_time=NAN),
            iteration("hours", time_unit="h"),
            iteration("broken", error_occurred=True, error_message="no input"),
            iteration("later", skipped="with message", skip_message="too slow"),
            {"name": "good_mean", "run_type": "aggregate", "aggregate_name": "mean", "real_time": 5},
            {"name": "good_BigO", "cpu_coefficient": 1, "real_coefficient": 1, "big_o": "N", "time_unit": "ns"},
            True,
        ),
        GOOD,
        {
            "benchmarks[1].real_time is null, where a number is expected": {"null": 1},
            "benchmarks[9] is true, where an object is expected": {"benchmarks[9]": 1},
            "a time in 'h'; known are ns, us, µs, ms, s": {"hours": 1},
            "it failed: no input": {"broken": 1},
            "it was skipped: too slow": {"later": 1},
            "a summary of repetitions; becalm makes its own": {"good_mean (mean)": 1, "good_BigO (aggregate)": 1},
            NO_RATIO: {"zero": 1},
            NO_NUMBER: {"nan": 1},
        },
    ),
    "pytest-benchmark": (
        pytest_file(
            rounds("good", [5e-9, 0.0, -1, "x"]),
            rounds("noop", [0.0, 0.0]),
            {"fullname": "bare", "stats": {"mean": 1}},
            {"fullname": "counted", "stats": {"data": [0.0], "rounds": 4}},
        ),
        GOOD,
        {
            'benchmarks[0].stats.data[3] is "x", where a number is expected': {"good": 1},
            "it holds no rounds; write it by --benchmark-json, or add --benchmark-save-data": {"bare": 1},
            "the file counts more rounds than it holds": {"counted": 3},
            NO_RATIO: {"good": 2, "noop": 2, "counted": 1},
        },
    ),
    "pyperf": (
        suite(
            benchmark("good", 5e-9, 0, NAN),
            benchmark("none"),
            benchmark("furlongs", 1, unit="furlong"),
            {"metadata": {"name": "calibrated"}, "runs": [{"warmups": [[8, 0.1]]}]},
            {"metadata": {"name": "warm"}, "runs": [{"warmups": [5, [1, 2, 3]], "values": [0]}]},
            7,
        ),
        GOOD,
        {
            NO_RATIO: {"good": 1, "warm": 1},
            NO_NUMBER: {"good": 1},
            "it has no values, only runs that calibrate": {"none": 1, "calibrated": 1, "warm": 1},
            "its values are in 'furlong'; known are second, byte, integer": {"furlongs": 1},
            "benchmarks[4].runs[0].warmups[0] is 5, where a list is expected": {"warm": 1},
            "benchmarks[4].runs[0].warmups[1] is [1, 2, 3], where two numbers are expected": {"warm": 1},
            "benchmarks[5] is 7, where an object is expected": {"benchmarks[5]": 1},
        },
    ),
}  # fmt: skip


def file(tmp_path, value, name="x.json"):
    (tmp_path / name).write_text(json.dumps(value))
    return tmp_path / name


def reasons(document):
    return {notice.numbers["reason"]: dict(notice.numbers["entries"]) for notice in document.noticed}


@pytest.mark.parametrize("tool", MIXED)
def test_bad_entries_are_reported_all_at_once_and_the_rest_is_read(tool, tmp_path):
    value, values, expected = MIXED[tool]
    (document,) = read(file(tmp_path, value))
    read_values = {}
    for run in document.runs:
        read_values.setdefault(document.study.workloads[run.workload].name, []).append(run.metrics[0])
    assert read_values == {name: pytest.approx(text) for name, text in values.items()}
    assert reasons(document) == expected


def test_hyperfine_keeps_the_results_and_times_that_are_whole(tmp_path):
    results = [
        {"command": "good", "times": [0.5, None, -1, 0.25], "exit_codes": [0, 1, 2, 3]},
        {"command": "none"},
        {"mean": 1},
        5,
        {"command": "\ud800", "times": [1]},
    ]
    (document,) = read(file(tmp_path, {"results": results}))
    assert [(run.wall_ns, run.status) for run in document.runs] == [(500_000_000, 0), (250_000_000, 3)]
    assert reasons(document) == {
        "results[0].times[1] is null, where a number is expected": {"good": 1},
        "-1.0 seconds is not a possible time of a run": {"good": 1},
        "results[1] has no 'mean'": {"none": 1},
        "results[2] has no 'command'": {"results[2]": 1},
        "results[3] is 5, where an object is expected": {"results[3]": 1},
        "the program.argv[2] is '\\ud800', which cannot be encoded in UTF-8": {"'\\ud800'": 1},
    }


@pytest.mark.parametrize("tool", MIXED)
def test_a_file_of_which_nothing_can_be_used_is_refused_with_all_reasons(tool, tmp_path):
    value, _, expected = MIXED[tool]
    value = {**value, "benchmarks": value["benchmarks"][1:]}
    with pytest.raises(UsageError) as refused:
        read(file(tmp_path, value))
    for entries in expected.values():
        for name in entries.keys() - {"good", "good_mean (mean)", "good_BigO (aggregate)", "warm"}:
            assert name.partition("[")[0] in str(refused.value)
    assert str(refused.value).endswith(".")


@pytest.mark.usefixtures("drawn_once", "store")
def test_omissions_are_stored_and_reported_by_every_verb(tmp_path):
    path = file(tmp_path, google(iteration("a"), iteration("b"), iteration("zero", real_time=0)), "old.json")
    result = CliRunner().invoke(group, ["import", str(path)])
    assert f"Left out of {path}: zero: {NO_RATIO}." in result.output
    document = json.loads(CliRunner().invoke(group, ["import", str(path), "--json"]).output)
    assert document["left_out"][str(path)][0]["numbers"] == {"reason": NO_RATIO, "entries": [["zero", 1]]}
    assert [finding.kind for finding in becalm.show().verdict.findings] == ["left_out", "imported"]
    new = file(tmp_path, google(iteration("a"), iteration("b"), iteration("zero")), "new.json")
    compared = becalm.compare_stored("last", str(new))
    assert compared.unusable == (("zero", NO_RATIO),), "it is neither gone nor new"
    assert [finding.sentence for finding in compared.findings] == [f"Left out of study 1: zero: {NO_RATIO}."]
    assert "Left out of study 1" in forms.as_markdown(compared)
    checked = becalm.check(["last", str(new)], stored=True)
    assert checked.findings == compared.findings
    assert "zero: zero or below" in checked.sentence
    assert "Left out of study 1" in checked.sentence


@pytest.mark.usefixtures("drawn_once", "store")
def test_content_that_is_stored_is_recognised(tmp_path):
    path = file(tmp_path, google(iteration("a")))
    assert import_file(path).known == ()
    copy = file(tmp_path, google(iteration("a")), "copy.json")
    again = import_file(copy)
    assert (again.studies, again.known) == ((1,), (1,))
    assert "holds the same as study 1" in CliRunner().invoke(group, ["import", str(copy)]).output
    other = import_file(file(tmp_path, google(iteration("a", real_time=6)), "other.json"))
    assert (other.studies, other.known) == ((2,), ())
    assert len(becalm.list_studies().studies) == 2


@pytest.mark.usefixtures("drawn_once", "store", "no_repository")
def test_a_record_is_not_counted_twice(tmp_path, monkeypatch):
    becalm.record("spin 20ms", host="sim:normal", runs=3, seed=1, project="p", commit="a" * 40)
    path = tmp_path / "record.json"
    path.write_text(becalm.export("last"))
    assert import_file(path).known == (1,)
    monkeypatch.setenv("BECALM_STORE", str(tmp_path / "elsewhere.db"))
    assert [import_file(path).known for _ in range(2)] == [(), (1,)]
    assert len(becalm.history("p").sessions) == 1


def test_findings_of_several_sessions_are_put_together():
    path = ROOT / "tests/data/benchmarks/google-benchmark-1.json"
    documents = [*read(path), *read(path)]
    counts = [
        document.numbers["entries"][0][1] for document in of_documents(document.noticed for document in documents)
    ]
    assert counts == [2 * notice.numbers["entries"][0][1] for notice in documents[0].noticed]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'loading …\nready\n{\n  "context": {}\n}\n',
            "is not only JSON, which begins in line 3 behind other text: have the tool",
        ),
        (
            '{"context": {}}\n{"context": {}}\n',
            "is not only JSON, more text follows in line 2: give each result its own file",
        ),
        ('{"context": {},\n "benchmarks": [', "is not JSON, it ends in the middle, in line 2: it is cut"),
        ('{"context": {"cpus": 1,234}}', "is not JSON (Expecting property name"),
        ("words alone\n", "is not JSON (Expecting value: line 1"),
    ],
)
def test_a_text_that_is_no_json_is_refused_with_the_place(text, message, tmp_path):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(UsageError) as refused:
        read(tmp_path / "x.json")
    assert message in str(refused.value)


def test_a_file_that_only_looks_like_one_is_not_sent_to_import_again(tmp_path):
    for value in ({"benchmarks": 5, "version": "1.0"}, {"context": 1, "benchmarks": []}):
        with pytest.raises(
            UsageError, match=r"looks like a file of results of .*, but is laid out in another way"
        ) as refused:
            read(file(tmp_path, value))
        assert "Read it with" not in str(refused.value)
