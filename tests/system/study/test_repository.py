"""The facts of a repository, asked from git about real ones."""

import pytest
from tests.support.repositories import commit, git, repository

from becalm.errors import MachineError, UsageError
from becalm.study.repository import Repository


@pytest.fixture
def cloned(tmp_path):
    names = repository(tmp_path / "app", 4)
    return Repository.of(tmp_path / "app"), names


def test_a_commit_has_its_name_date_subject_and_place(cloned):
    there, names = cloned
    result = there.commit()
    assert (result.name, result.when_ns, result.subject, result.ordinal) == (
        names[3],
        1_700_000_003 * 10**9,
        "change 3",
        4,
    )
    assert there.commit(names[1][:8]).ordinal == 2
    assert there.branch() == "main"
    assert not there.changed()
    (there.top / "f").write_text("other")
    assert there.changed()


def test_an_invalid_commit_is_refused_and_never_taken_for_an_option(cloned):
    there, _ = cloned
    for wrong in ("nothing", "--help", "HEAD:f", ""):
        with pytest.raises(UsageError, match="is not a commit of"):
            there.commit(wrong)


def test_a_shallow_clone_knows_no_ordinal(cloned, tmp_path):
    there, names = cloned
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{there.top}", "clone")
    result = Repository.of(tmp_path / "clone").commit()
    assert (result.name, result.ordinal) == (names[3], None)


def test_order_is_by_ancestry_whatever_the_dates_say(cloned):
    there, names = cloned
    late = commit(there.top, "a clock of 1990", -1_000_000_000)
    assert there.order([late, names[2], "f" * 40, "no commit", names[0]]) == {names[0]: 0, names[2]: 1, late: 2}
    assert there.order([]) == {}


def test_a_range_has_the_merged_branches_with_their_parents(cloned):
    there, names = cloned
    git(there.top, "checkout", "-q", "-b", "side", names[1])
    (there.top / "g").write_text("x")
    side = commit(there.top, "on the side", 10)
    git(there.top, "checkout", "-q", "main")
    git(there.top, "merge", "-q", "--no-ff", "-m", "merge", "side")
    merged = there.name_of("HEAD")
    between = there.between(names[0], "HEAD")
    assert set(between.commits) == {*names[1:], side, merged}
    assert between.parents[-1] == (names[3], side)
    assert not between.forked_earlier
    # The side left before this good commit: it is to be compared with where it began.
    assert there.between(names[2], "HEAD").forked_earlier == {side}
    assert there.base(names[2], side) == names[1]
    assert there.between(side, "HEAD").commits[-1] == merged
    with pytest.raises(UsageError, match="does not lead to"):
        there.between(names[3], side)
    with pytest.raises(UsageError, match="the same commit"):
        there.between("main", merged)


def test_a_working_tree_of_its_own_is_made_and_removed(cloned, tmp_path):
    there, names = cloned
    place = tmp_path / "tree"
    there.worktree(place, names[0])
    assert (place / "f").read_text() == "0\n"
    (place / "made by a build").write_text("x")
    there.forget(place)
    assert not place.exists()
    assert git(there.top, "worktree", "list").count("\n") == 1
    there.forget(place)
    place.write_text("in the way")
    with pytest.raises(MachineError, match="cannot check"):
        there.worktree(place, names[0])


def test_where_there_is_no_repository_or_no_git(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with pytest.raises(UsageError, match="is in no git repository"):
        Repository.of(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match="git is not installed here"):
        Repository.of(tmp_path)
