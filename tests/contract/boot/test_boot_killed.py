"""The agent killed, or the power cut, at any system call while an entry is written or removed: what starts next is
whole, and `restore` leaves every byte as it was."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.contract.boot.loaders import EFIVARS, MACHINES, VENDOR, restarted
from tests.contract.boot.test_boot_entry import NEXT, WORDS, Starter, env
from tests.contract.restore.laptop import changed, snapshot, strays
from tests.contract.restore.stepping import Stepped
from tests.contract.restore.talk import wait_for
from tests.needs import need

from becalm.hosts.agent import agent_path

pytestmark = pytest.mark.machine

CUTS = 50
"""Moments in each test, spread over the whole request: with three machines and three tests 450."""


@pytest.fixture(params=["debian, a person's custom.cfg", "fedora", "systemd-boot on /boot/efi"])
def root(request, tmp_path):
    return MACHINES[request.param](tmp_path / "root")


def cut(root: Path, request: str, moment: int | None, **fields: object) -> int:
    """Kill an agent that many system calls into a request, or let it finish; how many calls it made."""
    agent = Starter(root)
    try:
        traced = Stepped(agent.pid)
    except PermissionError:
        agent.close()
        pytest.skip("processes cannot be traced here (ptrace is forbidden)")
    agent.send(request, **fields)
    agent.send("bye")
    if traced.run(moment):
        traced.kill()
    agent.process.wait()
    agent.process.stdout.close()
    return traced.stops


def armed(root: Path) -> str | None:
    """The name of the entry that starts next, if it is becalm's."""
    shot = root / EFIVARS / f"LoaderEntryOneShot-{VENDOR}"
    if shot.exists() and shot.read_bytes():
        return shot.read_bytes()[4:].decode("utf-16-le").rstrip("\0")
    # A variable that is made and not written is none.
    return (env(root).get("next_entry") or None) if list(root.glob("boot/grub*/grubenv")) else None


def check_start(root: Path) -> str | None:
    """What starts next is there as a whole, with its fall-back, and it is known how to remove it. Gives its mark."""
    name = armed(root)
    if name is None:
        return None
    mark = name.removeprefix("becalm-").removesuffix(".conf")
    menus = [*root.glob("boot/grub*/custom.cfg"), *root.glob("boot/efi/loader/entries/becalm-*.conf")]
    (text,) = [text for text in (path.read_text() for path in menus) if f"becalm.boot={mark} " in text]
    assert text.endswith("\n")
    if name.endswith(".conf"):
        assert "options" in text
    else:
        assert f"### END becalm {mark} ###" in text
        (menu,) = [path for path in menus if path.name == "custom.cfg"]
        subprocess.run([need("grub-script-check"), menu], check=True)
    assert mark in (root / "etc/systemd/system/sysinit.target.wants/becalm-boot.timer").read_text()
    assert mark in (root / "etc/systemd/system/becalm-boot.service").read_text()
    assert mark in (root / "var/lib/becalm/boot").read_text()
    return mark


def restore(root: Path) -> None:
    done = subprocess.run([agent_path(), "restore", "--root", root], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def same(root: Path, before: dict, *but: str) -> None:
    after = snapshot(root)
    assert {name: held for name, held in changed(before, after).items() if name not in but} == {}
    assert strays(root) == []


def test_killed_while_it_is_written(root):
    before = snapshot(root)
    moments = cut(root, "boot", None, parameters=WORDS)
    assert check_start(root) is not None
    restore(root)
    same(root, before)
    whole = 0
    for number in range(CUTS):
        cut(root, "boot", moments * number // CUTS, parameters=WORDS)
        whole += check_start(root) is not None
        restore(root)
        same(root, before)
    assert 0 < whole < CUTS


def test_killed_while_it_is_removed(root):
    before = snapshot(root)
    cut(root, "boot", None, parameters=WORDS)
    moments = cut(root, "unboot", None)
    same(root, before)
    for number in range(CUTS):
        cut(root, "boot", None, parameters=WORDS)
        cut(root, "unboot", moments * number // CUTS)
        check_start(root)
        restore(root)
        same(root, before)


def test_the_power_cut_while_it_is_written(root):
    """Whatever was written by then, the machine starts, and afterwards all of it can be removed."""
    before = snapshot(root)
    moments = cut(root, "boot", None, parameters=WORDS)
    restore(root)
    for number in range(CUTS):
        cut(root, "boot", moments * number // CUTS, parameters=WORDS)
        mark = check_start(root)
        restarted(root, boot=f"{NEXT[:-3]}{number:03}", mark=mark, parameters=WORDS)
        assert armed(root) is None
        with Starter(root) as agent:
            wait_for(lambda agent=agent: agent.done("status")["busy"] is None)
            health = agent.done("healthy")
            assert health["ours"] == (mark is not None)
        restore(root)
        restarted(root, boot=before["proc/sys/kernel/random/boot_id"][1].decode().strip())
        # What a loader has used up it may leave there empty.
        same(root, before, "proc/cmdline")
