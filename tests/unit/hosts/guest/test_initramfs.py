"""The cpio archive: read back by our own reader of the format, and by cpio(1) where it is installed."""

import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cpio_archive import build_archive, entries

from becalm.errors import WorkloadError
from becalm.hosts.guest.initramfs import Copier, fill


def test_each_kind_of_entry(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(b"12345")
    source.chmod(0o751)
    os.utime(source, (0, 1_600_000_000))

    def write(cpio):
        cpio.directory("/a", 0o1777)
        cpio.data("/a/odd", b"x", uid=7, gid=8)
        cpio.link("/a/link", "../else")
        cpio.device("/a/console", 0o600, 5, 1)
        cpio.file("/a/copy", str(source))

    data, cpio = build_archive(write)
    files = entries(data)
    assert files["a"][0] == stat.S_IFDIR | 0o1777
    assert files["a/odd"] == (stat.S_IFREG | 0o644, 7, 8, 0, b"x")
    assert files["a/link"][0] == stat.S_IFLNK | 0o777
    assert files["a/link"][4] == b"../else"
    assert files["a/console"][0] == stat.S_IFCHR | 0o600
    assert files["a/copy"] == (stat.S_IFREG | 0o751, os.getuid(), os.getgid(), 1_600_000_000, b"12345")
    assert cpio.size == 3 * 4096, "two files and a link, in whole pages"


@given(
    st.lists(
        st.tuples(st.text("abc/", min_size=1, max_size=9), st.binary(max_size=40)),
        max_size=6,
        unique_by=lambda e: e[0].lstrip("/"),
    )
)
def test_any_contents_come_back(files):
    files = [(name, data) for name, data in files if name.lstrip("/")]
    data, _ = build_archive(lambda cpio: [cpio.data(name, contents) for name, contents in files])
    assert {name: entry[4] for name, entry in entries(data).items()} == {
        name.lstrip("/"): entry for name, entry in files
    }


@pytest.fixture
def machine(tmp_path):
    """bin is a link to usr/bin, and the program a link to another name, as on a merged-/usr system."""
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "bin").symlink_to("usr/bin")
    (tmp_path / "usr/bin/tool-1").write_bytes(b"tool")
    (tmp_path / "usr/bin/tool").symlink_to("tool-1")
    return tmp_path


def copied(write):
    data, _ = build_archive(lambda cpio: write(Copier(cpio)))
    return entries(data)


def inside(files, root):
    start = f"{str(root).lstrip('/')}/"
    return {name.removeprefix(start): entry for name, entry in files.items() if name.startswith(start)}


def test_links_on_the_way_come_along_and_parents_come_first(machine):
    files = copied(lambda copier: copier.copy(f"{machine}/bin/tool"))
    names = list(files)
    assert all(os.path.dirname(name) in ("", *names[:index]) for index, name in enumerate(names) if "/" in name)
    tail = inside(files, machine)
    assert {name: entry[4] for name, entry in tail.items()} == {
        "bin": b"usr/bin", "usr": b"", "usr/bin": b"", "usr/bin/tool": b"tool-1", "usr/bin/tool-1": b"tool",
    }  # fmt: skip


def test_nothing_comes_twice(machine):
    def write(copier):
        for name in ("bin/tool", "usr/bin/tool", "usr/bin/../bin/tool-1"):
            copier.copy(f"{machine}/{name}")
        copier.tree(str(machine))

    assert len(inside(copied(write), machine)) == 5  # `entries` refuses a second one


def test_a_tree_with_links_that_lead_nowhere_and_empty_directories(machine):
    (machine / "usr/empty").mkdir()
    (machine / "usr/lost").symlink_to("/no/where")
    os.mkfifo(machine / "usr/pipe")
    files = inside(copied(lambda copier: copier.tree(f"{machine}/usr")), machine)
    assert files["usr/lost"][4] == b"/no/where"
    assert stat.S_ISDIR(files["usr/empty"][0])
    assert "usr/pipe" not in files


def test_a_directory_that_is_made_is_empty_and_keeps_its_mode(machine):
    (machine / "usr").chmod(0o700)
    files = inside(copied(lambda copier: copier.make_directory(f"{machine}/usr")), machine)
    assert list(files) == ["usr"]
    assert files["usr"][0] == stat.S_IFDIR | 0o700


def test_a_file_that_is_not_there_is_a_sentence(machine):
    with pytest.raises(WorkloadError, match="cannot be copied into the guest: No such file"):
        copied(lambda copier: copier.copy(f"{machine}/none"))


def test_all_that_is_asked_for_at_once(machine):
    paths = ([f"{machine}/usr/bin/tool-1"], [f"{machine}/bin"], ["/proc", f"{machine}/new/place"])
    data, _ = build_archive(lambda cpio: fill(cpio, *paths))
    files = entries(data)
    assert {"usr/bin/tool", "bin", "new/place"} <= set(inside(files, machine))
    assert files["proc"][4] == b""
