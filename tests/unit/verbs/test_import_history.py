"""Results of other tools as sessions of a project's history: what files tell, what a person names, what is refused."""

import json

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from tests.support.no_repository import no_repository  # noqa: F401

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UsageError
from becalm.report.formats import read
from becalm.verbs.import_history import HistoryPlace, in_history

pytestmark = pytest.mark.usefixtures("no_repository")

DAY = 86_400 * 10**9
FIRST = 1_767_225_600 * 10**9
"""1 January 2026, UTC, in ns since 1970."""

TABLE = """commit,date,branch,benchmark,value,unit
bbb,2026-01-02,main,parse,10.0,ms
aaa,2026-01-01,main,parse,10.5,ms
aaa,2026-01-01,main,parse,10.7,ms
aaa,2026-01-01,main,speed,155,MB/s
ccc,2026-01-03,topic,parse,12.0,ms
"""

PYTEST = {
    "machine_info": {"node": "ci-7", "cpu": {"brand_raw": "Xeon"}},
    "commit_info": {"id": "f" * 40, "time": "2026-01-01T01:00:00+01:00", "dirty": True, "branch": "main"},
    "benchmarks": [{"fullname": "b.py::fast", "name": "fast", "params": None, "stats": {"data": [0.5, 0.25]}}],
    "datetime": "2026-01-05T00:00:00+00:00", "version": "5.1.0",
}  # fmt: skip
PYPERF = {
    "version": "1.0",
    "metadata": {"commit_id": "e" * 40, "commit_date": "2026-01-01T00:00:00+00:00", "commit_branch": "3.15"},
    "benchmarks": [{"metadata": {"name": "nbody"}, "runs": [{"values": [0.1, 0.2], "metadata": {"loops": 1}}]}],
}
GO = """commit: deadbeef
commit-time: 2026-01-01T00:00:00+00:00
branch: main
BenchmarkParse-8  1000  1234 ns/op
BenchmarkParse-8  1000  1240 ns/op
"""
HYPERFINE = {"results": [{"command": "sort f", "times": [0.1, 0.11]}]}


def written(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def sessions(store, project):
    return becalm.history(project, store=store).sessions


def test_a_table_over_commits_is_a_history_in_the_order_of_its_dates(tmp_path, store):
    imported = becalm.import_file(written(tmp_path / "results.csv", TABLE), store)
    assert imported.project == "results"
    history = becalm.history(store=store)
    assert history.order == "commit date"
    assert [(session.commit, session.branch) for session in history.sessions] == [
        ("aaa", "main"),
        ("bbb", "main"),
        ("ccc", "topic"),
    ]
    assert [session.commit_ns for session in history.sessions] == [FIRST, FIRST + DAY, FIRST + 2 * DAY]
    parse, speed = sorted(history.benchmarks, key=lambda benchmark: benchmark.name)
    assert [point.value for point in parse.points] == pytest.approx([10.6e6, 10e6, 12e6])
    assert (parse.unit, parse.points[0].runs, parse.higher_is_better) == ("ns", 2, False)
    assert (speed.unit, speed.higher_is_better) == ("MB/s", True)


def test_importing_a_table_again_adds_nothing(tmp_path, store):
    path = written(tmp_path / "results.csv", TABLE)
    first = becalm.import_file(path, store)
    assert becalm.import_file(path, store) == becalm.Imported(first.studies, first.studies, (), "results")


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_cells_may_be_divided_otherwise_and_names_be_written_in_capitals(delimiter, tmp_path):
    text = TABLE.replace(",", delimiter).replace("commit", "Commit", 1)
    assert len(read(written(tmp_path / "results.csv", text))) == 3


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("ddd,2026-01-04,main,parse,fast,ms", "is not a number"),
        ('ddd,2026-01-04,main,parse,"1,234",ms', "can be read in two ways"),
        ("ddd,yesterday,main,parse,10.0,ms", "is not understood"),
        ("ddd,2026-01-04,main,parse", "another number of cells"),
        (",2026-01-04,main,parse,10.0,ms", "its commit is empty"),
        (f"{'d' * 300},2026-01-04,main,parse,10.0,ms", "its commit has 300 characters"),
        ("ddd,2026-01-04,main,parse,0,ms", "zero or below"),
    ],
)
def test_a_bad_row_is_left_out_with_its_reason(row, reason, tmp_path):
    documents = read(written(tmp_path / "results.csv", f"{TABLE}{row}\n"))
    assert len(documents) == 3
    (finding,) = documents[0].noticed
    assert reason in finding.numbers["reason"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("commit,benchmark,value,colour\na,b,1,red\n", "'colour' is not known"),
        ("commit,benchmark,value,value\na,b,1,2\n", "two columns of the same name"),
        ("commit,benchmark,value\na,b,-1\n", "no row with a value"),
    ],
)
def test_a_table_that_is_not_understood_is_refused(text, reason, tmp_path):
    with pytest.raises(UsageError, match=reason):
        read(written(tmp_path / "results.csv", text))


@pytest.mark.parametrize(
    ("content", "commit", "branch", "changed", "source"),
    [
        (PYTEST, "f" * 40, "main", True, "pytest-benchmark"),
        (PYPERF, "e" * 40, "3.15", False, "pyperf"),
        (GO, "deadbeef", "main", False, "go test -bench"),
    ],
)
def test_files_that_tell_their_commit_need_the_project_only(content, commit, branch, changed, source, tmp_path, store):
    becalm.import_(written(tmp_path / "results", content), store, project="parser")
    (session,) = sessions(store, "parser")
    assert (session.commit, session.branch, session.changed, session.source) == (commit, branch, changed, source)
    assert session.commit_ns == FIRST


def test_options_of_an_import_win_over_the_file(tmp_path, store):
    place = {
        "project": "parser",
        "commit": "v2",
        "date": "2026-01-02T00:00:00+00:00",
        "branch": "topic",
        "machine": "ci",
    }
    becalm.import_(written(tmp_path / "results", PYTEST), store, **place)
    history = becalm.history("parser", store=store)
    (session,) = history.sessions
    assert (session.commit, session.commit_ns, session.branch) == ("v2", FIRST + DAY, "topic")
    assert not session.changed
    assert history.machines[0].name == "ci"


def test_results_of_another_commit_are_another_session(tmp_path, store):
    path = written(tmp_path / "results", HYPERFINE)
    numbers = [becalm.import_(path, store, project="sorting", commit=name, date=f"2026-01-0{day}")
               for day, name in enumerate(("aaa", "bbb", "aaa"), 1)]  # fmt: skip
    assert len({*numbers}) == 3


def test_without_a_project_results_are_studies_of_their_own(tmp_path, store):
    becalm.import_(written(tmp_path / "results", PYTEST), store)
    assert [study.study.kind for study in becalm.list_studies(store).studies] == ["import"]


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        (HYPERFINE, {"project": "p"}, "does not tell which commit"),
        (HYPERFINE, {"project": "p", "commit": "a", "date": "soon"}, "'soon' is not a date"),
        (HYPERFINE, {"project": "p", "commit": "a" * 300}, "has 300 characters"),
        (HYPERFINE, {"project": "p", "commit": "a", "repository": "/"}, "is in no git repository"),
        (TABLE, {"project": "p", "commit": "a"}, "tells the commits itself"),
    ],
)
def test_files_without_a_place_in_a_history_are_refused(content, place, words, tmp_path, store):
    with pytest.raises(UsageError, match=words):
        becalm.import_(written(tmp_path / "results.csv", content), store, **place)


def test_a_study_of_becalm_is_in_no_history(tmp_path):
    (document,) = read(written(tmp_path / "results", HYPERFINE))
    own = replace(document, study=replace(document.study, kind="run"))
    assert in_history([own], HistoryPlace(), "own.json") == [own]
    with pytest.raises(UsageError, match=r"a study of becalm's own \(run\)"):
        in_history([own], HistoryPlace(project="p", commit="a"), "own.json")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--machine", "ci"], "give --study or --project"),
        (["--project", "p", "--study", "1"], "--project is only for results in a history"),
    ],
)
def test_options_that_do_not_go_together(options, words, tmp_path):
    path = written(tmp_path / "results", HYPERFINE)
    result = CliRunner().invoke(group, ["import", *options, str(path), "--store", str(tmp_path / "runs.db")])
    assert isinstance(result.exception, UsageError)
    assert words in str(result.exception)


def test_the_command_says_where_to_look(tmp_path):
    path = written(tmp_path / "results.csv", TABLE)
    result = CliRunner().invoke(group, ["import", str(path), "--store", str(tmp_path / "runs.db")])
    assert result.output == f"{path}: imported as 3 sessions of results. Show them: becalm history results\n"
