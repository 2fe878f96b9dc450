"""A bisection of a real git history, with real builds and real runs."""

import pytest
from click.testing import CliRunner
from tests.support.repositories import git, repository

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UsageError, WorkloadError
from becalm.study.bisect_journal import Journal

SLOW, COMMITS, BROKEN, FAILS = 9, 16, 7, 4
"""From this commit on it counts 3 % more, which does not depend on the machine; numbers scatter by 0.2 %."""

METRIC = ("--metric", "count ([0-9]+)")


@pytest.fixture
def history(tmp_path, monkeypatch, agent):
    """A program that becomes slower; one commit does not build, in one the program fails."""

    def contents(number):
        broken = "exit 1\n" if number == BROKEN else ""
        level = 10_300 if number >= SLOW else 10_000
        return f"{broken}echo 'echo count $(({level} + $$ % 61)); exit {int(number == FAILS)}' > built\n"

    names = repository(tmp_path / "app", COMMITS, contents)
    monkeypatch.chdir(tmp_path / "app")
    return names


def test_the_commit_is_found_and_nothing_is_left(history, tmp_path):
    words = ("bisect", *METRIC, history[1], "main", "--", "build", "sh", "f", "--", "run", "sh", "built")
    done = CliRunner().invoke(group, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert f"{history[SLOW][:10]} (change {SLOW}) made it slower" in done.stdout
    assert git(tmp_path / "app", "worktree", "list").count("\n") == 1
    assert git(tmp_path / "app", "status", "--porcelain") == ""


def test_an_interrupted_search_goes_on(history, tmp_path, monkeypatch):
    """The journal of a search that was killed after good and bad, and one commit, were measured."""
    given = {"run": "sh built", "build": "sh f", "metric": METRIC[1], "store": str(tmp_path / "s.db")}
    written, write = [], Journal.write

    def killed(self, **line):
        write(self, **line)
        written.append(line)
        if sum(each["kind"] == "measured" for each in written) == 2:
            raise SystemExit(137)

    monkeypatch.setattr(Journal, "write", killed)
    with pytest.raises(SystemExit):
        becalm.bisect(history[1], "main", **given)
    monkeypatch.setattr(Journal, "write", write)
    found = becalm.bisect(history[1], "main", **given)
    assert found.first == history[SLOW]
    assert len(found.studies) == len(becalm.list_studies(given["store"]).studies)
    before = sum(len(each["differences"]) for each in written if each["kind"] == "measured")
    assert found.runs > 2 * before
    assert found.probability >= 0.95


def test_good_and_bad_must_build_and_run(history):
    with pytest.raises(WorkloadError, match="cannot be measured: its build ended with 2"):
        becalm.bisect(history[1], "main", build="sh -c 'exit 2'", run="true")
    with pytest.raises(WorkloadError):
        becalm.bisect(history[1], "main", run="false")


def test_what_makes_no_sense_is_said(history):
    with pytest.raises(UsageError, match="does not lead to"):
        becalm.bisect("main", history[1], run="true")
    with pytest.raises(UsageError, match="leave --host out"):
        becalm.bisect(history[1], "main", run="true", host="ssh://x")
    for words, said in (
        ((), "What is to be measured"),
        (("make",), "'make' stands where"),
        (("build", "--", "run", "x"), "followed by no command"),
    ):
        with pytest.raises(UsageError, match=said):
            CliRunner().invoke(group, ("bisect", history[1], "main", "--", *words), catch_exceptions=False)
