"""Commits built in trees of their own: what fails, what hangs, what is left."""

import shutil
import subprocess

import pytest
from tests.support.repositories import git, repository
from tests.waiting import wait_ended, wait_for

from becalm.errors import MachineError
from becalm.study.builds import KEPT, Builds, discard
from becalm.study.repository import Repository


@pytest.fixture
def cloned(tmp_path):
    names = repository(tmp_path / "app", KEPT + 3)
    return Repository.of(tmp_path / "app"), names


def builds(result, command, timeout_s=60.0):
    return Builds.private(result[0], command, timeout_s, result[1][0])


def test_each_commit_has_its_own_tree_and_nothing_is_left(cloned):
    there, names = cloned
    with builds(cloned, ["sh", "-c", "cp f built"]) as commits:
        for number, name in enumerate(names):
            place, reason = commits.get(name)
            assert (reason, (place / "built").read_text()) == ("", f"{number}\n")
        assert len(commits.trees) == KEPT + 1
        # Of the good one, all the time.
        assert names[0] in commits.trees
        assert commits.root.stat().st_mode & 0o077 == 0
        root = commits.root
    assert not root.exists()
    assert git(there.top, "worktree", "list").count("\n") == 1


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("echo no compiler >&2; exit 3", "its build ended with 3: no compiler"),
        ("kill -9 $$", "its build was killed by signal 9"),
        ("exit 1", "its build ended with 1"),
    ],
)
def test_a_build_that_fails_says_how(cloned, command, message):
    with builds(cloned, ["sh", "-c", command]) as commits:
        assert commits.get(cloned[1][1])[1] == message
        assert commits.trees == {}


def test_a_build_that_hangs_is_ended_with_all_that_it_started(cloned, tmp_path, monkeypatch):
    mark, waited = tmp_path / "pid", subprocess.Popen.wait

    def out_of_time(process, timeout=None):
        if timeout != 61.0:
            return waited(process, timeout)
        wait_for(lambda: mark.exists() and mark.read_text().endswith("\n"), "the build has started a child")
        raise subprocess.TimeoutExpired(process.args, timeout)

    with builds(cloned, ["sh", "-c", f"sleep 300 & echo $! > {mark}; wait"], timeout_s=61.0) as commits:
        monkeypatch.setattr(subprocess.Popen, "wait", out_of_time)
        assert commits.get(cloned[1][1])[1] == "its build took longer than 61 s"
    wait_ended(int(mark.read_text()))


def test_a_build_that_there_is_not_ends_the_search(cloned):
    with builds(cloned, ["no-such-compiler"]) as commits, pytest.raises(MachineError, match="without a shell"):
        commits.get(cloned[1][1])


def test_remains_of_a_killed_search_are_removed(cloned):
    there, names = cloned
    commits = builds(cloned, ["true"])
    commits.get(names[1])
    commits.get(names[2])
    shutil.rmtree(commits.root / names[2][:16])
    assert git(there.top, "worktree", "list").count("\n") == 3
    discard(there, commits.root)
    discard(there, commits.root)
    assert git(there.top, "worktree", "list").count("\n") == 1
