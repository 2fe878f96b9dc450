"""Finished runs survive those who measured them."""

import fcntl
import hashlib
import json
import os
import socket
import sqlite3
import stat
import threading

import pytest
from click.testing import CliRunner
from tests.unit.store.test_store import FACTS, STUDY, run

from becalm.cli.records import command_list
from becalm.errors import MachineError
from becalm.nouns.elsewhere import elsewhere as telling
from becalm.store import Spool, Store, elsewhere, recover
from becalm.store.spool import read
from becalm.study.stored import stored
from becalm.verbs.records import export


def line(*rows):
    return (json.dumps({"id": 1, "event": "runs", "rows": [list(row) for row in rows]}) + "\n").encode()


def spools(tmp_path):
    return list((tmp_path / "state/becalm/spool").glob("*"))


def test_a_spool_goes_with_its_study(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    with Spool.create(store) as spool:
        spool.assign(number)
        (path,) = spools(tmp_path)
        assert path.stat().st_mode & 0o777 == 0o600
        assert recover(store) == [], "a spool in use is left alone"
    assert spools(tmp_path) == []


def refused(store):
    """Pilot runs, and then no study."""
    with Spool.create(store) as spool:
        os.write(spool.fileno(), line(run(0)))
        raise MachineError("refused")


def test_a_spool_of_what_never_became_a_study_goes_with_its_error(store, tmp_path):
    with pytest.raises(MachineError, match="refused"):
        refused(store)
    assert spools(tmp_path) == []
    assert recover(store) == []


def test_a_kill_before_there_was_a_study_leaves_nothing_and_is_no_damage(store, tmp_path):
    for data in (line(run(0)), telling(PLACE) + line(run(0))):
        spool = Spool.create(store)
        os.write(spool.fileno(), data)
        assert (recover(store), elsewhere(store), len(spools(tmp_path))) == ([], [], 1), "it is in use"
        fcntl.flock(spool.fileno(), fcntl.LOCK_UN)
        os.close(spool.fileno())
        assert elsewhere(store) == []
        assert recover(store, heard=False) == []
        assert spools(tmp_path) == []


def abandon(store, number, data):
    """As a kill leaves it: written, assigned, unlocked, not removed."""
    spool = Spool.create(store)
    spool.assign(number)
    os.write(spool.fileno(), data)
    fcntl.flock(spool.fileno(), fcntl.LOCK_UN)
    os.close(spool.fileno())


def test_what_a_kill_left_is_recovered_once(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    store.append(number, [run(0)])
    abandon(store, number, line(run(0)) + line(run(1)) + line(run(2))[:-9])
    (found,) = recover(store)
    assert (found.study_id, found.runs) == (number, 1)
    assert list(store.runs(number)) == [run(0), run(1)]
    assert recover(store) == []
    assert spools(tmp_path) == []


PLACE = {"host": "ssh://bench", "pid": 7}


def test_a_spool_that_names_another_machine_waits_until_somebody_has_asked_there(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    abandon(store, number, telling(PLACE) + line(run(0)))
    (found,) = recover(store)
    assert (found.study_id, found.runs, found.aside) == (number, 1, None), "what has come here is taken at once"
    assert recover(store) == []
    (left,) = elsewhere(store)
    assert (left.place, left.study_id) == (PLACE, number)
    said = []
    stored(number, store.shown, warned=said.append)
    assert [line for line in said if "may still be on ssh://bench" in line]
    (found,) = left.take(line(run(0)) + line(run(1)) + line(run(2))[:-9])
    assert (found.runs, found.aside) == (1, None)
    assert list(store.runs(number)) == [run(0), run(1)]
    assert (elsewhere(store), spools(tmp_path)) == ([], [])
    assert left.take(line(run(3))) == [], "somebody else was there first"


def test_another_machine_that_has_nothing_is_forgotten(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    abandon(store, number, telling(PLACE))
    (left,) = elsewhere(store)
    assert left.take(b"") == []
    assert spools(tmp_path) == []


def test_a_place_that_is_in_use_is_nobody_elses(store):
    with Spool.create(store) as spool:
        spool.assign(store.begin(STUDY, FACTS))
        os.write(spool.fileno(), telling(PLACE))
        assert elsewhere(store) == []


def test_rubbish_is_no_run(store, tmp_path):
    """What an agent leaves that was killed before or while it wrote."""
    number = store.begin(STUDY, FACTS)
    for data in (b"", b"\x00" * 100, b"{", line(run(0))[:-9]):
        abandon(store, number, data)
        assert recover(store) == []
    assert spools(tmp_path) == []


ROW = list(run(0))


@pytest.mark.parametrize(
    "damaged",
    [b"[]\n", b'{"rows": [[1]]}\n', b'{"rows": 3}\n', b"\xff\xfe\n", b"[" * 100_000 + b"\n", b"\0\n",
     line([*ROW[:6], "x", *ROW[7:]]), line([*ROW[:6], None, *ROW[7:]]), line([*ROW[:6], 2**63, *ROW[7:]]),
     line([*ROW[:6], True, *ROW[7:]]), line([*ROW[:15], "fine", *ROW[16:]])],
)  # fmt: skip
def test_a_damaged_spool_is_kept_and_said_and_what_is_whole_in_it_is_stored(location, tmp_path, damaged):
    with Store.open(location) as store:
        number = store.begin(STUDY, FACTS)
        abandon(store, number, line(run(1)) + damaged + line(run(2)))
        assert [each.runs for each in recover(store, heard=False)] == [2]
        assert [path.suffix for path in spools(tmp_path)] == [".spool"], "nobody was told of the damage"
        (found,) = recover(store)
        assert (found.study_id, found.runs) == (number, 0), "the runs came in before"
        assert spools(tmp_path) == [found.aside]
        assert found.aside.read_bytes() == line(run(1)) + damaged + line(run(2))
        assert list(store.runs(number)) == [run(1), run(2)]
        assert recover(store) == []


def test_runs_never_come_into_another_study_of_the_same_number(location, tmp_path):
    with Store.open(location) as store:
        number = store.begin(STUDY, FACTS)
        abandon(store, number, line(run(0)))
        with store._writing() as db:
            # As if the store had been removed and made anew.
            db.execute("UPDATE study SET created_ns = created_ns + 1")
        (found,) = recover(store)
        assert (found.study_id, found.runs) == (number, 0)
        assert found.aside.read_bytes() == line(run(0))
        assert list(store.runs(number)) == []


def test_runs_of_a_study_that_is_not_there_are_kept(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    abandon(store, number, line(run(0)))
    (path,) = spools(tmp_path)
    path.rename(path.with_name(path.name.replace(f"-{number}-", "-4711-")))
    (found,) = recover(store)
    assert (found.study_id, found.runs, found.aside.exists()) == (4711, 0, True)


def test_columns_that_a_later_agent_adds_at_the_end_are_no_damage(store):
    number = store.begin(STUDY, FACTS)
    abandon(store, number, line([*run(0), 17]))
    assert [each.runs for each in recover(store)] == [1]
    assert list(store.runs(number)) == [run(0)]


def former_name(path, process):
    """As becalm named spools first: store, study, process."""
    key, number, _ = path.name.split("-")
    path.rename(path.with_name(f"{key}-{number}-{process}.spool"))


def test_spools_of_the_former_name_are_recovered(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    late = run(0, started_ns=store.began_ns(number))
    abandon(store, number, line(late))
    former_name(*spools(tmp_path), os.getpid())
    (found,) = recover(store)
    assert (found.study_id, found.runs, found.aside) == (number, 1, None)
    assert list(store.runs(number)) == [late]
    assert spools(tmp_path) == []


def test_spools_of_the_former_name_with_runs_older_than_the_study_are_kept(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    abandon(store, number, line(run(0, started_ns=store.began_ns(number) - 1)))
    former_name(*spools(tmp_path), os.getpid())
    (found,) = recover(store)
    assert (found.runs, found.aside.exists()) == (0, True)
    assert list(store.runs(number)) == []


def test_a_store_is_the_same_from_everywhere(tmp_path, monkeypatch):
    """Found again over a relative path, a symbolic link, and from another working directory."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path)
    for other in ("link/runs.db", str(tmp_path / "real/runs.db")):
        with Store.open("real/runs.db") as store:
            number = store.begin(STUDY, FACTS)
            abandon(store, number, line(run(0)))
        with Store.open(other) as store:
            assert [(each.study_id, each.runs) for each in recover(store)] == [(number, 1)]
    with Store.open("link/runs.db") as store:
        number = store.begin(STUDY, FACTS)
        abandon(store, number, line(run(0)))
        (path,) = spools(tmp_path)
        former = hashlib.sha256(str(tmp_path / "link/runs.db").encode()).hexdigest()[:12]
        path.rename(path.with_name(path.name.replace(path.name.split("-")[0], former)))
        assert [each.runs for each in recover(store)] == [1], "symbolic links were not followed at first"


def test_spools_of_other_stores_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Store.open(str(tmp_path / "one.db")) as one, Store.open(str(tmp_path / "two.db")) as two:
        number = one.begin(STUDY, FACTS)
        abandon(one, number, line(run(0)))
        assert recover(two) == []
        assert [each.runs for each in recover(one)] == [1]


def test_a_store_that_cannot_take_runs_now_gets_them_later(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("becalm.store.location.BUSY_S", 0.05)
    path = str(tmp_path / "runs.db")
    with Store.open(path) as store:
        number = store.begin(STUDY, FACTS)
        abandon(store, number, line(run(0)))
        with sqlite3.connect(path, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            assert recover(store) == []
            other.execute("ROLLBACK")
        assert [each.runs for each in recover(store)] == [1]


def test_two_that_recover_at_once_take_turns(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = str(tmp_path / "runs.db")
    with Store.open(path) as store:
        numbers = [store.begin(STUDY, FACTS) for _ in range(10)]
        for number in numbers:
            abandon(store, number, line(run(0)))
    found = []

    def recover_all():
        with Store.open(path) as opened:
            found.extend(recover(opened))

    threads = [threading.Thread(target=recover_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.study_id for each in found) == numbers
    assert {(each.runs, each.aside) for each in found} == {(1, None)}


@pytest.mark.parametrize("kind", ["pipe", "device", "directory", "socket", "link", "nowhere"])
def test_what_is_no_file_is_not_waited_for(tmp_path, monkeypatch, kind):
    """Somebody else may write to the directory, when root runs becalm with that user's home."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "elsewhere").write_bytes(line(run(0)))
    with Store.open(str(tmp_path / "runs.db")) as store:
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
            case "socket":
                monkeypatch.chdir(path.parent)
                with socket.socket(socket.AF_UNIX) as made:
                    made.bind(path.name)
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


def test_of_a_spool_that_never_ends_the_beginning_is_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("becalm.store.spool._LARGEST", 4096)
    with Store.open(str(tmp_path / "runs.db")) as store:
        number = store.begin(STUDY, FACTS)
        abandon(store, number, line(run(0)))
        (path,) = spools(tmp_path)
        os.truncate(path, 1 << 40)
        (found,) = recover(store)
        assert (found.runs, found.aside) == (1, path.with_name(path.name + ".aside"))
        assert list(store.runs(number)) == [run(0)]
        abandon(store, number, telling(PLACE) + line(run(1)))
        (path,) = [each for each in spools(tmp_path) if each != found.aside]
        os.truncate(path, 1 << 40)
        (left,) = elsewhere(store)
        (found,) = left.take(line(run(2)))
        assert list(store.runs(number)) == [run(0), run(1)]


def test_a_spool_is_made_again_when_another_removes_it_before_it_is_locked(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    flock = fcntl.flock
    removed = []

    def slow(descriptor, operation):
        if operation == fcntl.LOCK_EX and not removed:
            removed.extend(spools(tmp_path))
            assert recover(store) == []
        flock(descriptor, operation)

    with Store.open(str(tmp_path / "runs.db")) as store:
        number = store.begin(STUDY, FACTS)
        monkeypatch.setattr("becalm.store.spool.fcntl.flock", slow)
        with Spool.create(store) as spool:
            assert len(removed) == 1
            spool.assign(number)
            assert [os.path.samestat(os.fstat(spool.fileno()), path.stat()) for path in spools(tmp_path)] == [True]


def test_the_spools_are_private(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Store.open(str(tmp_path / "runs.db")) as store:
        assert recover(store) == []
        assert not (tmp_path / "state").exists(), "looking for spools makes no directory"
        with Spool.create(store):
            pass
    for each in ("state/becalm", "state/becalm/spool"):
        assert (tmp_path / each).stat().st_mode & 0o777 == 0o700


def test_no_place_for_spools_is_said_before_anything_runs(tmp_path, monkeypatch):
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


def test_what_was_recovered_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = str(tmp_path / "runs.db")
    said = []
    with Store.open(path) as store:
        number = store.begin(STUDY, FACTS)
        abandon(store, number, line(run(0)))
        stored(number, path, warned=said.append)
        abandon(store, number, line(run(0)) + b"?\n")
        export(number, store=path)
        assert len(said) == 1, "nobody asked"
        export(number, store=path, warned=said.append)
        abandon(store, number, line(run(1)) + b"?\n")
        done = CliRunner().invoke(command_list, ["--store", path, "--json"])
    assert json.loads(done.stdout)["studies"][0]["runs"] == 2
    said.append(done.stderr)
    assert [f"1 run of study {number}" in each for each in said] == [True, False, True]
    assert [".spool.aside" in each for each in said] == [False, True, True]


def test_an_error_while_measuring_brings_the_spool_in(store, tmp_path):
    number = store.begin(STUDY, FACTS)
    try:
        with Spool.create(store) as spool:
            spool.assign(number)
            os.write(spool.fileno(), line(run(0)))
            raise RuntimeError
    except RuntimeError:
        pass
    assert list(store.runs(number)) == [run(0)]
    assert spools(tmp_path) == []


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
        rows, found = read(file.fileno())
    assert (list(rows), found) == (seqs, whole)


def test_what_a_program_printed_is_recovered_with_its_run(store):
    number = store.begin(STUDY, FACTS)
    found = run(0, metrics=(0.5, 3.0))
    abandon(store, number, line(found, list(run(1))[:-1]))
    assert [each.runs for each in recover(store)] == [2]
    assert list(store.runs(number)) == [found, run(1)], "an agent of before has no such column"
