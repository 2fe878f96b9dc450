"""A bisection of a real git history, with real builds and real runs."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.repositories import commit, git, repository

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UsageError, WorkloadError
from becalm.study.bisect_journal import Journal

SLOW, COMMITS, BROKEN, FAILS = 9, 16, 7, 4
"""The commit from which on it counts 3 % more, which does not depend on the machine; numbers scatter by 0.2 %."""

SCATTER = 'n=$(cat runs 2>/dev/null); echo $((n + 1)) >runs; set -- $(echo "$n $built" | cksum); '
"""Shell that counts the runs of a build in a file; then `$1` depends on this number and the commit alone, so that each
search sees the same numbers."""


def script(level):
    """Return the contents of a script that builds a program; it counts around `level`, a shell expression."""
    return f"(echo built=$(git rev-parse HEAD); echo '{SCATTER}echo count $(({level} + $1 % 61))') > built\n"


METRIC = ("--metric", "count ([0-9]+)")


@pytest.fixture
def history(tmp_path, monkeypatch, agent):
    """A program that becomes slower; one commit does not build, in one the program fails."""

    def contents(number):
        broken = "exit 1\n" if number == BROKEN else ""
        level = 10_300 if number >= SLOW else 10_000
        return f"{broken}{script(level)}echo 'exit {int(number == FAILS)}' >> built\n"

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
    options = {"run": "sh built", "build": "sh f", "metric": METRIC[1], "store": str(tmp_path / "s.db")}
    written, write = [], Journal.write

    def killed(self, **line):
        write(self, **line)
        written.append(line)
        if sum(finding["kind"] == "measured" for finding in written) == 2:
            raise SystemExit(137)

    monkeypatch.setattr(Journal, "write", killed)
    with pytest.raises(SystemExit):
        becalm.bisect(history[1], "main", **options)
    monkeypatch.setattr(Journal, "write", write)
    result = becalm.bisect(history[1], "main", **options)
    assert result.first == history[SLOW]
    assert len(result.studies) == len(becalm.list_studies(options["store"]).studies)
    before = sum(len(line["differences"]) for line in written if line["kind"] == "measured")
    assert result.runs > 2 * before
    assert result.probability >= 0.95


def test_good_and_bad_must_build_and_run(history):
    with pytest.raises(WorkloadError, match="cannot be measured: its build ended with 2"):
        becalm.bisect(history[1], "main", build="sh -c 'exit 2'", run="true")
    with pytest.raises(WorkloadError, match="lacks files that git ignores"):
        becalm.bisect(history[1], "main", run="false")
    Path(".gitmodules").touch()
    with pytest.raises(WorkloadError, match="git submodule update --init"):
        becalm.bisect(history[1], "main", run="false")


def test_invalid_bisections_are_refused(history):
    with pytest.raises(UsageError, match="does not lead to"):
        becalm.bisect("main", history[1], run="true")
    with pytest.raises(UsageError, match="leave --host out"):
        becalm.bisect(history[1], "main", run="true", host="ssh://x")
    for words, message in (
        ((), "Which program"),
        (("make",), "'make' is where"),
        (("build", "--", "run", "x"), "not followed by a command"),
    ):
        with pytest.raises(UsageError, match=message):
            CliRunner().invoke(group, ("bisect", history[1], "main", "--", *words), catch_exceptions=False)


def test_the_search_goes_into_a_branch_that_left_before_good_and_lacks_what_came_since(tmp_path, monkeypatch, agent):
    """The branch is slow all along, as it lacks the fast commit of main; only its second commit makes it slower."""
    there = tmp_path / "app"
    start = repository(there, 1, lambda _: script("$(cat level) + $(cat extra)"))[0]
    (there / "level").write_text("12000")
    (there / "extra").write_text("0")
    commit(there, "slow still", 1)
    git(there, "checkout", "-q", "-b", "side")
    (there / "g").write_text("x")
    commit(there, "harmless", 2)
    (there / "extra").write_text("1000")
    culprit = commit(there, "adds", 3)
    (there / "g").write_text("y")
    commit(there, "harmless too", 4)
    git(there, "checkout", "-q", "main")
    (there / "level").write_text("10000")
    good = commit(there, "fast", 5)
    git(there, "merge", "-q", "--no-ff", "-m", "Merge side", "side")
    (there / "h").write_text("x")
    commit(there, "later", 7)
    monkeypatch.chdir(there)
    words = ("bisect", *METRIC, good, "main", "--", "build", "sh", "f", "--", "run", "sh", "built")
    done = CliRunner().invoke(group, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert f"{culprit[:10]} (adds) made it slower" in done.stdout
    assert "over 5 commits" in done.stdout
    assert start not in done.stdout
