"""A range of real commits, each built and recorded."""

import pytest
from click.testing import CliRunner
from tests.support.repositories import commit, git, repository

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import Interrupted, UsageError
from becalm.study.builds import Builds

BROKEN = 2
METRIC = ("--metric", "count ([0-9]+)", "--name", "count", "--runs", "2")


@pytest.fixture
def history(tmp_path, monkeypatch, agent, own_directories):
    """Return commits of a program that counts its own number; one does not build."""

    def contents(number):
        return "echo no >&2; exit 1\n" if number == BROKEN else f"echo 'echo count {100 + number}' > built\n"

    names = repository(tmp_path / "app", 5, contents)
    monkeypatch.chdir(tmp_path / "app")
    return names


def record(history, *more):
    words = ("record", "--commits", f"{history[0]}..main", "--build", "sh f", *METRIC, *more, "sh built")
    return CliRunner().invoke(group, words, catch_exceptions=False)


def test_each_commit_of_a_range_has_a_session_and_the_broken_one_is_named(history, tmp_path):
    done = record(history)
    assert done.exit_code == 4
    assert "Recorded 3 commits of app" in done.stdout
    assert f"{history[BROKEN][:10]} is left out: its build ended with 1: no" in done.stderr
    result = becalm.history("app")
    assert [session.commit for session in result.sessions] == [history[1], history[3], history[4]]
    assert [point.value for point in result.benchmarks[0].points] == [101.0, 103.0, 104.0]
    assert not any(session.changed for session in result.sessions)
    assert git(tmp_path / "app", "worktree", "list").count("\n") == 1


def test_recorded_commits_are_left_out_unless_requested(history, tmp_path):
    record(history)
    newest = commit(tmp_path / "app", "more", 9)
    done = record(history)
    assert "Recorded 1 commit of app" in done.stdout
    assert "3 were recorded already; 1 could not be" in done.stdout
    assert newest in {session.commit for session in becalm.history("app").sessions}
    assert "Recorded 4 commits of app" in record(history, "--again").stdout


def test_an_interrupted_range_says_how_to_go_on(history, monkeypatch):
    def stopped(self, commit):
        raise KeyboardInterrupt

    monkeypatch.setattr(Builds, "get", stopped)
    with pytest.raises(Interrupted, match="The same command goes on"):
        becalm.record_commits("sh built", f"{history[0]}..main", build="sh f")


def test_invalid_ranges_of_commits_are_refused(history):
    for commits, message in (
        ("main", "is not a range of commits"),
        ("main..main", "There is no commit"),
        ("x..y", "'x' is not"),
    ):
        with pytest.raises(UsageError, match=message):
            becalm.record_commits("true", commits)
    with pytest.raises(UsageError, match="are for one session"):
        becalm.record_commits("true", f"{history[0]}..main", name_baseline="v1")
    with pytest.raises(UsageError, match="--build is for a range of commits"):
        CliRunner().invoke(group, ("record", "--build", "make", "true"), catch_exceptions=False)
