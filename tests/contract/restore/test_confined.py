"""A directory given by `--root` may be somebody else's: whatever is in it, nothing outside is written or removed."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import stat
import subprocess
import zlib
from pathlib import Path

import pytest
from tests.support.laptop import BOOT_ID, changed, laptop, put, snapshot
from tests.support.loaders import MACHINES
from tests.support.talk import Agent
from tests.waiting import HANG_LIMIT_S

from becalm.hosts.agent import agent_path

SWAPPINESS = "proc/sys/vm/swappiness"
EVERYTHING = {
    "swappiness": 10, "irq_affinity": "1", "governor": "performance", "isolation": "first-core", "swap": "off",
    "cpu_dma_latency": 0, "services": "pause", "transparent_hugepages": "never", "workqueue_cpus": "1",
}  # fmt: skip


@pytest.fixture
def outside(tmp_path):
    """A directory next to the root, with a file, and what it must still be at the end."""
    victim = tmp_path / "outside"
    (victim / "directory").mkdir(parents=True)
    (victim / "file").write_text("whole\n")
    (victim / "directory/cpuset.cpus").write_text("whole\n")
    before = {str(path): (path.stat().st_mode, path.stat().st_nlink) for path in victim.rglob("*")}
    yield victim
    assert {str(path): (path.stat().st_mode, path.stat().st_nlink) for path in victim.rglob("*")} == before
    assert [path.read_text() for path in victim.rglob("*") if path.is_file()] == ["whole\n"] * 2


@pytest.fixture(params=[1, 2], ids=["cgroup-v1", "cgroup-v2"])
def root(request, tmp_path):
    return laptop(tmp_path / "root", cpus=4, cgroup=request.param)


def line(record) -> str:
    text = json.dumps(record, separators=(",", ":"))
    return f"{zlib.crc32(text.encode()):08x} {text}\n"


def journal(root, place, original) -> Path:
    """Write a journal with a right checksum which claims that this place had that value."""
    begin = {"record": "begin", "boot": BOOT_ID, "becalm": "0", "user": "x", "pid": 1, "title": "a trap", "at": 0}
    index = {"record": "place", "index": 0, "knob": "swappiness", "original": original, "side_effect": False}
    path = root / "var/lib/becalm/journal"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line(begin) + line({**index, "place": place}) + line({"record": "ours", "index": 0, "value": "x"}))
    return path


def restore(root, *options):
    command = [agent_path(), "restore", "--root", str(root), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_LIMIT_S)


def attack(root):
    """Do everything that reads or writes: applying, restoring, and forcing."""
    with Agent(root) as agent:
        agent.ask("knobs")
        agent.ask("status")
        for name, value in EVERYTHING.items():
            agent.ask("hold", settings={name: value}, dangerous=True)
            agent.ask("release")
        agent.ask("hold", settings={"online_cpus": "first"}, dangerous=True)
        agent.ask("restore", force=True)
    restore(root, "--force")


PLACES = {
    "dots": lambda victim: ({"kind": "file", "path": f"/../{victim.name}/file"}, "overwritten"),
    "many dots": lambda victim: ({"kind": "file", "path": f"/{'../' * 20}{str(victim)[1:]}/file"}, "overwritten"),
    "a mask": lambda victim: ({"kind": "mask", "path": f"/../{victim.name}/file"}, "f"),
    "a controller": lambda victim: ({"kind": "controller", "path": f"/../{victim.name}/file"}, "off"),
    "a swap area": lambda victim: ({"kind": "swap", "area": f"/../{victim.name}/file"}, "5"),
    "a cpuset": lambda victim: (
        {"kind": "cpuset", "path": f"/../{victim.name}/directory", "version": 1, "cpus": "0", "mems": "0",
         "gather": False},
        "absent",
    ),
    "a cpuset below ours": lambda victim: (
        {"kind": "cpuset", "path": f"/sys/fs/cgroup/cpuset/becalm-rest/../../../../../../{victim.name}/directory",
         "version": 1, "cpus": "0", "mems": "0", "gather": False},
        "absent",
    ),
    "a file of no setting": lambda victim: ({"kind": "file", "path": "/swap file"}, "overwritten"),
}  # fmt: skip


@pytest.mark.parametrize("which", PLACES)
@pytest.mark.parametrize("force", [(), ("--force",)], ids=["", "force"])
def test_a_journal_names_only_what_settings_change(root, outside, which, force):
    before = snapshot(root)
    path = journal(root, *PLACES[which](outside))
    done = restore(root, *force)
    assert done.returncode == 3
    assert "damaged in line 2, 3" in done.stderr
    assert not path.exists()
    assert list(path.parent.glob("journal.damaged-*")), "it can be looked at"
    assert changed(before, snapshot(root)) == {}


LINKS = [
    SWAPPINESS,
    "proc/irq/16/smp_affinity",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
    "sys/devices/system/cpu/cpu3/online",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "proc/swaps",
    "proc/812/stat",
    "dev/cpu_dma_latency",
    "run/becalm/lock",
    "run/becalm/holder",
    "run/becalm/interrupts",
    "run/becalm/interrupts.lock",
    "var/lib/becalm/journal",
    "var/lib/becalm/journal.new",
    "var/lib/becalm/last-restore",
]


@pytest.mark.parametrize("place", LINKS)
@pytest.mark.parametrize("kind", ["absolute link", "relative link", "second name"])
def test_a_file_that_is_a_way_out(root, outside, place, kind):
    at = root / place
    at.parent.mkdir(parents=True, exist_ok=True)
    at.unlink(missing_ok=True)
    if kind == "second name":
        os.link(outside / "file", at)
    else:
        target = outside / "file"
        at.symlink_to(target if kind == "absolute link" else os.path.relpath(target, at.parent))
    try:
        attack(root)
        assert (outside / "file").read_text() == "whole\n"
    finally:
        at.unlink(missing_ok=True)


DIRECTORIES = ["run", "run/becalm", "var/lib", "var/lib/becalm", "proc/sys/vm", "sys/fs/cgroup", "sys/fs", "proc/irq"]


@pytest.mark.parametrize("place", DIRECTORIES)
@pytest.mark.parametrize("relative", [False, True], ids=["absolute", "relative"])
def test_a_directory_that_is_a_way_out(root, outside, place, relative):
    at = root / place
    if at.exists():
        shutil.rmtree(at)
    at.parent.mkdir(parents=True, exist_ok=True)
    at.symlink_to(os.path.relpath(outside, at.parent) if relative else outside)
    attack(root)
    assert sorted(path.name for path in outside.rglob("*")) == ["cpuset.cpus", "directory", "file"]


def test_a_cpuset_of_ours_that_somebody_made_holds_more_than_ours(root, outside):
    """Only what the kernel would remove is removed: never a tree."""
    base = root / "sys/fs/cgroup"
    ours = (base / "cpuset" if (base / "cpuset").exists() else base) / "becalm-isolated"
    (ours / "below").mkdir(parents=True)
    (ours / "below/file").write_text("somebody's\n")
    attack(root)
    assert (ours / "below/file").read_text() == "somebody's\n"


def test_links_inside_are_followed(root):
    """Installed systems are full of them, absolute ones as well."""
    real = root / "elsewhere"
    (root / SWAPPINESS).rename(real)
    (root / SWAPPINESS).symlink_to("/elsewhere")
    with Agent(root) as agent:
        agent.done("hold", settings={"swappiness": 10})
        assert [path.read_text() for path in (real, root / SWAPPINESS) if path.exists()][-1] == "10\n"
        assert agent.done("release")["unsettled"] == []


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a file to somebody else")


@needs_root
@pytest.mark.parametrize("how", ["owner", "group may write", "all may write", "two names"])
def test_a_journal_of_somebody_else_is_refused(root, outside, how):
    before = snapshot(root)
    path = journal(root, {"kind": "file", "path": f"/{SWAPPINESS}"}, "59")
    if how == "owner":
        os.chown(path, pwd.getpwnam("nobody").pw_uid, -1)
    elif how == "two names":
        os.link(path, root / "second")
    else:
        path.chmod(0o664 if how == "group may write" else 0o646)
    done = restore(root, "--force")
    assert done.returncode == 3
    assert "is not becalm's" in done.stderr
    with Agent(root) as agent:
        error = agent.error("hold", settings={"swappiness": 5})
        assert "is not becalm's" in error["message"]
    (root / "second").unlink(missing_ok=True)
    assert changed(before, snapshot(root)) == {}
    assert path.exists()


@pytest.mark.parametrize("place", ["var/lib/becalm/journal", "run/becalm/lock", "run/becalm/holder"])
def test_a_pipe_in_place_of_a_file_of_becalms_is_refused(root, place):
    """Opening one would wait for somebody at its other end, for ever."""
    before = snapshot(root)
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(root / place)
    with Agent(root) as agent:
        assert place in agent.error("hold", settings={"swappiness": 5})["message"]
    assert changed(before, snapshot(root)) == {}
    assert stat.S_ISFIFO((root / place).lstat().st_mode)


@pytest.mark.parametrize("name", MACHINES)
def test_a_boot_entry_stays_inside(tmp_path, outside, name):
    """The files that a boot entry is written into lead out."""
    root = MACHINES[name](tmp_path / "root")
    for path in [*root.rglob("grubenv"), *root.rglob("custom.cfg"), *root.rglob("*.conf"), *root.rglob("Loader*")]:
        path.unlink()
        path.symlink_to(outside / "file")
    for place in ("etc/systemd/system", "var/lib/becalm"):
        shutil.rmtree(root / place, ignore_errors=True)
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).symlink_to(outside)
    with Agent(root) as agent:
        agent.ask("boot", parameters=["nosoftlockup"], limit_s=60, dangerous=True)
        agent.ask("unboot", force=True)
        agent.ask("restore", force=True)
    put(root, "proc/cmdline", "quiet")
