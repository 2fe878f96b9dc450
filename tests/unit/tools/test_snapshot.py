"""A snapshot has what tests could change, and leaves out what changes by itself."""

import re

import pytest
import snapshot
from tests.places import ROOT


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A machine of a few files; returns it and a function that reads its files."""
    for name in ("etc", "home", "shm"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(snapshot, "TREES", (f"{tmp_path}/etc",))
    monkeypatch.setattr(snapshot, "DIRECTORIES", (f"{tmp_path}/home", f"{tmp_path}/shm"))
    return tmp_path, lambda: {name.removeprefix(str(tmp_path)): text for name, text in snapshot.files()}


def test_a_setting_is_a_file_that_somebody_can_write(tmp_path):
    directory = tmp_path / "proc/sys/vm"
    directory.mkdir(parents=True)
    for name, mode in (
        ("swappiness", 0o644),
        ("full_scans", 0o444),
        ("compact_memory", 0o200),
        ("stat_refresh", 0o600),
    ):
        (directory / name).write_text("60\n")
        (directory / name).chmod(mode)
    (directory / "below").mkdir()
    (directory / "below/deep").write_text("a\nb\n")
    assert dict(snapshot.settings(tmp_path)) == {"/proc/sys/vm/swappiness": "60", "/proc/sys/vm/below/deep": "a\nb"}


@pytest.mark.parametrize("file", ["etc/grub.d/09_becalm", "shm/becalm-spool-0123456789abcdef", "home/becalm"])
def test_a_file_is_in_it_with_what_is_compared(places, file):
    root, read = places
    before = read()
    (root / file).parent.mkdir(exist_ok=True)
    (root / file).write_text("text")
    new = read().keys() - before.keys()
    assert f"/{file}" in new
    assert new <= {f"/{file}", "/etc/grub.d"}


def test_files_of_trees_differ_by_mode_owner_size_and_time_and_names_do_not(places):
    root, read = places
    for file in ("etc/fstab", "home/notes"):
        (root / file).write_text("old")
    before = read()
    assert re.fullmatch(r"-rw\S+ \d+:\d+ 3 bytes, written \d+", before["/etc/fstab"])
    for file in ("etc/fstab", "home/notes"):
        (root / file).write_text("longer")
    after = read()
    assert after["/etc/fstab"] != before["/etc/fstab"]
    assert after["/home/notes"] == before["/home/notes"] == ""


def test_files_that_becalm_leaves_by_design_are_not_in_it(places, monkeypatch):
    root, read = places
    monkeypatch.setattr(snapshot, "BY_DESIGN", (f"{root}/etc/becalm", f"{root}/etc/becalm/last-restore"))
    (root / "etc/becalm").mkdir()
    (root / "etc/becalm/last-restore").write_text("Restored.")
    assert read() == {}
    (root / "etc/becalm/journal").touch()
    assert read().keys() == {"/etc/becalm/journal"}


def process(root, pid, name, *, state="S", flags=0, words=()):
    (root / str(pid)).mkdir()
    after = " ".join([state, "1", "1", "1", "0", "-1", str(flags), *["0"] * 12, str(100 * pid), "0"])
    (root / str(pid) / "stat").write_text(f"{pid} ({name}) {after}\n")
    (root / str(pid) / "status").write_text(f"Name:\t{name}\nCpus_allowed_list:\t0-{pid}\n")
    (root / str(pid) / "cmdline").write_text("\0".join(words))


def test_tasks_have_their_cpus_unless_the_kernel_decides_and_rival_services_whether_they_run(tmp_path):
    process(tmp_path, 1, "init")
    process(tmp_path, 2, "a (strange) name", state="T")
    process(tmp_path, 3, "kworker/0:0", flags=snapshot.PF_NO_SETAFFINITY)
    process(tmp_path, 4, "irq/9-acpi")
    process(tmp_path, 5, "power-profiles-", state="T", words=("/usr/libexec/power-profiles-daemon",))
    process(tmp_path, 6, "python3", words=("/usr/bin/python3", "-Es", "/usr/sbin/tuned"))
    (tmp_path / "7").mkdir()
    assert dict(snapshot.tasks(str(tmp_path))) == {
        ("task", "1 (init) started 100"): "CPUs 0-1",
        ("task", "2 (a (strange) name) started 200"): "CPUs 0-2",
        ("task", "5 (power-profiles-) started 500"): "CPUs 0-5",
        ("service", "5 (power-profiles-) started 500"): "stopped",
        ("task", "6 (python3) started 600"): "CPUs 0-6",
        ("service", "6 (python3) started 600"): "running",
    }


def test_rival_services_are_those_of_the_engine():
    text = (ROOT / "crates/becalm-core/src/facts/services.rs").read_text()
    assert set(re.findall(r'^    governs\("([^"]+)"', text, re.MULTILINE)) == snapshot.RIVALS


def test_mounts_on_one_place_are_told_apart(tmp_path, monkeypatch):
    text = (
        "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
        "25 24 0:23 / /a\\040b rw shared:1 - tmpfs none rw\n"
        "26 24 0:24 /x /a\\040b ro - ext4 /dev/vda rw\n"
    )
    monkeypatch.setattr(snapshot, "lines", lambda path: text.splitlines())
    assert dict(snapshot.mounts()) == {
        "/proc": "/ rw,relatime proc proc rw",
        "/a b": "/ rw tmpfs none rw",
        "/a b #2": "/x ro ext4 /dev/vda rw",
    }


def test_control_groups_of_systemd_are_not_in_it(monkeypatch):
    paths = ["/g", "/g/user.slice", "/g/user.slice/user-0.slice/x", "/g/becalm-7", "/g/docker/1"]
    monkeypatch.setattr(snapshot.os, "walk", lambda top: ((path, [], []) for path in paths))
    assert list(snapshot.groups()) == ["/g", "/g/becalm-7", "/g/docker/1"]
