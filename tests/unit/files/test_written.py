"""Files that becalm writes replace nothing that it did not write, and as a whole or not at all."""

import os
import stat
from contextlib import nullcontext
from pathlib import Path

import pytest

from becalm.errors import UsageError
from becalm.files.written import ATTRIBUTE, overwriting, target, write, writing

STORE = b"SQLite format 3\0" + bytes(100)
LOG = b"\x37\x7f\x06\x82" + bytes(28)
NAMED = {"file": b"mine\n", "report.html": b"<html>mine</html>", "data.json": b'{"becalm": {"is": "mine"}}'}


@pytest.fixture(autouse=True)
def _own_store(monkeypatch, tmp_path):
    monkeypatch.setenv("BECALM_STORE", str(tmp_path / "own.db"))


@pytest.fixture
def attributes(tmp_path):
    probe = tmp_path / "probe"
    probe.write_bytes(b"x")
    try:
        os.setxattr(probe, ATTRIBUTE, b"x")
    except OSError as error:
        pytest.skip(f"{tmp_path} keeps no extended attributes: {error.strerror}")


@pytest.mark.parametrize("name", NAMED)
def test_a_file_of_somebody_else_is_refused(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(NAMED[name])
    with pytest.raises(UsageError, match=r"becalm did not write it.*--overwrite"):
        write(path, "new")
    assert path.read_bytes() == NAMED[name]
    with overwriting():
        write(path, "new")
    assert path.read_text() == "new"
    with pytest.raises(UsageError, match="is a directory"):
        target(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"), [("runs.db", STORE), ("report.html", STORE), ("runs.db-wal", LOG), ("own.db", b"damaged")]
)
@pytest.mark.parametrize("allowed", [False, True])
def test_a_store_is_refused_whatever_is_permitted(tmp_path, name, content, allowed):
    path = tmp_path / name
    path.write_bytes(content)
    permission = overwriting() if allowed else nullcontext()
    with permission, pytest.raises(UsageError, match=r"is a store, or another database, and would be lost"):
        write(path, "new")
    assert path.read_bytes() == content


def test_the_index_of_a_stores_log_is_a_part_of_it(tmp_path):
    (tmp_path / "runs.db").write_bytes(STORE)
    (tmp_path / "runs.db-shm").write_bytes(bytes(10))
    with overwriting(), pytest.raises(UsageError, match="is a store"):
        target(tmp_path / "runs.db-shm")


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_devices_are_refused(device):
    with overwriting(), pytest.raises(UsageError, match="is a device"):
        write(device, "new")


def test_becalm_replaces_its_own_file_until_somebody_edits_it(tmp_path, attributes):
    path = tmp_path / "runs.csv"
    for content in ("first", "second"):
        write(path, content)
        assert path.read_text() == content
    path.write_text("second, with notes of mine")
    with pytest.raises(UsageError, match="edited since"):
        write(path, "third")
    assert path.read_text() == "second, with notes of mine"


MARKED = {
    "page": b'<!DOCTYPE html>\n<meta name="generator" content="becalm 1.0">\n',
    "json": b'{\n  "becalm": "1.0",\n  "schema": 3,\n  "kind": "run"\n}\n',
    "comment": b"<!-- becalm check -->\n",
    "metrics": b"# HELP becalm_x y\n",
}


@pytest.mark.parametrize("kind", MARKED)
def test_copies_without_attributes_are_known_by_their_content(tmp_path, kind):
    path = tmp_path / "copy"
    path.write_bytes(MARKED[kind])
    write(path, "new")
    assert path.read_text() == "new"


def test_an_empty_file_and_a_new_one_are_written(tmp_path):
    empty = tmp_path / "empty"
    empty.touch(mode=0o640)
    empty.chmod(0o640)
    write(empty, b"\xffnew")
    write(tmp_path / "none", "new")
    assert (empty.read_bytes(), stat.S_IMODE(empty.stat().st_mode)) == (b"\xffnew", 0o640)
    assert sorted(os.listdir(tmp_path)) == ["empty", "none"]


@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, failure):
    path = tmp_path / "report.md"
    path.write_text("old")

    def fail():
        with overwriting(), writing(path) as file:
            file.write(b"half")
            raise failure

    with pytest.raises(type(failure)):
        fail()
    assert (os.listdir(tmp_path), path.read_text()) == (["report.md"], "old")


def test_a_link_stays_one(tmp_path):
    file, link, nowhere = tmp_path / "file", tmp_path / "link", tmp_path / "nowhere"
    file.touch()
    link.symlink_to("file")
    nowhere.symlink_to("none")
    write(link, "new")
    assert (link.readlink(), file.read_text()) == (Path("file"), "new")
    with pytest.raises(UsageError, match="a link to a file that is not there"):
        write(nowhere, "new")


def test_a_file_that_may_not_be_written_is_left(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.touch()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UsageError, match="may not be written"):
        write(path, "new")
