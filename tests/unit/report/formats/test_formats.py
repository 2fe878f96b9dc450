"""Files in and out: nothing is lost in our own, nothing is invented from others'."""

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.needs import need_module
from tests.places import ROOT
from tests.samples import samples
from tests.support.pages import drawn_once, pages  # noqa: F401

import becalm
from becalm.errors import BecalmError, UsageError
from becalm.nouns.metric import metrics
from becalm.nouns.run import COLUMNS, Run
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.report.document import Document
from becalm.report.formats import FORMATS, format_row, read
from becalm.report.formats.becalm_json import read as read_own
from becalm.study.baseline import read_baseline
from becalm.study.stored import stored
from becalm.verbs.listing import list_studies
from becalm.verbs.records import export, import_, written

DATA = ROOT / "tests" / "data"

whole = st.integers(0, 2**62)
maybe = st.none() | whole
printed = st.none() | st.tuples(st.floats(1e-60, 1e60), st.floats(1e-9, 1e9))
METRICS = metrics(["Time: ([0-9.]+),unit=s", "json:rate,better=higher"])


@st.composite
def documents(draw):
    count = draw(st.integers(1, 3))
    names = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=12)
    measured = draw(st.sampled_from([(), METRICS]))
    workloads = tuple(Workload(argv=("x", draw(names)), name=draw(names), metrics=measured) for _ in range(count))
    runs = []
    for seq in range(draw(st.integers(0, 8))):
        runs.append(
            Run(
                seq, draw(st.integers(0, count - 1)), 0, draw(st.integers(-2, 100)), draw(st.integers(0, 4096)),
                draw(whole), draw(whole), draw(maybe), draw(maybe), draw(maybe), draw(maybe), draw(maybe), draw(maybe),
                draw(maybe), draw(maybe), draw(st.sampled_from(["ok", "failed", "timeout", "aborted", "refused"])),
                draw(st.none() | st.integers(-64, 255)), draw(st.integers(0, 9)), draw(printed),
            )
        )  # fmt: skip
    study = Study("compare", workloads, (Settings.of({"nice": 1}),), {"precision": 0.1}, draw(st.integers(0, 2**32)))
    texts = {0: ("error ✗", "")} if runs else {}
    return Document(study, runs, texts, {"host": {"hostname": "h"}}, {"sentence": "s"}, 5, "0.1.0")


@given(documents())
def test_our_own_format_loses_nothing(document):
    (back,) = read_own(json.loads(written(document, format_row("json"))))
    assert back == document


@settings(max_examples=samples(8, 200))
@given(documents())
def test_every_writer_takes_every_study(document):
    for row in FORMATS:
        assert written(document, row)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["becalm", "kind", "schema", "study", "runs", "results", "command", "times", "benchmarks",
                             "version", "values", "metadata", "mean", "columns", "rows"]) | st.text(max_size=4),
            inner | st.sampled_from(["study"]),
            max_size=6,
        ),
        max_leaves=12,
    )
)  # fmt: skip
def test_any_json_is_read_or_refused_in_a_sentence(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("x") / "f.json"
    path.write_text(json.dumps(value))
    try:
        read(path)
    except BecalmError as error:
        assert str(path) in str(error)  # noqa: PT017


@pytest.mark.parametrize("data", [b"", b"not json", b"\x1f\x8bbroken", b"\xff\xfe", b"[" * 100_000])
def test_files_that_are_no_json(tmp_path, data):
    path = tmp_path / "x.json"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"x\.json"):
        read(path)


def test_a_missing_file_and_an_unknown_format():
    with pytest.raises(UsageError, match="No such file"):
        read(Path("/no/such/file.json"))
    with pytest.raises(UsageError, match="csv"):
        format_row("xml")


def test_hyperfine_is_imported_with_what_it_tells():
    (document,) = read(DATA / "hyperfine-1.20.json")
    assert document.environment == "unknown"
    assert [workload.name for workload in document.study.workloads] == ["sleep 0.01", "sleep 0.02"]
    assert document.study.workloads[1].parameters == (("delay", "0.02"),)
    assert [run.wall_ns for run in document.runs] == [10_800_000, 11_300_000, 11_000_000, 20_500_000]
    assert document.runs[0].max_rss_bytes == 1900544
    assert all(run.user_ns is None and run.wait_ns is None for run in document.runs), "means are no per-run times"
    assert document.runs[3].status is None


def test_mean_cpu_times_of_hyperfine_are_means_of_the_program(store):
    (number,) = import_(DATA / "hyperfine-1.20.json", store)
    results = json.loads((DATA / "hyperfine-1.20.json").read_text())["results"]
    for summary, result in zip(becalm.show(number, store).verdict.summaries, results, strict=True):
        assert summary.user_ns == pytest.approx(1e9 * result["user"])
        assert summary.system_ns == pytest.approx(1e9 * result["system"])


@pytest.mark.parametrize("wrong", ["x", -1, 1e300, True])
def test_a_cpu_time_that_is_none_is_reported_and_the_times_are_read(tmp_path, wrong):
    path = tmp_path / "h.json"
    result = {"command": "a", "times": [0.5, 0.6], "user": wrong, "system": 0.25}
    path.write_text(json.dumps({"results": [result, {"command": "b", "times": [0.5]}]}))
    (document,) = read(path)
    assert len(document.runs) == 3
    assert document.study.options["user_ns"] == [None, None]
    assert document.study.options["system_ns"] == [0.25e9, None]
    (noticed,) = document.noticed
    assert noticed.numbers["entries"] == [["a", 1]]


def test_pyperf_is_imported_with_what_it_tells(tmp_path):
    packed = tmp_path / "p.json.gz"
    packed.write_bytes(gzip.compress((DATA / "pyperf-1.0.json").read_bytes(), mtime=0))
    (document,) = read(packed)
    assert [workload.name for workload in document.study.workloads] == ["telco", "other"]
    counted = [run.metrics[0] for run in document.runs if not run.warmup]
    assert counted == pytest.approx([7.5e6, 7.6e6, 7.4e6, 5e8])
    warmups = [run.metrics[0] for run in document.runs if run.warmup]
    assert warmups == pytest.approx([8.1e6]), "calibration runs are left out"


def test_units_that_are_no_time_are_refused(tmp_path):
    value = json.loads((DATA / "pyperf-1.0.json").read_text())
    value["metadata"]["unit"] = "furlong"
    path = tmp_path / "x.json"
    path.write_text(json.dumps(value))
    with pytest.raises(UsageError, match="furlong"):
        read(path)


@pytest.mark.usefixtures("drawn_once")
def test_an_exported_study_can_be_imported(store, tmp_path):
    (first,) = import_(DATA / "hyperfine-1.20.json", store)
    for name in ("json", "hyperfine", "pyperf"):
        path = tmp_path / f"{name}.json"
        path.write_text(export(first, format=name, store=store))
        (again,) = import_(path, store)
        walls = [[run.wall_ns for run in stored(number, store).runs] for number in (first, again)]
        assert walls[0] == walls[1], name
        assert (again == first) is (name != "pyperf"), "the same content is recognised"
    assert len(list_studies(store).studies) == 2


def test_csv_has_a_line_for_each_run(store):
    (number,) = import_(DATA / "hyperfine-1.20.json", store)
    rows = list(csv.DictReader(io.StringIO(export(number, format="csv", store=store))))
    assert len(rows) == 4
    assert set(rows[0]) == {"program", *COLUMNS} - {"metrics"}
    assert rows[0]["user_ns"] == "", "unknown is empty, not zero"


def test_markdown_is_a_table(store):
    (number,) = import_(DATA / "hyperfine-1.20.json", store)
    text = export(number, format="markdown", store=store)
    assert "| `sleep 0.01` | 3 | 11.03 ms | 11.00 ms |" in text
    assert "unknown" in text


def program(name, **parameters):
    return Workload((name,), name, parameters=tuple(sorted(parameters.items())))


def test_a_baseline_is_found_by_name_and_parameters_never_by_place(store, tmp_path):
    (number,) = import_(DATA / "hyperfine-1.20.json", store)
    baseline = read_baseline(number, store)
    assert baseline.series_for(program("sleep 0.02"))[1].tolist() == [20_500_000]
    assert baseline.series_for(program("sleep 0.02", delay="0.02"))[1].tolist() == [20_500_000]
    for other in (program("something else"), program("sleep 0.02", delay="0.03")):
        with pytest.raises(UsageError, match="--name"):
            baseline.series_for(other, alone=True)
    from_file = read_baseline(DATA / "hyperfine-1.20.json")
    assert from_file.series_for(program("sleep 0.02"))[1].tolist() == [20_500_000]
    results = json.loads((DATA / "hyperfine-1.20.json").read_text())["results"]
    single = tmp_path / "one.json"
    single.write_text(json.dumps({"results": results[:1]}))
    baseline = read_baseline(single)
    assert baseline.series_for(program("something else"), alone=True)[1].tolist()[0] == 10_800_000
    with pytest.raises(UsageError, match="--name"):
        baseline.series_for(program("something else"))


def test_a_baseline_of_one_name_is_told_apart_by_parameters(tmp_path):
    results = [{"command": "b", "times": [n], "parameters": {"threads": str(n)}} for n in (1, 2)]
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"results": results}))
    baseline = read_baseline(path)
    assert baseline.series_for(program("b", threads="2")) == ("b (threads=2) in x.json", [2e9])
    with pytest.raises(UsageError, match=r"several programs 'b'; it has 'b \(threads=1\)', 'b \(threads=2\)'"):
        baseline.series_for(program("b"))


def test_times_of_an_iteration_are_no_baseline_of_a_whole_run():
    path = DATA / "benchmarks/google-benchmark-1.json"
    with pytest.raises(UsageError, match=r"of one iteration, and what is measured now is the time of a whole run\.$"):
        read_baseline(path)
    (metric,) = metrics(["json:t,unit=us,name=time"])
    read_baseline(path, metric=metric).series_for(program("BM_Ms"))
    with pytest.raises(UsageError, match="no run with the metric 'size'"):
        read_baseline(path, metric=metrics(["json:size"])[0])


def test_pyperf_itself_reads_ours(store, tmp_path):
    pyperf = need_module("pyperf")
    (number,) = import_(DATA / "hyperfine-1.20.json", store)
    path = tmp_path / "ours.json"
    path.write_text(export(number, format="pyperf", store=store))
    suite = pyperf.BenchmarkSuite.load(str(path))
    assert [benchmark.get_values() for benchmark in suite] == [(0.0108, 0.0113, 0.011), (0.0205,)]


def test_csv_has_a_column_for_each_number_that_a_program_prints():
    first, second = Workload(("x",), name="x", metrics=METRICS), Workload(("y",), name="y", metrics=METRICS[1:])
    study = Study("compare", (first, second), (Settings(),), {}, 1)
    runs = [
        Run(seq, seq % 2, 0, 0, 0, 5, 6, *(None,) * 8, "ok", 0, 0, printed, 1, -40)
        for seq, printed in enumerate([(1.5, 2.0), (3.0,), None])
    ]
    lines = list(csv.DictReader(io.StringIO(written(Document(study, runs), format_row("csv")))))
    assert [(line["metric_Time"], line["metric_rate"]) for line in lines] == [("1.5", "2.0"), ("", "3.0"), ("", "")]
    assert [(line["cpu"], line["apart_ns"]) for line in lines] == [("1", "-40")] * 3
    assert "metrics" not in lines[0]


@pytest.mark.parametrize("bad", [[None], ["x"], [float("inf")], [0.0], 5])
def test_metrics_that_are_no_numbers_are_refused(bad):
    study = Study("run", (Workload(("x",), name="x"),), (Settings(),), {}, 1)
    run = Run(0, 0, 0, 0, 0, 5, 6, *(None,) * 8, "ok", 0, 0)
    value = json.loads(written(Document(study, [run]), format_row("json")))
    value["runs"]["rows"][0][value["runs"]["columns"].index("metrics")] = bad
    with pytest.raises((TypeError, ValueError)):
        read_own(value)


def pyperf(benchmark):
    return {"version": "1.0", "benchmarks": [benchmark]}


def hyperfine(**result):
    return {"results": [{"command": "x", **result}]}


def google(entry):
    return {"context": {}, "benchmarks": [entry]}


def pytest_benchmark(entry):
    return {"machine_info": {}, "benchmarks": [entry]}


def own(**changed):
    study = {"kind": "run", "workloads": [], "settings": [], "options": {}, "seed": 1, "host": "x", "title": ""}
    return {"becalm": "1", "kind": "study", "schema": 1, "study": {**study, **changed}}


RUN = {"values": [1.0]}
UNLIKE = {
    "pyperf: a number for a benchmark": (pyperf(5), "pyperf's: benchmarks[0] is 5, where an object is expected."),
    "pyperf: no runs": (pyperf({}), "pyperf's: benchmarks[0] has no 'runs'."),
    "pyperf: one bare value": (pyperf({"runs": [{"values": 5}]}), "runs[0].values is 5, where a list is expected."),
    "pyperf: a word for a value": (pyperf({"runs": [{"values": ["x"]}]}), 'values[0] is "x", where a number is'),
    "pyperf: a number for what is known": (pyperf({"metadata": 5, "runs": [RUN]}), "metadata is 5, where an object is"),
    "pyperf: another version": ({**pyperf({"runs": [RUN]}), "version": 2}, "it has version 2 of the format"),
    "hyperfine: no times": (hyperfine(), "hyperfine's: results[0] has no 'mean'."),
    "hyperfine: a number for times": (hyperfine(times=5), "results[0].times is 5, where a list is expected."),
    "hyperfine: null for a time": (hyperfine(times=[None]), "times[0] is null, where a number is expected."),
    "hyperfine: a huge time": (hyperfine(times=[10**400]), "which is too large."),
    "hyperfine: fewer codes than times": (hyperfine(times=[1, 2], exit_codes=[0]), "2 times and 1 exit_codes."),
    "hyperfine: a word for a code": (hyperfine(times=[1], exit_codes=["x"]), "exit_codes[0] is \"x\", where a whole"),
    "Google Benchmark: a number": (google(5), "Google Benchmark's: benchmarks[0] is 5, where an object"),
    "Google Benchmark: no time": (google({"name": "x"}), "benchmarks[0] has no 'real_time'."),
    "Google Benchmark: null": (google({"name": "x", "real_time": None}), "benchmarks[0].real_time is null, where"),
    "pytest-benchmark: no stats": (pytest_benchmark({"name": "x"}), "pytest-benchmark's: benchmarks[0] has no 'stats'"),
    "pytest-benchmark: no list": (pytest_benchmark({"name": "x", "stats": {"data": 5}}), "stats.data is 5, where a li"),
    "Criterion: a word": ({"iters": ["a"], "times": [1]}, 'Criterion\'s: iters[0] is "a", where a number is expected.'),
    "Criterion: one too few": ({"iters": [1], "times": []}, "it has 1 iters and 0 times."),
    "becalm: no schema": ({"becalm": "1", "kind": "study"}, "becalm's: it has no 'schema'."),
    "becalm: a number for a program": (own(workloads=[5]), "study.workloads[0] is 5, where an object is expected."),
    "becalm: another program": (own(workloads=[{"argv": 5}]), "study.workloads[0] is not a program as becalm"),
    "becalm: a number for options": (own(options=5), "study.options is 5, where an object is expected."),
    "becalm: no column": ({**own(), "runs": {"columns": [], "rows": []}}, "runs.columns has no 'seq'."),
}  # fmt: skip
"""Files that are nearly of a format, and what is said of each."""

PYTHON = ("object", "argument", "convert", "subscriptable", "iterable", "NoneType", "attribute", "'int'", "zip")


@pytest.mark.parametrize("name", UNLIKE)
def test_a_file_of_another_layout_is_refused_by_what_was_expected_where(name, tmp_path):
    value, message = UNLIKE[name]
    path = tmp_path / "x.json"
    path.write_text(json.dumps(value))
    with pytest.raises(UsageError) as refused:
        read(path)
    sentence = str(refused.value)
    assert message in sentence
    assert "json JSON" not in sentence
    left = sentence.replace("an object is expected", "").removeprefix(str(path))
    assert not [word for word in PYTHON if word in left], "what was expected, not what Python made of it"


def test_an_empty_directory_is_said_to_be_empty_and_another_one_to_be_of_neither_tool(tmp_path):
    with pytest.raises(UsageError, match="is an empty directory: there is nothing to read"):
        read(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(UsageError, match=r"neither results of Criterion.* nor of asv"):
        read(tmp_path)


@pytest.mark.parametrize("name", ["hyperfine-1.20.json", "pyperf-1.0.json"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "windows"])
def test_files_are_read_in_every_encoding(tmp_path, name, encoding):
    text = (DATA / name).read_text(encoding="utf-8").rstrip()
    data = text.replace("\n", "\r\n").encode() if encoding == "windows" else text.encode(encoding)
    (tmp_path / name).write_bytes(data)
    assert read(tmp_path / name) == read(DATA / name)


@pytest.mark.parametrize("column", ["wall_ns", "started_ns"])
def test_times_below_zero_are_refused(tmp_path, column):
    becalm.run("spin 10ms", host="sim:normal", runs=2, seed=1, store=str(tmp_path / "runs.db"))
    value = json.loads(becalm.export(store=str(tmp_path / "runs.db")))
    value["runs"]["rows"][1][value["runs"]["columns"].index(column)] = -5
    (tmp_path / "x.json").write_text(json.dumps(value))
    with pytest.raises(UsageError, match=f"{column} is -5, which is below zero"):
        read(tmp_path / "x.json")
