"""An entry that stays: each start that goes well chooses the next; whatever goes wrong, the usual one starts."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.samples import samples
from tests.support.boot import NEXT, UNITS, WORDS, Starter, about, armed, custom, cut, reset, same
from tests.support.laptop import changed, put, snapshot, strays
from tests.support.loaders import (
    KERNELS,
    MACHINES,
    OPTIONS,
    came_up,
    debian,
    entry,
    grubenv,
    kernels,
    restarted,
    systemd_boot,
)
from tests.support.stepping import cuts

import becalm as api
from becalm.errors import BootError, RefusedError, UsageError
from becalm.nouns.settings import Settings
from becalm.profiles import Profile

SERVICE = f"{UNITS}/becalm-kept.service"
LINK = f"{UNITS}/multi-user.target.wants/becalm-kept.service"
OFF = Profile("mine", Settings.of({"watchdogs_boot": "off", "swappiness": 10}))
OFF_WORDS = ("nowatchdog", "nosoftlockup", "nmi_watchdog=0")


@pytest.fixture(params=MACHINES)
def root(request, tmp_path):
    return MACHINES[request.param](tmp_path / "root")


def once(root: Path, *words: str, boot: str = NEXT) -> str:
    """Put the machine into a boot of becalm's that is found healthy, and return its mark."""
    with Starter(root) as agent:
        mark = agent.boot(*(words or WORDS))["mark"]
    restarted(root, boot=boot, mark=mark, parameters=words or WORDS)
    with Starter(root) as agent:
        assert agent.done("healthy")["ours"]
    return mark


def keep(root: Path, *words: str) -> str:
    """Keep a boot of becalm's for every start, and return its mark."""
    mark = once(root, *words)
    with Starter(root) as agent:
        agent.done("keep_boot", parameters=list(words or WORDS))
    return mark


def as_before(root: Path, before: dict) -> None:
    """Check that after a usual restart every byte is as before, but for what the restart itself changes."""
    restarted(root, boot=before["proc/sys/kernel/random/boot_id"][1].decode().strip())
    same(root, before, "proc/cmdline")


def test_every_start_is_becalms_as_long_as_each_goes_well(root):
    before = snapshot(root)
    mark = keep(root)
    state = about(root)
    assert (state["kept"], state["armed"], state["running"], state["waiting"]) == (True, True, True, False)
    assert {file["state"] for file in state["files"]} == {"ours"}
    assert not list((root / UNITS).rglob("becalm-boot.*")), "nobody comes to a kept boot: nothing may restart it"
    for number in (3, 4):
        restarted(root, boot=f"{NEXT[:-1]}{number}", mark=mark, parameters=WORDS)
        assert armed(root) is None, "the loader uses the choice up before it starts the kernel"
        assert about(root)["waiting"] is False
        came_up(root)
        assert mark in armed(root)
        assert (about(root)["kept"], about(root)["armed"]) == (True, True)
    reset(root)
    as_before(root, before)


def test_a_start_that_does_not_go_well_is_the_last_one(root, becalm):
    """A panic, a hang, the power cut while it starts: no unit has chosen the entry again."""
    before = snapshot(root)
    mark = keep(root)
    restarted(root, boot=f"{NEXT[:-1]}3", mark=mark, parameters=WORDS)
    restarted(root, boot=f"{NEXT[:-1]}4")
    came_up(root)
    assert armed(root) is None
    state = about(root)
    assert (state["kept"], state["armed"], state["running"]) == (True, False, False)
    output = becalm("status", root=root).stdout
    assert "but one did not go well" in " ".join(output.split())
    # The service at the machine's start removes it then; on a boot of the entry's it lets it be.
    reset(root, "--at-start")
    as_before(root, before)


def test_the_service_lets_a_kept_boot_be(root):
    mark = keep(root)
    restarted(root, boot=f"{NEXT[:-1]}3", mark=mark, parameters=WORDS)
    reset(root, "--at-start")
    came_up(root)
    assert mark in armed(root)


def test_settings_of_a_lost_connection_are_restored_and_the_entry_stays(tmp_path):
    root = debian(tmp_path / "root")
    mark = keep(root)
    with Starter(root) as agent:
        agent.done("hold", settings={"swappiness": 10}, keep=True)
    with Starter(root) as agent:
        assert agent.done("restore", entry=False)["unsettled"] == []
        assert agent.done("status")["journal"] is None
    assert mark in armed(root)
    assert about(root)["kept"]


def test_only_this_boot_with_exactly_these_words_and_healthy_is_kept(root):
    def refused(*words: str) -> str:
        before = snapshot(root)
        with Starter(root) as agent:
            error = agent.error("keep_boot", parameters=list(words))
        assert error["kind"] == "unsupported"
        assert changed(before, snapshot(root)) == {}
        return error["message"]

    assert "becalm has no entry" in refused(*WORDS)
    with Starter(root) as agent:
        mark = agent.boot(*WORDS)["mark"]
    assert "does not run by becalm's entry" in refused(*WORDS)
    restarted(root, boot=NEXT, mark=mark, parameters=WORDS[:1])
    assert "it has isolcpus=1,3 nohz_full=1,3, not what was requested" in refused(WORDS[0])
    assert "lacks nohz_full=1,3" in refused(*WORDS)
    restarted(root, boot=NEXT, mark=mark, parameters=WORDS)
    assert "it was not found healthy yet" in refused(*WORDS)
    with Starter(root) as agent:
        agent.done("healthy")
    tools = [path for place in ("usr/bin", "usr/sbin") for path in (root / place).glob("*") if path.is_file()]
    held = {path: path.read_bytes() for path in tools}
    for path in tools:
        path.unlink()
    assert "is not installed" in refused(*WORDS)
    for path, data in held.items():
        path.write_bytes(data)
    with Starter(root) as agent:
        agent.done("keep_boot", parameters=list(reversed(WORDS)))
        agent.done("keep_boot", parameters=list(WORDS))
    assert about(root)["armed"]
    with Starter(root, reboot=False) as agent:
        assert agent.error("keep_boot", parameters=list(WORDS))["kind"] == "consent"


def test_another_entry_is_refused_while_one_is_kept(root):
    before = snapshot(root)
    mark = keep(root)
    for running in (mark, None):
        with Starter(root) as agent:
            error = agent.error("boot", parameters=["isolcpus=2"])
            assert error["kind"] == "unsupported"
            assert "Restore that first: becalm reset" in error["message"]
        restarted(root, boot=f"{NEXT[:-1]}3", mark=running, parameters=WORDS)
        if running:
            came_up(root)
    # After a start that was not its own nothing chooses it any more, so that it is in nobody's way.
    with Starter(root) as agent:
        agent.boot("isolcpus=2")
    reset(root)
    as_before(root, before)


def test_somebodys_own_choice_for_one_start_goes_first(tmp_path):
    root = debian(tmp_path / "root")
    keep(root)
    put(root, "boot/grub/grubenv", grubenv("next_entry=2"))
    state = about(root)
    assert (state["kept"], state["armed"]) == (True, False)
    with Starter(root) as agent:
        done = agent.done("unboot")
        assert [place["place"] for place in done["places"] if place["fate"] == "foreign"] == ["/boot/grub/grubenv"]
    assert (root / "boot/grub/grubenv").read_bytes() == grubenv("next_entry=2")


@pytest.mark.parametrize("kind", ["debian", "fedora", "systemd-boot on /efi"])
def test_a_newer_kernel_is_reported(kind, tmp_path, becalm):
    """The entry names a kernel: it goes on starting that one while its file is there."""
    root = MACHINES[kind](tmp_path / "root")
    keep(root)
    assert about(root)["default_kernel"] is None
    if kind == "debian":
        kernels(root, "6.1.0-19-amd64")
        path = root / "boot/grub/grub.cfg"
        text = path.read_text()
        first = text.index("menuentry 'Debian GNU/Linux'")
        newer = entry("Debian GNU/Linux", "gnulinux-simple-0b0e", "6.1.0-19-amd64")
        path.write_text(text[:first] + newer + text[text.index("submenu 'Advanced") :])
    elif kind == "fedora":
        machine = "5c2f3b8e0a1d4e6f9b7c8d9e0f1a2b3c"
        old = f"boot/loader/entries/{machine}-6.5.6-300.fc39.x86_64.conf"
        newer = (root / old).read_text().replace("6.5.6-300", "6.5.7-200")
        put(root, old.replace("6.5.6-300", "6.5.7-200"), newer)
        env = (root / "boot/grub2/grubenv").read_bytes().replace(b"6.5.6-300", b"6.5.7-200")
        (root / "boot/grub2/grubenv").write_bytes(env)
    else:
        old = root / f"efi/loader/entries/debian-{KERNELS[0]}.conf"
        newer = old.read_text().replace(KERNELS[0], "6.1.0-19-amd64")
        (old.parent / "debian-6.1.0-19-amd64.conf").write_text(newer)
    state = about(root)
    assert state["default_kernel"] not in (None, state["kernel"])
    message = " ".join(becalm("status", root=root).stdout.split())
    assert f"It starts {state['kernel']}; by default the machine would start {state['default_kernel']}." in message
    reset(root)


def test_a_kept_boot_is_chosen_by_a_unit_at_each_start(tmp_path):
    root = debian(tmp_path / "root")
    mark = keep(root)
    unit = (root / SERVICE).read_text()
    assert f"ConditionKernelCommandLine=becalm.boot={mark}\n" in unit
    assert f"ExecStart=/usr/bin/grub-editenv /boot/grub/grubenv set next_entry=becalm-{mark}\n" in unit
    assert (root / LINK).resolve() == (root / SERVICE)
    # A kernel that is gone from the disk: GRUB restarts the machine, and nothing has chosen the entry for that start.
    assert "\tif boot; then true; else reboot; fi\n}" in custom(root)
    whole = root / "boot/grub/grub.cfg"
    assert "becalm" not in whole.read_text()


def test_systemd_boots_own_tool(tmp_path):
    root = systemd_boot(tmp_path / "root")
    mark = keep(root)
    assert f"ExecStart=/usr/bin/bootctl set-oneshot becalm-{mark}.conf\n" in (root / SERVICE).read_text()
    assert not list((root / "sys/firmware/efi/efivars").glob("LoaderEntryDefault*")), "the default is not touched"


@pytest.mark.parametrize("path", [SERVICE, LINK])
def test_a_file_in_the_way(path, tmp_path):
    root = debian(tmp_path / "root")
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    before = snapshot(root)
    once(root)
    put(root, path, "somebody's")
    with Starter(root) as agent:
        error = agent.error("keep_boot", parameters=list(WORDS))
        assert (error["kind"], f"/{path} cannot be written" in error["message"]) == ("refused", True)
        assert not agent.done("status")["boot"]["kept"]
    assert armed(root) is None
    assert (root / path).read_text() == "somebody's\n"
    (root / path).unlink()
    reset(root)
    as_before(root, before)


def test_somebody_has_edited_the_unit(tmp_path):
    root = debian(tmp_path / "root")
    before = snapshot(root)
    keep(root)
    text = (root / SERVICE).read_text()
    (root / SERVICE).write_text(text.replace("Type=oneshot", "Type=simple"))
    assert {file["path"]: file["state"] for file in about(root)["files"]}[f"/{SERVICE}"] == "changed"
    with Starter(root) as agent:
        done = agent.done("unboot")
        assert [place["fate"] for place in done["places"]].count("foreign") == 1
    assert armed(root) is None, "the next start uses the usual entry nevertheless"
    reset(root, "--force")
    as_before(root, before)


CUTS = samples(8, 40)
"""The number of moments, spread over the whole request."""


@pytest.mark.parametrize("kind", ["debian, a person's custom.cfg", "systemd-boot on /boot/efi"])
def test_killed_or_without_power_while_it_is_kept(kind, tmp_path):
    """Cut at any moment: the entry that starts next, if any, has its unit and no fall-back; all can be removed."""
    root = MACHINES[kind](tmp_path / "root")
    before = snapshot(root)
    once(root)
    moments = cut(root, "keep_boot", None, parameters=WORDS)
    reset(root)
    as_before(root, before)
    chosen = 0
    for number, moment in enumerate(cuts(moments, CUTS)):
        mark = once(root)
        cut(root, "keep_boot", moment, parameters=WORDS)
        if armed(root) is not None:
            chosen += 1
            assert mark in armed(root)
            assert mark in (root / LINK).read_text()
            assert not list((root / UNITS).rglob("becalm-boot.*"))
            assert mark in (root / "var/lib/becalm/boot").read_text()
        if number % 2:
            # The agent alone was killed: asked again, it is kept.
            with Starter(root) as agent:
                agent.done("keep_boot", parameters=list(WORDS))
            assert {file["state"] for file in about(root)["files"]} == {"ours"}
            restarted(root, boot=f"{NEXT[:-1]}3", mark=mark, parameters=WORDS)
            came_up(root)
            assert armed(root) is not None
        reset(root)
        as_before(root, before)
    assert 0 < chosen < CUTS
    assert strays(root) == []


# --- the verb ---------------------------------------------------------------------------------------------------------


def watchdogs(root: Path, value: str) -> None:
    for name in ("watchdog", "soft_watchdog", "nmi_watchdog"):
        put(root, f"proc/sys/kernel/{name}", value)


def on(root: Path, **options: object) -> api.ApplyResult:
    return api.apply(OFF, root=str(root), boot=True, dangerous=True, **options)


@pytest.mark.parametrize("kind", ["debian", "systemd-boot on /efi"])
def test_apply_boot_step_by_step(kind, tmp_path):
    """Dry run, once, kept, and off: the same command each time, until it is there."""
    root = MACHINES[kind](tmp_path / "root")
    watchdogs(root, "1")
    before = snapshot(root)
    done = on(root, dry_run=True)
    assert [(change.place, change.after, change.changes) for change in done.changes] == [
        ("/proc/cmdline", " ".join(OFF_WORDS), True)
    ]
    assert [exclusion.knob for exclusion in done.skipped] == ["swappiness"]
    assert changed(before, snapshot(root)) == {}
    with pytest.raises(UsageError, match="First apply them without --keep"):
        on(root, keep=True)
    assert changed(before, snapshot(root)) == {}
    done = on(root)
    assert (done.boot.state, done.boot.parameters, done.boot.limit_s) == ("armed", OFF_WORDS, 600)
    mark = about(root)["mark"]
    restarted(root, boot=NEXT, mark=mark, parameters=OFF_WORDS)
    with pytest.raises(BootError, match=r"nowatchdog nosoftlockup nmi_watchdog=0 was given, but .* is still on"):
        on(root, keep=True)
    assert not about(root)["kept"]
    watchdogs(root, "0")
    assert on(root).boot.state == "on"
    assert on(root, keep=True).boot.state == "kept"
    assert on(root).boot.state == "kept"
    with pytest.raises(RefusedError, match="becalm reset"):
        api.apply(Profile("other", Settings.of({"idle": "halt"})), root=str(root), boot=True, dangerous=True)
    restarted(root, boot=f"{NEXT[:-1]}3", mark=mark, parameters=OFF_WORDS)
    came_up(root)
    assert api.status(root=str(root)).boot.permanent
    assert api.reset(root=str(root)).unsettled == ()
    watchdogs(root, "1")
    as_before(root, before)


def test_apply_boot_refuses_invalid_profiles_and_options(tmp_path):
    root = debian(tmp_path / "root")
    before = snapshot(root)
    live = Profile("live", Settings.of({"aslr": "off", "swappiness": 10}))
    message = "No setting of live is set at boot here. aslr, swappiness: not set at boot, but without --boot."
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        api.apply(live, root=str(root), boot=True)
    with pytest.raises(UsageError, match="not for one program"):
        api.apply(OFF, ["true"], root=str(root), boot=True)
    with pytest.raises(UsageError, match="--keep applies only to boot settings: add --boot"):
        api.apply(OFF, root=str(root), keep=True)
    with pytest.raises(UsageError, match="--dangerous"):
        api.apply(OFF, root=str(root), boot=True)
    watchdogs(root, "1")
    with pytest.raises(UsageError, match="does not reboot"):
        on(root, allow_reboot=True)
    for path in ("watchdog", "soft_watchdog", "nmi_watchdog"):
        held = before.get(f"proc/sys/kernel/{path}")
        if held is None:
            (root / "proc/sys/kernel" / path).unlink()
        else:
            (root / "proc/sys/kernel" / path).write_bytes(held[1])
    assert changed(before, snapshot(root)) == {}


def test_the_command_reports_each_step_of_a_kept_boot(tmp_path, becalm):
    root = debian(tmp_path / "root")
    watchdogs(root, "0")

    def says(*words: str) -> str:
        done = becalm(*words, stdin="", root=root)
        assert done.returncode == 0, done.stderr
        return " ".join(done.stdout.split())

    line = ("apply", "--boot", "--dangerous", "--set", "watchdogs_boot=off")
    text = says(*line)
    assert "The next start of this machine, and only that, uses nowatchdog nosoftlockup nmi_watchdog=0" in text
    assert "10.0 min after its start" in text
    restarted(root, boot=NEXT, mark=about(root)["mark"], parameters=OFF_WORDS)
    assert "Applied until the next restart of this machine: nowatchdog" in says(*line)
    assert "Applied at every start of this machine: nowatchdog" in says(*line, "--keep")
    text = says("status")
    command = f"becalm reset --root {root}"
    assert f"Every start of this machine uses becalm's boot entry, until: {command}. It has nowatchdog" in text
    assert "restarts by itself" not in text
    assert "becalm's boot entry was removed. This machine still runs with its parameters" in says("reset")
    restarted(root, boot=f"{NEXT[:-1]}3")
    assert says("status") == "The machine is as it was: becalm has applied no settings."
    assert OPTIONS.split()[0] in (root / "proc/cmdline").read_text()


def test_a_person_at_a_terminal_is_asked_before_a_boot_is_kept(tmp_path):
    root = debian(tmp_path / "root")
    watchdogs(root, "0")
    on(root)
    restarted(root, boot=NEXT, mark=about(root)["mark"], parameters=OFF_WORDS)
    line = ("apply", "--boot", "--dangerous", "--set", "watchdogs_boot=off", "--root", str(root))
    for answer, is_kept in (("n", False), ("y", True)):
        front, terminal = pty.openpty()
        os.write(front, f"{answer}\n".encode())
        command = [sys.executable, "-m", "becalm", *line]
        done = subprocess.run(command, stdin=terminal, stdout=terminal, stderr=terminal, check=False)
        os.close(terminal)
        output = b""
        with contextlib.suppress(OSError):
            while block := os.read(front, 4096):
                output += block
        os.close(front)
        assert done.returncode == 0, output
        assert b"at every start?" in output
        assert about(root)["kept"] is is_kept
