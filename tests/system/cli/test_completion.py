"""Completion by shells at a terminal, and of names that git has."""

import pytest
from tests.needs import need
from tests.support.repositories import git
from tests.system.cli.shells import completed
from tests.waiting import HANG_LIMIT_S

import becalm as api
from becalm.cli import candidates
from becalm.cli.completion import script
from becalm.cli.main import becalm


@pytest.fixture
def sessions(store):
    """Record two sessions of a project and one of another."""
    for project, commit, baseline in (("parser", "1", None), ("parser", "2", "v1"), ("other", "3", "v2")):
        api.record(
            ["spin 20ms", "spin 30ms"], project=project, commit=commit, branch=f"of-{project}", tags=["nightly"],
            machine="ci", name_baseline=baseline, host="sim:drift", seed=1, runs=2,
        )  # fmt: skip


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_at_a_terminal_completes_a_line(shell, sessions, tmp_path):
    need(shell)
    path = tmp_path / f"becalm.{shell}"
    path.write_text(script(shell, becalm))
    (tmp_path / "bin").mkdir()
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "only-one.toml").touch()
    for line, expected in (
        ("becalm kno", "becalm knobs "),
        ("becalm knobs swappi", "becalm knobs swappiness "),
        ("becalm apply --set transparent_hugepages=mad", "becalm apply --set transparent_hugepages=madvise "),
        ("becalm history par", "becalm history parser "),
        ("becalm clock --timer barr", "becalm clock --timer barrier "),
        ("becalm place --method swa", "becalm place --method swap "),
        ("becalm simulate --host sim:eev", "becalm simulate --host sim:eevdf "),
        ("becalm run --host sim:laptop", "becalm run --host sim:laptop-a "),
        (f"becalm suite {tmp_path}/sources/only", f"becalm suite {tmp_path}/sources/only-one.toml "),
    ):
        assert completed(shell, line, path, tmp_path / "bin").rstrip() == expected.rstrip()


def test_names_of_commits_come_from_git(tmp_path, monkeypatch):
    need("git")
    monkeypatch.setattr(candidates, "GIT_S", HANG_LIMIT_S)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert candidates.revisions("") == []
    for words in (("init", "-q", "-b", "main"), ("commit", "-q", "--allow-empty", "-m", "one"), ("tag", "v1.2")):
        git(tmp_path, *words)
    names = [item.value for item in candidates.revisions("")]
    assert (names[0], sorted(names)) == ("HEAD", ["HEAD", "main", "v1.2"])
    assert [item.value for item in candidates.revisions("v")] == ["v1.2"]
