"""Finished runs survive those who measured them."""

import fcntl
import json
import os
import sqlite3
import stat
import threading

import pytest
from click.testing import CliRunner
from tests.suites.store_spool import *  # noqa: F403
from tests.support.spools import PLACE, abandon, line, spools
from tests.support.store_examples import FACTS, STUDY, run

from becalm.cli.records import command_list
from becalm.errors import MachineError
from becalm.nouns.elsewhere import elsewhere as telling
from becalm.store import Spool, Store, elsewhere, recover
from becalm.store.spool import read
from becalm.study.stored import stored
from becalm.verbs.records import export


@pytest.mark.usefixtures("location")
def test_a_store_is_the_same_from_everywhere(tmp_path, monkeypatch):
    """Found again over a relative path, a symbolic link, and from another working directory."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path)
    for other in ("link/runs.db", str(tmp_path / "real/runs.db")):
        with Store.open("real/runs.db") as store:
            number = store.begin(STUDY, FACTS)
            abandon(store, number, line(run(0)))
        with Store.open(other) as store:
            assert [(recovered.study_id, recovered.runs) for recovered in recover(store)] == [(number, 1)]


@pytest.mark.usefixtures("location")
def test_spools_of_other_stores_are_left_alone(tmp_path):
    with Store.open(str(tmp_path / "one.db")) as store, Store.open(str(tmp_path / "two.db")) as two:
        number = store.begin(STUDY, FACTS)
        abandon(store, number, line(run(0)))
        assert recover(two) == []
        assert [recovered.runs for recovered in recover(store)] == [1]


def test_a_store_that_cannot_take_runs_now_gets_them_later(monkeypatch, location):
    monkeypatch.setattr("becalm.store.location.BUSY_S", 0.05)
    with Store.open(location) as store:
        number = store.begin(STUDY, FACTS)
        abandon(store, number, line(run(0)))
        with sqlite3.connect(location, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            assert recover(store) == []
            other.execute("ROLLBACK")
        assert [recovered.runs for recovered in recover(store)] == [1]


def test_two_that_recover_at_once_take_turns(location):
    with Store.open(location) as store:
        numbers = [store.begin(STUDY, FACTS) for _ in range(10)]
        for number in numbers:
            abandon(store, number, line(run(0)))
    recovered = []

    def recover_all():
        with Store.open(location) as opened:
            recovered.extend(recover(opened))

    threads = [threading.Thread(target=recover_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(recovery.study_id for recovery in recovered) == numbers
    assert {(recovery.runs, recovery.aside) for recovery in recovered} == {(1, None)}


@pytest.mark.parametrize("kind", ["pipe", "device", "directory", "link", "nowhere"])
def test_a_spool_that_is_not_a_file_is_not_waited_for(tmp_path, kind, location):
    """Somebody else may write to the directory, when root runs becalm with that user's home."""
    (tmp_path / "elsewhere").write_bytes(line(run(0)))
    with Store.open(location) as store:
        number = store.begin(STUDY, FACTS)
        abandon(store, number, line(run(0)))
        (path,) = spools(tmp_path)
        path.unlink()
        match kind:
            case "pipe":
                os.mkfifo(path)
            case "device":
                try:
                    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))
                except PermissionError:
                    pytest.skip("making a device is for root")
            case "directory":
                path.mkdir()
            case "link":
                path.symlink_to(tmp_path / "elsewhere")
            case _:
                path.symlink_to(tmp_path / "nowhere")
        before = path.lstat()
        assert (recover(store), elsewhere(store)) == ([], [])
        assert os.path.samestat(path.lstat(), before), "it is nothing of becalm's"
        assert list(store.runs(number)) == []
        assert (tmp_path / "elsewhere").read_bytes() == line(run(0))
        assert not (tmp_path / "nowhere").exists()


def test_of_a_spool_that_never_ends_the_beginning_is_taken(tmp_path, monkeypatch, location):
    monkeypatch.setattr("becalm.store.spool._LARGEST", 4096)
    with Store.open(location) as store:
        number = store.begin(STUDY, FACTS)
        abandon(store, number, line(run(0)))
        (path,) = spools(tmp_path)
        os.truncate(path, 1 << 40)
        (recovery,) = recover(store)
        assert (recovery.runs, recovery.aside) == (1, path.with_name(path.name + ".aside"))
        assert list(store.runs(number)) == [run(0)]
        abandon(store, number, telling(PLACE) + line(run(1)))
        (path,) = [spool for spool in spools(tmp_path) if spool != recovery.aside]
        os.truncate(path, 1 << 40)
        (left,) = elsewhere(store)
        (recovery,) = left.take(line(run(2)))
        assert list(store.runs(number)) == [run(0), run(1)]


def test_a_spool_is_made_again_when_another_removes_it_before_it_is_locked(tmp_path, monkeypatch, location):
    flock = fcntl.flock
    removed = []

    def slow(descriptor, operation):
        if operation == fcntl.LOCK_EX and not removed:
            removed.extend(spools(tmp_path))
            assert recover(store) == []
        flock(descriptor, operation)

    with Store.open(location) as store:
        number = store.begin(STUDY, FACTS)
        monkeypatch.setattr("becalm.store.spool.fcntl.flock", slow)
        with Spool.create(store) as spool:
            assert len(removed) == 1
            spool.assign(number)
            assert [os.path.samestat(os.fstat(spool.fileno()), path.stat()) for path in spools(tmp_path)] == [True]


def test_the_spools_are_private(tmp_path, location):
    with Store.open(location) as store:
        assert recover(store) == []
        assert not (tmp_path / "XDG_STATE_HOME").exists(), "looking for spools makes no directory"
        with Spool.create(store):
            pass
    for name in ("becalm", "becalm/spool"):
        assert (tmp_path / "XDG_STATE_HOME" / name).stat().st_mode & 0o777 == 0o700


def test_no_place_for_spools_is_reported_before_anything_runs(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with Store.open(str(tmp_path / "runs.db")) as store:
        assert recover(store) == []
        with pytest.raises(MachineError, match="XDG_STATE_HOME"):
            Spool.create(store)


def test_a_user_without_a_home_can_read_a_store(tmp_path, monkeypatch):
    def unknown():
        raise RuntimeError("Could not determine home directory.")

    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "BECALM_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("becalm.paths.Path.home", unknown)
    with Store.open(str(tmp_path / "runs.db")) as store:
        assert recover(store) == []
        with pytest.raises(MachineError, match="no home directory"):
            Spool.create(store)
    with pytest.raises(MachineError, match="no home directory"):
        Store.open()


def test_recovered_runs_are_reported(location):
    messages = []
    with Store.open(location) as store:
        number = store.begin(STUDY, FACTS)
        abandon(store, number, line(run(0)))
        stored(number, location, warned=messages.append)
        abandon(store, number, line(run(0)) + b"?\n")
        export(number, store=location)
        assert len(messages) == 1, "nobody asked"
        export(number, store=location, warned=messages.append)
        abandon(store, number, line(run(1)) + b"?\n")
        done = CliRunner().invoke(command_list, ["--store", location, "--json"])
    assert json.loads(done.stdout)["studies"][0]["runs"] == 2
    messages.append(done.stderr)
    assert [f"1 run of study {number}" in message for message in messages] == [True, False, True]
    assert [".spool.aside" in message for message in messages] == [False, True, True]


@pytest.mark.parametrize(
    ("data", "seqs", "whole"),
    [
        (b"", [], True),
        (line(run(0), run(1)), [0, 1], True),
        (line(run(0)) + line(run(1))[:-1], [0, 1], True),
        (line(run(0)) + line(run(1))[:-2], [0], True),
        (line(run(0), run(1)) + b"{" + line(run(2)) + line(run(3)), [0, 1, 3], False),
    ],
)
def test_reading_tells_a_torn_end_from_damage(tmp_path, data, seqs, whole):
    path = tmp_path / "x"
    path.write_bytes(data)
    with path.open("rb") as file:
        rows, damage = read(file.fileno())
    assert (list(rows), damage) == (seqs, whole)
