"""An entry for one boot on every kind of machine: what is written, that nothing else is, and that it goes again."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.places import ROOT
from tests.support.boot import NEXT, UNITS, WORDS, Starter, check_menu, custom, grub_variables
from tests.support.laptop import changed, put, snapshot, strays
from tests.support.loaders import (
    KERNELS,
    MACHINES,
    OPTIONS,
    PERSONS,
    RAN,
    debian,
    fedora,
    grubenv,
    persons,
    restarted,
    systemd_boot,
    unsetting_grub_editenv,
    variable,
)

from becalm.hosts.agent import agent_path


@pytest.fixture(params=MACHINES)
def root(request, tmp_path):
    return MACHINES[request.param](tmp_path / "root")


def journal(root: Path) -> Path:
    return root / "var/lib/becalm/boot"


def test_all_that_is_written_goes_again(root):
    before = snapshot(root)
    with Starter(root) as agent:
        armed = agent.boot(*WORDS)
        differences = changed(before, snapshot(root))
        recorded = {path.lstrip("/") for path in armed["files"]}
        directories = {str(parent) for path in recorded for parent in Path(path).parents}
        assert differences.keys() - directories <= recorded
        assert recorded <= differences.keys()
        boot = agent.done("status")["boot"]
        assert (boot["mark"], boot["parameters"]) == (armed["mark"], list(WORDS))
        assert (boot["armed"], boot["running"], boot["waiting"]) == (True, False, False)
        assert {file["state"] for file in boot["files"]} == {"ours"}
        done = agent.done("unboot")
        assert done["unsettled"] == []
        assert len(done["places"]) == len(armed["files"])
        assert done["sentence"] == "becalm's boot entry was removed."
        assert agent.done("status")["boot"] is None
        assert agent.done("unboot")["places"] == []
    assert changed(before, snapshot(root)) == {}
    assert strays(root) == []


def test_the_default_stays_and_the_kernel_gets_the_words(root):
    """Everything that was there before stays, byte for byte, but for lines at an end and a variable."""
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and "run" not in path.parts}
    with Starter(root) as agent:
        armed = agent.boot(*WORDS)
    for path, held in before.items():
        now = path.read_bytes()
        if path.name == "grubenv":
            now = now.replace(f"next_entry={armed['entry']}\n".encode(), b"").rstrip(b"#")
            held = held.replace(b"next_entry=\n", b"").rstrip(b"#")
        if path.name == "custom.cfg":
            now = now[: len(held)]
        assert now == held, path
    texts = [path.read_text() for path in root.rglob("*") if path.is_file() and path not in before]
    texts.remove(journal(root).read_text())
    texts += [custom(root)] if armed["loader"] == "GRUB" else []
    (text,) = {text for text in texts if f"becalm.boot={armed['mark']} panic=10" in text}
    lines = [line for line in text.splitlines() if re.match(r"\s*(linux|options)\s", line) and "becalm" in line]
    for line in lines:
        words = line.split()
        for word in (*WORDS, f"becalm.boot={armed['mark']}", "panic=10", "systemd.crash_reboot=1"):
            assert words.count(word) == 1, line
        assert "panic=-1" not in words
        assert any(word.startswith("root=") for word in words)
    assert len(lines) >= 1


def test_the_whole_course(root):
    """boot, restart, healthy, boot again with others, restart, and nothing is left."""
    before = snapshot(root)
    with Starter(root) as agent:
        first = agent.boot(*WORDS)
        agent.done("reboot")
        assert (root / RAN).read_text().splitlines() == ["reboot --no-block"]
    restarted(root, boot=NEXT, mark=first["mark"], parameters=WORDS)
    with Starter(root) as agent:
        boot = agent.done("status")["boot"]
        assert (boot["armed"], boot["running"], boot["waiting"]) == (False, True, True)
        health = agent.done("healthy")
        assert (health["ours"], health["mark"], health["parameters"]) == (True, first["mark"], list(WORDS))
        assert (health["sentence"], health["remarks"]) == ("", [])
        assert (root / RAN).read_text().splitlines() == ["stop becalm-boot.timer"]
        assert agent.done("status")["boot"]["waiting"] is False
        agent.done("healthy")
        second = agent.boot("isolcpus=2")
        assert second["mark"] != first["mark"]
        assert second["default"] == first["default"], "made from the machine's own entry, not from ours"
        held = [path.read_text(errors="replace") for path in (root / "boot").rglob("*") if path.is_file()]
        assert not [text for text in held if first["mark"] in text]
        agent.done("reboot")
    restarted(root, boot=NEXT[:-1] + "3", mark=second["mark"], parameters=("isolcpus=2",))
    with Starter(root) as agent:
        assert agent.done("healthy")["parameters"] == ["isolcpus=2"]
        done = agent.done("unboot")
        assert "until its next restart" in done["sentence"]
    restarted(root, boot=NEXT[:-1] + "4")
    with Starter(root) as agent:
        health = agent.done("healthy")
        assert (health["ours"], health["mark"]) == (False, None)
    after = snapshot(root)
    for name in ("proc/cmdline", "proc/sys/kernel/random/boot_id"):
        before.pop(name), after.pop(name)
    # GRUB itself leaves an empty variable where there was none when nothing is asked for any more.
    assert changed(before, after) == {}
    assert strays(root) == []


def test_a_machine_that_fell_back(root):
    with Starter(root) as agent:
        armed = agent.boot(*WORDS)
    restarted(root, boot=NEXT)
    with Starter(root) as agent:
        health = agent.done("healthy")
        assert (health["ours"], health["mark"], health["parameters"]) == (False, None, [])
        assert armed["entry"] in health["sentence"]
        assert "still" not in health["sentence"]
        assert not (root / RAN).exists(), "there is no fall-back to stop"
        boot = agent.done("status")["boot"]
        assert (boot["armed"], boot["running"], boot["waiting"]) == (False, False, False)


def test_a_loader_that_does_not_use_the_choice_up(root):
    """The mark is on the command line and the choice is still there: it would start for ever."""
    with Starter(root) as agent:
        armed = agent.boot(*WORDS)
        put(root, "proc/cmdline", f"{OPTIONS} {' '.join(WORDS)} becalm.boot={armed['mark']}")
        assert agent.done("status")["boot"]["armed"]
        health = agent.done("healthy")
        assert health["ours"]
        assert "it was removed" in health["remarks"][0]
        assert not agent.done("status")["boot"]["armed"]


def test_restore_removes_it_with_the_settings(root):
    before = snapshot(root)
    with Starter(root) as agent:
        agent.boot(*WORDS)
        agent.done("hold", settings={"swappiness": 10}, keep=True)
    done = subprocess.run([agent_path(), "restore", "--root", root], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 of 1 values" in done.stdout
    assert "becalm's boot entry was removed." in done.stdout
    assert changed(before, snapshot(root)) == {}


# --- GRUB -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [kind for kind in MACHINES if "systemd-boot" not in kind])
def test_the_entry_of_grub_starts_once_and_saves_no_default(kind, tmp_path):
    root = MACHINES[kind](tmp_path / "root")
    held = grub_variables(root)
    with Starter(root) as agent:
        armed = agent.boot(*WORDS)
    (path,) = root.glob("boot/grub*/custom.cfg")
    check_menu(path)
    assert grub_variables(root) == {**held, "next_entry": armed["entry"]}
    text = path.read_text()
    assert f"--id '{armed['entry']}'" in text
    assert "savedefault" not in text
    assert text.count("menuentry") == 1 + PERSONS.count("menuentry") * ("person" in kind)


def test_the_default_entrys_own_lines_are_copied(tmp_path):
    root = debian(tmp_path / "root", default="gnulinux-advanced-0b0e>gnulinux-6.1.0-17-amd64-0b0e")
    with Starter(root) as agent:
        armed = agent.boot(*WORDS)
    assert armed["default"] == "Debian, with Linux 6.1.0-17-amd64"
    assert armed["remarks"][0].endswith(
        "starts vmlinuz-6.1.0-17-amd64; the kernel that runs now is vmlinuz-6.1.0-18-amd64."
    )
    text = custom(root)
    for line in (
        "search --no-floppy --fs-uuid --set=root",
        "insmod part_gpt",
        f"initrd\t/boot/initrd.img-{KERNELS[1]}",
    ):
        assert line in text
    assert f"linux\t/boot/vmlinuz-{KERNELS[1]} {OPTIONS} {' '.join(WORDS)} becalm.boot=" in text


def test_a_persons_custom_cfg_without_its_last_newline(tmp_path):
    root = persons(debian(tmp_path / "root"), PERSONS.rstrip("\n"))
    before = snapshot(root)
    with Starter(root) as agent:
        agent.boot()
        assert "}\n### BEGIN becalm" in custom(root)
        mode = (root / "boot/grub/custom.cfg").stat().st_mode & 0o777
        assert mode == 0o600
        # The person goes on writing meanwhile; theirs stays, above and below.
        path = root / "boot/grub/custom.cfg"
        path.write_text(f"# above\n{path.read_text()}# below\n")
        assert agent.done("unboot")["unsettled"] == []
    assert path.read_text() == "# above\n" + PERSONS.rstrip("\n") + "# below\n"
    put(root, "boot/grub/custom.cfg", PERSONS.rstrip("\n").encode())
    assert changed(before, snapshot(root)) == {}


def test_fedoras_options_and_dracut(tmp_path):
    root = fedora(tmp_path / "root")
    with Starter(root) as agent:
        armed = agent.boot(*WORDS)
    assert armed["default"] == "Fedora Linux (6.5.6-300.fc39.x86_64) 39 (Server Edition)"
    text = custom(root)
    assert "rhgb $tuned_params isolcpus=1,3" in text
    assert "rd.shell=0 rd.emergency=reboot" in text
    assert "\tinitrd /initramfs-6.5.6-300.fc39.x86_64.img $tuned_initrd\n" in text
    assert "--unrestricted" in text
    put(root, "boot/grub2/grubenv", grubenv())
    with Starter(root) as agent:
        agent.boot()
        assert "vmlinuz-6.5.6" in custom(root), "without a saved entry the newest starts"


# --- systemd-boot -----------------------------------------------------------------------------------------------------


def test_systemd_boots_entry(tmp_path):
    root = systemd_boot(tmp_path / "root")
    (root / "sys/class/watchdog/watchdog0").mkdir(parents=True)
    with Starter(root) as agent:
        armed = agent.boot(*WORDS, limit_s=120)
    text = (root / "efi/loader/entries" / armed["entry"]).read_text()
    lines = dict(line.split(maxsplit=1) for line in text.splitlines() if not line.startswith("#"))
    assert lines["linux"] == f"/debian/{KERNELS[0]}/linux"
    assert lines["initrd"] == f"/debian/{KERNELS[0]}/initrd.img"
    assert lines["options"].startswith(f"{OPTIONS} isolcpus=1,3 ")
    assert lines["options"].endswith("systemd.watchdog_sec=60")
    assert lines["sort-key"] > "debian"
    assert "version" not in lines
    shot = next((root / "sys/firmware/efi/efivars").glob("LoaderEntryOneShot-*")).read_bytes()
    assert shot == b"\7\0\0\0" + f"{armed['entry']}\0".encode("utf-16-le")
    assert "hardware watchdog" in armed["remarks"][-1]


def test_a_default_that_nobody_has_named(tmp_path):
    root = systemd_boot(tmp_path / "root", default="")
    with Starter(root) as agent:
        armed = agent.boot(*WORDS)
        assert armed["default"] == "debian-6.1.0-18-amd64"
        variable(root, "LoaderEntrySelected", "debian-6.1.0-17-amd64.conf")
        armed = agent.boot(*WORDS)
        assert armed["default"] == "debian-6.1.0-18-amd64"
        assert armed["remarks"][0].endswith("the machine now runs with debian-6.1.0-17-amd64.")
        # bootctl set-default goes before loader.conf.
        variable(root, "LoaderEntryDefault", "debian-6.1.0-17-amd64.conf")
        assert agent.boot()["default"] == "debian-6.1.0-17-amd64"


# --- the fall-back ----------------------------------------------------------------------------------------------------


def test_the_fall_back_is_a_timer_of_that_boot_only(tmp_path):
    root = debian(tmp_path / "root")
    with Starter(root) as agent:
        armed = agent.boot(*WORDS, limit_s=90)
    timer, service = (root / UNITS / f"becalm-boot.{kind}" for kind in ("timer", "service"))
    link = root / UNITS / "sysinit.target.wants/becalm-boot.timer"
    assert link.resolve() == timer
    for unit in (timer, service):
        assert f"ConditionKernelCommandLine=becalm.boot={armed['mark']}\n" in unit.read_text()
    assert "OnBootSec=90\n" in timer.read_text()


def test_the_journal_is_a_line_that_says_everything(tmp_path):
    root = debian(tmp_path / "root")
    with Starter(root) as agent:
        armed = agent.boot(*WORDS)
    (line,) = journal(root).read_text().splitlines()
    recorded = json.loads(line.split(" ", 1)[1])
    assert recorded["begin"]["user"] == "root"
    # What for may be a command line, and everybody may read the journal.
    assert "title" not in recorded["begin"]
    title = journal(root).with_name("boot.title")
    assert (title.read_text(), title.stat().st_mode & 0o777) == ("a test", 0o600)
    assert [write["path"] for write in recorded["plan"]["writes"]] == armed["files"]
    assert recorded["plan"]["writes"][-1]["kind"] == "variable"


@pytest.mark.parametrize("kind", ["debian, a person's custom.cfg", "systemd-boot on /boot/efi"])
@pytest.mark.parametrize("default", [False, True])
def test_by_hand(kind, default, tmp_path):
    """The commands of docs/how-to/reboot.md remove what is in files, of an entry that stays, too."""
    programs = {**os.environ, "PATH": f"{unsetting_grub_editenv(tmp_path / 'bin')}:{os.environ['PATH']}"}
    root = MACHINES[kind](tmp_path / "root")
    before = snapshot(root)
    with Starter(root) as agent:
        mark = agent.boot(*WORDS)["mark"]
    if default:
        restarted(root, boot=NEXT, mark=mark, parameters=WORDS)
        with Starter(root) as agent:
            agent.done("healthy")
            agent.done("keep_boot", parameters=list(WORDS))
        restarted(root, boot=before["proc/sys/kernel/random/boot_id"][1].decode().strip())
    text = (ROOT / "docs/how-to/reboot.md").read_text()
    (block,) = re.findall(r"## By hand\n.*?```sh\n(.*?)```", text, re.DOTALL)
    for line in block.splitlines():
        command = line.split("  #")[0].strip()
        # The others act on the running machine.
        if not command.startswith(("systemctl", "bootctl", "reboot")):
            there = re.sub(r"(?<= )/", f"{root}/", command)
            subprocess.run(["sh", "-c", there], env=programs, capture_output=True, check=False)
    # An empty directory of links means nothing to systemd.
    left = changed(before, snapshot(root)).keys() - {"proc/cmdline", f"{UNITS}/multi-user.target.wants"}
    assert not [name for name in left if "LoaderEntryOneShot" not in name and "efivars" not in name]
    assert strays(root) == []
