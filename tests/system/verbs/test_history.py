"""Sessions that are recorded in a git repository and shown again."""

import json

import pytest
from tests.support import repositories
from tests.support.repositories import git, repository

import becalm
from becalm.errors import UsageError
from becalm.report.history.tables import tables
from becalm.store import Store

SIM = {"host": "sim:drift", "seed": 1, "runs": 3}


@pytest.fixture
def project(store, tmp_path, monkeypatch):
    """A repository of three commits, in which one stands."""
    names = repository(tmp_path / "app", 3)
    monkeypatch.chdir(tmp_path / "app")
    return names


def test_a_session_knows_where_it_is_from_git(project):
    verdict = becalm.record(["spin 20ms", "spin 30ms"], tags=["nightly"], name_baseline="v1", **SIM)
    assert verdict.kind == "record"
    assert f"2 benchmarks of app, commit {project[2][:10]} on main: 6 runs, session 1." in verdict.sentence
    assert "becalm history --baseline v1" in verdict.sentence
    options = becalm.show().document.study.options
    assert (options["ordinal"], options["subject"], options["branch"]) == (3, "change 2", "main")
    assert (options["tags"], options["changed"]) == (["nightly"], False)
    assert becalm.show().sentence == verdict.sentence


def test_the_history_has_the_sessions_in_git_s_order(project):
    for commit in (project[2], project[0], project[1]):
        becalm.record(["spin 20ms"], commit=commit, **SIM)
    history = becalm.history()
    assert [session.commit for session in history.sessions] == project
    assert (history.project, history.order) == ("app", "git")
    assert [len(benchmark.points) for benchmark in history.benchmarks] == [3]
    assert all(19e6 < point.value < 22e6 for point in history.benchmarks[0].points)
    assert history.benchmarks[0].lacking == 6
    assert json.loads(json.dumps(history.to_json()))["kind"] == "history"


def test_without_git_the_place_is_given(store, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="--project NAME and --commit NAME"):
        becalm.record(["spin 20ms"], **SIM)
    for name in ("b", "a"):
        becalm.record(["spin 20ms"], project="p", commit=name, machine="ci", **SIM)
    history = becalm.history()
    assert ([session.commit for session in history.sessions], history.order) == (["b", "a"], "as recorded")
    assert [machine.name for machine in history.machines] == ["ci"]


def test_damaged_sessions_are_left_out_and_named(project, store):
    for commit in project:
        becalm.record(["spin 20ms"], commit=commit, **SIM)
    with Store.open(store) as opened, opened._writing() as db:
        db.execute("UPDATE verdict SET json = replace(json, 'spin 20ms', 'spin 21ms') WHERE study_id = 1")
        db.execute("UPDATE study SET options = substr(options, 2) WHERE id = 3")
    messages = []
    assert [session.study for session in becalm.history(warned=messages.append).sessions] == [2]
    assert [message.partition(" cannot be read and is left out")[0] for message in messages] == [
        "The store is damaged: 1 session of a project whose name cannot be read (study 3)",
        "The store is damaged: 1 session of 'app' (study 1)",
    ]
    assert len(becalm.history().sessions) == 1, "nobody needs to be told"


def test_settings_make_another_machine(project):
    becalm.record(["spin 20ms"], **SIM)
    becalm.record(["spin 20ms"], settings={"nice": -5}, **SIM)
    assert [machine.settings for machine in becalm.history().machines] == ["", "nice=-5"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"project": "other"}, "Nothing is recorded of a project 'other'. Recorded: app"),
        ({"baseline": "v9"}, "No session of 'app' is a baseline called 'v9'"),
        ({"tag": "weekly"}, "No session of 'app' has the tag 'weekly'. Tags: nightly.$"),
        (
            {"tag": "weekly", "branch": "next"},
            "has the tag 'weekly' and the branch 'next'. Tags: nightly. Branches: main",
        ),
        ({"links": "https://example.org/"}, "with {commit} in it"),
        ({"links": "javascript:{commit}"}, "must begin with https"),
        ({"rate": 0.0}, "between 0 and 0.5"),
    ],
)
def test_missing_histories_are_reported(project, options, message):
    becalm.record(["spin 20ms"], tags=["nightly"], **SIM)
    with pytest.raises(UsageError, match=message):
        becalm.history(**options)


def test_a_baseline_of_which_too_little_is_known_is_called_as_a_shell_reads_it_and_says_so(project):
    verdict = becalm.record(["spin 20ms"], name_baseline="v1 <b>", **SIM)
    assert "becalm history --baseline 'v1 <b>'" in verdict.sentence
    against = next(table for table in tables(becalm.history(baseline="v1 <b>")) if table.title.startswith("Against"))
    assert against.rows == (("spin 20ms", "not known yet"),)


def test_an_empty_store_and_equal_names_are_reported(project):
    with pytest.raises(UsageError, match="Nothing is recorded in this store"):
        becalm.history()
    with pytest.raises(UsageError, match="Two benchmarks are called 'spin 20ms'"):
        becalm.record(["spin 20ms", "spin 20ms"], **SIM)


def test_the_repository_tells_the_rest_of_imported_results(project, tmp_path):
    results = tmp_path / "results.json"
    for number, revision in enumerate(("HEAD", "HEAD~2", "HEAD~1")):
        results.write_text(json.dumps({"results": [{"command": "sort", "times": [0.1 + number, 0.11 + number]}]}))
        becalm.import_(results, project="app", commit=revision)
    history = becalm.history("app")
    assert (history.order, [session.commit for session in history.sessions]) == ("git", project)
    assert [session.subject for session in history.sessions] == ["change 0", "change 1", "change 2"]
    with pytest.raises(UsageError, match="is not a commit of"):
        becalm.import_(results, project="app", commit="v9", repository=str(tmp_path / "app"))


def test_sessions_of_an_unknown_branch_are_on_those_that_have_their_commits(project, tmp_path):
    app = tmp_path / "app"
    git(app, "checkout", "-q", "-b", "topic", project[1])
    aside = repositories.commit(app, "aside", 9)
    rows = [f"{name},sort,{number + 1}" for number, name in enumerate((*project, aside, "unknown"))]
    (tmp_path / "results.csv").write_text("\n".join(["commit,benchmark,value", *rows]))
    becalm.import_(tmp_path / "results.csv", project="app")
    assert {session.commit for session in becalm.history("app").sessions} == {*project, aside, "unknown"}
    assert {session.commit for session in becalm.history("app", branch="main").sessions} == {*project, "unknown"}
    assert {session.commit for session in becalm.history("app", branch="topic").sessions} == {
        *project[:2],
        aside,
        "unknown",
    }
    assert {session.commit for session in becalm.history("app", branch="gone").sessions} == {*project, aside, "unknown"}
