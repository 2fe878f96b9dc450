"""Times of iterations: unknown wall times stay unknown in the store, on screens and in every export."""

import csv
import io
import json

import pytest
from click.testing import CliRunner
from tests.needs import need_module
from tests.support.pages import drawn_once, pages  # noqa: F401

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UsageError
from becalm.report import forms
from becalm.report.formats import FORMATS, format_row, read
from becalm.results.compare import from_json
from becalm.store import Store
from becalm.study.stored import stored

pytestmark = pytest.mark.usefixtures("drawn_once", "imported")

TIMES = [5.25, 5.5, 5.0]
GO = "pkg: p\n" + "".join(f"BenchmarkX-8 200000000 {ns} ns/op 1.5 GB/s 16 bytes\n" for ns in TIMES) + "PASS\n"


@pytest.fixture
def imported(tmp_path, store):
    """Import times of iterations, of which a batch takes longer than a second."""
    (tmp_path / "go.txt").write_text(GO)
    becalm.import_(tmp_path / "go.txt")


def test_the_store_does_not_know_them():
    document = stored("last")
    assert {run.wall_ns for run in document.runs} == {None}
    with Store.open() as opened, opened.reading() as db:
        assert db.value("SELECT count(*) FROM run WHERE wall_ns IS NULL") == 9
    with pytest.raises(ValueError, match="is not known"):
        _ = document.runs[0].took_ns


def test_no_screen_shows_them():
    shown = becalm.show().verdict
    assert {summary.mean_ns for summary in shown.summaries} == {None}
    assert shown.elapsed_ns is None
    texts = [shown.sentence, forms.as_markdown(shown), forms.as_html(shown)]
    texts += [CliRunner().invoke(group, command).output for command in (["show"], ["list"])]
    for text in texts:
        assert " 0 ns" not in text
        assert " 0 ms" not in text
        assert "wall time" not in text.lower()
    assert "5.250 ns" in texts[0]


def test_a_verdict_without_them_is_read_back():
    value = json.loads(json.dumps(becalm.show().verdict.to_json()))
    assert [summary["mean_ns"] for summary in value["summaries"]] == [None] * 3
    assert from_json(value).summaries[0].mean_ns is None
    assert becalm.columns(becalm.show().verdict)["mean_ns_low"] == [None] * 3


def test_csv_and_json_leave_them_empty():
    rows = list(csv.DictReader(io.StringIO(becalm.export(format="csv"))))
    assert {row["wall_ns"] for row in rows} == {""}
    assert [float(row["metric_time"]) for row in rows if row["metric_time"]] == TIMES
    value = json.loads(becalm.export(format="json"))
    place = value["runs"]["columns"].index("wall_ns")
    assert {row[place] for row in value["runs"]["rows"]} == {None}


def test_our_own_format_is_read_back(tmp_path):
    path = tmp_path / "own.json"
    path.write_text(becalm.export())
    (document,) = read(path)
    assert list(document.runs) == list(stored("last").runs)
    value = json.loads(path.read_text())
    value["study"]["kind"] = "run"
    path.write_text(json.dumps(value))
    with pytest.raises(UsageError, match="wall_ns is null, which it may be only of imported runs"):
        read(path)


def test_hyperfine_gets_the_times_of_an_iteration_and_the_rest_is_left_out():
    warned = []
    (result,) = json.loads(becalm.export(format="hyperfine", warned=warned.append))["results"]
    assert result["times"] == pytest.approx([value * 1e-9 for value in TIMES])
    assert result["mean"] == pytest.approx(5.25e-9)
    assert (result["user"], result["exit_codes"]) == (None, [None] * 3)
    assert warned == [
        "BenchmarkX, GB/s is left out, its values are in GB/s, and the format holds seconds.",
        "BenchmarkX, bytes is left out, its values are in bytes, and the format holds seconds.",
    ]


def test_pyperf_gets_times_and_bytes(tmp_path):
    warned = []
    text = becalm.export(format="pyperf", warned=warned.append)
    assert [message.partition(" is ")[0] for message in warned] == ["BenchmarkX, GB/s"]
    (tmp_path / "x.json").write_text(text)
    pyperf = need_module("pyperf")
    suite = pyperf.BenchmarkSuite.load(str(tmp_path / "x.json"))
    first, second = suite
    assert [program.get_unit() for program in suite] == ["second", "byte"]
    assert first.get_values() == pytest.approx([value * 1e-9 for value in TIMES])
    assert second.get_values() == (16, 16, 16)
    assert first.get_dates() is None, "nobody knows when they were measured"


def test_a_study_that_a_format_has_no_place_for_is_refused(tmp_path):
    (tmp_path / "go.txt").write_text("BenchmarkX 5 1.5 GB/s\n")
    becalm.import_(tmp_path / "go.txt")
    for name in ("hyperfine", "pyperf"):
        with pytest.raises(UsageError, match=rf"written for {name}: BenchmarkX, GB/s is left out"):
            becalm.export(format=name)
    assert {row.name for row in FORMATS if row.unwritten(stored("last"))} == {"hyperfine", "pyperf"}
    assert format_row("json").unwritten(stored("last")) == []


def test_a_comparison_of_whole_runs_with_them_is_refused_before_anything_is_measured():
    with pytest.raises(UsageError, match="its times are of one iteration"):
        becalm.compare(["spin 20ms"], host="sim:normal", baseline=1, runs=3)
    assert len(becalm.list_studies().studies) == 1


def test_explain_and_load_refuse_them_in_a_sentence():
    with pytest.raises(UsageError):
        becalm.explain(1)
