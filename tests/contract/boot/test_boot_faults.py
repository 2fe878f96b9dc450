"""Machines whose next start cannot be chosen, and what goes wrong on the others: a sentence, and nothing changed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.needs import need
from tests.support.boot import NEXT, WORDS, Starter, custom
from tests.support.laptop import changed, put, snapshot, strays
from tests.support.loaders import (
    EFIVARS,
    PERSONS,
    VENDOR,
    debian,
    fedora,
    grubenv,
    menu,
    persons,
    restarted,
    systemd,
    systemd_boot,
    variable,
)
from tests.support.talk import Agent

from becalm.hosts.agent import agent_path

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount")

GRUB_CFG = "boot/grub/grub.cfg"
GRUBENV = "boot/grub/grubenv"
CUSTOM_CFG = "boot/grub/custom.cfg"


def mounts(root: Path, *lines: str) -> None:
    put(root, "proc/self/mountinfo", "\n".join(lines))


def on(kind: str, device: str = "8:1") -> str:
    return f"22 1 {device} / / rw shared:1 - {kind} /dev/x rw"


def lvm(root: Path) -> None:
    mounts(root, on("ext4", "253:0"))
    put(root, "sys/dev/block/253:0/dm/uuid", "LVM-abc")


def raid(root: Path) -> None:
    mounts(root, on("ext4", "9:0"))
    (root / "sys/dev/block/9:0/md").mkdir(parents=True)


def edit(root: Path, path: str, old: str, new: str) -> None:
    text = (root / path).read_text()
    assert old in text
    (root / path).write_text(text.replace(old, new))


UNSUITABLE = {
    "lvm": (lvm, "a logical volume (LVM), where GRUB cannot write"),
    "raid": (raid, "a software RAID"),
    "btrfs": (lambda root: mounts(root, on("btrfs", "0:35")), "is on btrfs"),
    "zfs": (lambda root: mounts(root, on("zfs", "0:35")), "is on zfs"),
    "no mounts": (lambda root: (root / "proc/self/mountinfo").unlink(), "on which file system"),
    "no block": (lambda root: (root / GRUBENV).unlink(), "grub-editenv /boot/grub/grubenv create"),
    "a cut block": (lambda root: put(root, GRUBENV, b"# GRUB Environment Block\n"), "not an environment block"),
    "another choice": (lambda root: put(root, GRUBENV, grubenv("next_entry=2")), "somebody has already chosen"),
    "no custom.cfg": (lambda root: put(root, GRUB_CFG, menu(custom=False)), "does not read custom.cfg"),
    "no one-shot": (lambda root: edit(root, GRUB_CFG, "next_entry", "older"), "never asks for a choice"),
    "a password": (
        lambda root: edit(root, GRUB_CFG, "### BEGIN /etc/grub.d/40", 'set superusers="ada"\n### BEGIN /etc/grub.d/40'),
        "asks for a password",
    ),
    "a default of custom.cfg": (lambda root: persons(root, f"set default=rescue\n{PERSONS}"), "would undo"),
    "custom.cfg elsewhere": (lambda root: (root / CUSTOM_CFG).symlink_to("/tmp/x"), "not a plain file"),
    "custom.cfg in another encoding": (lambda root: put(root, CUSTOM_CFG, b"# \xe9t\xe9\n"), "not text in UTF-8"),
    "an entry that is gone": (lambda root: edit(root, GRUB_CFG, 'default="0"', 'default="old"'), "is not in the menu"),
    "another system": (lambda root: edit(root, GRUB_CFG, "\tlinux\t", "\tchainloader\t"), "does not start a Linux"),
    "a kernel that is gone": (lambda root: (root / "boot/vmlinuz-6.1.0-18-amd64").unlink(), "is not there"),
    "an open brace": (
        lambda root: edit(root, GRUB_CFG, "}\n### END /etc/grub.d/10", "### END"),
        "cannot be understood",
    ),
    "no systemd": (lambda root: (root / "run/systemd/system").rmdir(), "systemd does not run here"),
    "a container": (lambda root: put(root, "run/.containerenv", ""), "this is a container"),
    "started without GRUB": (lambda root: put(root, "proc/cmdline", "root=/dev/vda"), "neither GRUB nor systemd-boot"),
}


@pytest.mark.parametrize("case", UNSUITABLE)
def test_grub_machines_that_are_refused(case, tmp_path):
    root = debian(tmp_path / "root")
    prepare, message = UNSUITABLE[case]
    prepare(root)
    before = snapshot(root)
    with Starter(root) as agent:
        error = agent.error("boot", parameters=WORDS)
        assert error["kind"] == "unsupported"
        assert message in error["message"]
        assert error["message"].startswith("The next start of this machine cannot be chosen: ")
        assert agent.done("status")["boot"] is None
    assert changed(before, snapshot(root)) == {}
    assert strays(root) == []


def test_machines_without_a_loader(tmp_path):
    root = systemd(tmp_path / "root")
    before = snapshot(root)
    with Starter(root) as agent:
        assert "neither GRUB nor systemd-boot" in agent.error("boot", parameters=WORDS)["message"]
    assert changed(before, snapshot(root)) == {}


def test_a_password_that_the_default_entry_does_not_ask_for(tmp_path):
    root = debian(tmp_path / "root")
    edit(root, GRUB_CFG, "--class os", "--class os --unrestricted")
    edit(root, GRUB_CFG, "### BEGIN /etc/grub.d/40", 'set superusers="ada"\n### BEGIN /etc/grub.d/40')
    with Starter(root) as agent:
        agent.boot(*WORDS)
    assert "--unrestricted {" in custom(root)


def test_fedora_whose_entry_is_locked(tmp_path):
    root = fedora(tmp_path / "root")
    put(root, "boot/grub2/user.cfg", "GRUB2_PASSWORD=grub.pbkdf2.sha512.1")
    with Starter(root) as agent:
        agent.boot()
        agent.done("unboot")
        for path in root.glob("boot/loader/entries/*.conf"):
            path.write_text(path.read_text().replace("grub_arg --unrestricted\n", ""))
        assert "asks for a password" in agent.error("boot", parameters=WORDS)["message"]


FIRMWARE = {
    "another choice": (lambda root: variable(root, "LoaderEntryOneShot", "other.conf"), "somebody has already chosen"),
    "too old": (lambda root: variable(root, "LoaderFeatures", b"\7" + bytes(7)), "too old"),
    "nothing mounted": (lambda root: (root / "efi/loader/entries").rename(root / "efi/away"), "there are no entries"),
    "no kernel": (lambda root: (root / "efi/debian/6.1.0-18-amd64/linux").unlink(), "is not in /efi"),
    "no default, old": (
        lambda root: (
            variable(root, "LoaderInfo", "systemd-boot 247"),
            put(root, "efi/loader/loader.conf", "timeout 3"),
        ),
        "bootctl set-default",
    ),
    "a default of any name": (
        lambda root: (
            put(root, "efi/loader/loader.conf", "default *"),
            [path.write_text(path.read_text().replace("sort-key", "#")) for path in root.glob("efi/loader/entries/*")],
        ),
        "bootctl set-default",
    ),
    "an image": (
        lambda root: [path.write_text("efi /EFI/Linux/x.efi\n") for path in root.glob("efi/loader/entries/*")],
        "has its options inside",
    ),
}


@pytest.mark.parametrize("case", FIRMWARE)
def test_systemd_boot_machines_that_are_refused(case, tmp_path):
    root = systemd_boot(tmp_path / "root")
    prepare, message = FIRMWARE[case]
    prepare(root)
    before = snapshot(root)
    with Starter(root) as agent:
        error = agent.error("boot", parameters=WORDS)
        assert (error["kind"], message in error["message"]) == ("unsupported", True), error
    assert changed(before, snapshot(root)) == {}


# --- what may be asked ------------------------------------------------------------------------------------------------


def test_consent_rights_and_words(tmp_path):
    root = debian(tmp_path / "root")
    before = snapshot(root)
    with Agent(root) as agent:
        for request in ({"do": "boot", "parameters": []}, {"do": "reboot"}):
            error = agent.error(**request)
            assert (error["kind"], "--allow-reboot" in error["message"]) == ("consent", True)
    with Starter(root) as agent:
        for words, kind in (
            (["init=/bin/sh"], "usage"),
            (["root=/dev/sdb1"], "usage"),
            (["isolcpus=1 init=/bin/sh"], "domain"),
            (["isolcpus=9"], "domain"),
            (["isolcpus=0-3"], "domain"),
            (["isolcpus=1", "isolcpus=2"], "usage"),
            (["idle=poll"], "consent"),
        ):
            assert agent.error("boot", parameters=words)["kind"] == kind, words
        assert agent.error("boot", parameters=[], limit_s=5)["kind"] == "domain"
        assert agent.error("boot", parameters=[], limit_s=-1)["kind"] == "protocol"
        assert changed(before, snapshot(root)) == {}
        agent.boot("idle=poll", dangerous=True)
        assert " idle=poll " in custom(root)


def test_another_becalm_has_the_machine(tmp_path):
    root = debian(tmp_path / "root")
    with Agent(root) as other, Starter(root) as agent:
        other.done("hold", settings={"swappiness": 10})
        assert agent.error("boot", parameters=WORDS)["kind"] == "busy"
        assert agent.error("reboot")["kind"] == "busy"
        other.done("release")
        # One's own settings are no obstacle; a restart restores them first.
        agent.done("hold", settings={"swappiness": 10})
        agent.boot(*WORDS)
        agent.done("reboot")
        assert (root / "proc/sys/vm/swappiness").read_text() == "60\n"


# --- what can go wrong in between -------------------------------------------------------------------------------------


def mount(*arguments: object) -> None:
    done = subprocess.run([need("mount"), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"mounting is not possible here: {done.stderr.strip()}")


@needs_root
@pytest.mark.parametrize("place", ["boot/grub", "etc/systemd/system", "boot/efi", EFIVARS])
def test_read_only(place, tmp_path):
    root = debian(tmp_path / "root") if place.startswith(("boot/grub", "etc")) else None
    root = root or systemd_boot(tmp_path / "root", partition="boot/efi")
    before = snapshot(root)
    mount("--bind", root / place, root / place)
    try:
        mount("-o", "remount,bind,ro", root / place)
        with Starter(root) as agent:
            error = agent.error("boot", parameters=WORDS)
            assert error["kind"] == "refused"
            assert "Everything was restored, and the next start uses the usual boot entry." in error["message"]
            assert agent.done("status")["boot"] is None
    finally:
        subprocess.run(["umount", root / place], check=True)
    assert changed(before, snapshot(root)) == {}
    assert strays(root) == []


@needs_root
@pytest.mark.parametrize("place", ["boot/efi", "var/lib/becalm"])
def test_a_full_disk(place, tmp_path):
    root = systemd_boot(tmp_path / "root", partition="boot/efi")
    (root / "var/lib/becalm").mkdir()
    held = {path.relative_to(root / place): path.read_bytes() for path in (root / place).rglob("*") if path.is_file()}
    mount("-t", "tmpfs", "-o", "size=64k", "none", root / place)
    try:
        for name, data in held.items():
            (root / place / name).parent.mkdir(parents=True, exist_ok=True)
            (root / place / name).write_bytes(data)
        before = snapshot(root)
        filler = root / place / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(512)):
                    pass
            except OSError:
                pass
        with Starter(root) as agent:
            error = agent.error("boot", parameters=WORDS)
            assert error["kind"] == ("journal" if "becalm" in place else "refused")
            assert "No space left" in error["message"]
            filler.unlink()
            assert changed(before, snapshot(root)) == {}
            agent.boot(*WORDS)
            agent.done("unboot")
            assert changed(before, snapshot(root)) == {}
    finally:
        subprocess.run(["umount", root / place], check=True)


@pytest.mark.parametrize("path", ["etc/systemd/system/becalm-boot.timer", "etc/systemd/system/becalm-boot.service"])
def test_a_file_of_ours_that_nobody_has_recorded(path, tmp_path):
    root = debian(tmp_path / "root")
    put(root, path, "[Unit]")
    before = snapshot(root)
    with Starter(root) as agent:
        error = agent.error("boot", parameters=WORDS)
        assert (error["kind"], "it is there already" in error["message"]) == ("refused", True)
    assert changed(before, snapshot(root)) == {}


# --- what others do meanwhile -----------------------------------------------------------------------------------------


def restore(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([agent_path(), "restore", "--root", root, *options], capture_output=True, text=True)


@pytest.mark.parametrize("path", [CUSTOM_CFG, "etc/systemd/system/becalm-boot.timer"])
def test_somebody_has_edited_what_is_ours(path, tmp_path):
    root = persons(debian(tmp_path / "root"))
    before = snapshot(root)
    with Starter(root) as agent:
        agent.boot(*WORDS)
        edit(root, path, "becalm.boot=", "quiet becalm.boot=")
        assert "changed" in {file["state"] for file in agent.done("status")["boot"]["files"]}
        done = agent.done("unboot")
        assert [place["fate"] for place in done["places"]].count("foreign") == 1
        (sentence,) = done["unsettled"]
        assert "somebody else changed it, so it was left alone" in sentence
        # The choice for the next start is gone all the same.
        assert not agent.done("status")["boot"]["armed"]
        assert agent.error("boot", parameters=WORDS)["kind"] == "unsettled"
    assert restore(root).returncode == 3
    done = restore(root, "--force")
    assert (done.returncode, done.stderr) == (0, "")
    assert changed(before, snapshot(root)) == {}


def test_files_that_others_have_removed(tmp_path):
    root = debian(tmp_path / "root")
    before = snapshot(root)
    with Starter(root) as agent:
        armed = agent.boot(*WORDS)
        for path in armed["files"]:
            if "grubenv" not in path:
                (root / path.lstrip("/")).unlink()
        done = agent.done("unboot")
        assert done["unsettled"] == []
    assert changed(before, snapshot(root)) == {}


def test_somebody_chooses_another_entry_meanwhile(tmp_path):
    root = debian(tmp_path / "root")
    with Starter(root) as agent:
        agent.boot(*WORDS)
        put(root, GRUBENV, grubenv("next_entry=2"))
        done = agent.done("unboot")
        assert [place["place"] for place in done["places"] if place["fate"] == "foreign"] == ["/boot/grub/grubenv"]
        assert (root / GRUBENV).read_bytes() == grubenv("next_entry=2")


def test_a_damaged_record(tmp_path):
    root = debian(tmp_path / "root")
    with Starter(root) as agent:
        agent.boot(*WORDS)
        record = root / "var/lib/becalm/boot"
        held = record.read_bytes()
        record.write_bytes(held.replace(b"isolcpus", b"isolcpuz", 1))
        assert agent.done("status")["boot"] == {"damaged": str(record)}
        for request in ("unboot", "restore", "healthy"):
            error = agent.error(request)
            assert (error["kind"], str(record) in error["message"]) == ("unsettled", True)
        record.write_bytes(held)
        assert agent.done("unboot")["unsettled"] == []


def test_the_service_at_the_machines_start(tmp_path):
    """On becalm's boot the entry stays, since a study goes on; on any other it goes by itself."""
    root = debian(tmp_path / "root")
    before = snapshot(root)
    with Starter(root) as agent:
        armed = agent.boot(*WORDS)
    restarted(root, boot=NEXT, mark=armed["mark"], parameters=WORDS)
    assert restore(root, "--at-start").returncode == 0
    with Starter(root) as agent:
        assert agent.done("status")["boot"]["running"]
    restarted(root, boot=NEXT)
    done = restore(root, "--at-start")
    assert (done.returncode, done.stdout) == (0, "becalm's boot entry was removed.\n")
    put(root, "proc/sys/kernel/random/boot_id", before["proc/sys/kernel/random/boot_id"][1].decode().strip())
    assert changed(before, snapshot(root)).keys() <= {"proc/cmdline"}


def test_status_reports_each_step_of_a_boot(tmp_path, becalm, monkeypatch):
    """Run the whole command at each step of a boot."""
    monkeypatch.setenv("COLUMNS", "200")
    root = debian(tmp_path / "root")

    def says(*options: str) -> str:
        done = becalm("status", *options, root=root)
        assert done.returncode == 0, done.stderr
        return done.stdout

    with Starter(root) as agent:
        armed = agent.boot(*WORDS, limit_s=300)
    text = says()
    assert (
        "The next start of this machine, and only that, uses becalm's boot entry: isolcpus=1,3 nohz_full=1,3." in text
    )
    assert "Remove it: becalm reset" in text
    assert json.loads(says("--json"))["boot"]["files"][0] == {"path": armed["files"][0], "state": "ours"}
    restarted(root, boot=NEXT, mark=armed["mark"], parameters=WORDS)
    text = says()
    assert "This machine runs becalm's boot entry, " in text
    assert "until its next restart." in text
    assert "It restarts by itself 5.0 min after its start, unless becalm comes back to it before." in text
    with Starter(root) as agent:
        agent.done("healthy")
        assert "It restarts by itself" not in says()
        agent.done("unboot")
    assert "This machine runs becalm's boot entry that was removed since, until its next restart." in says()
    restarted(root, boot=NEXT)
    assert says() == "The machine is as it was: becalm has applied no settings.\n"
    shot = root / EFIVARS / f"LoaderEntryOneShot-{VENDOR}"
    assert not shot.exists()
