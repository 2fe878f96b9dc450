"""An entry for one boot on a real Debian: GRUB starts it once, systemd gets the machine back, and all of it goes."""

from __future__ import annotations

import json
import subprocess
import time

import pytest
from debian import BOOT_LIMIT_S, Debian

from becalm.hosts.agent import agent_path

pytestmark = [pytest.mark.guest, pytest.mark.machine]

LOOK = "cd / && find boot/grub etc/systemd/system var/lib/becalm -type f -o -type l | sort | xargs -d '\\n' sha256sum"
"""Everything that becalm may write there."""

PARAMETERS = ["mitigations=off", "nowatchdog"]
"""What an emulated machine of one processor takes."""


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    made = Debian(tmp_path_factory.mktemp("bench") / "machine")
    try:
        made.switch_on()
        ssh = ["ssh", "-F", str(made.config), "-l", "root", "bench"]
        with open(agent_path(), "rb") as agent:
            command = [
                *ssh,
                "mkdir -p /var/lib/becalm && cat > /root/becalm-agent && chmod 755 /root/becalm-agent && sync",
            ]
            subprocess.run(command, stdin=agent, check=True)
        yield made
    finally:
        made.close()


def ask(machine, *requests):
    """The last event of each of these requests to an agent on the machine."""
    lines = [{"do": "open", "protocol": 1, "environment": {}, "directory": "/", "title": "a test", "reboot": True}]
    lines = [{"id": number, **each} for number, each in enumerate([*lines, *requests])]
    text = "\n".join(map(json.dumps, lines)) + "\n"
    ssh = ["ssh", "-F", str(machine.config), "-l", "root", "bench", "/root/becalm-agent serve"]
    done = subprocess.run(ssh, input=text, capture_output=True, text=True, timeout=300, check=False)
    events = [json.loads(line) for line in done.stdout.splitlines()[1:]]
    assert all(event["event"] == "done" for event in events), (events, done.stderr)
    return events[1:]


def restarted(machine, former, line=None):
    """Wait until another boot than this one answers, or one with this command line; gives its command line."""
    end = time.monotonic() + 4 * BOOT_LIMIT_S
    while time.monotonic() < end:
        done = machine._ssh("root", "cat /proc/sys/kernel/random/boot_id /proc/cmdline", timeout=30)
        boot, _, now = done.stdout.strip().partition("\n")
        if done.returncode == 0 and boot != former and now == (line or now):
            return now
        time.sleep(1)
    raise AssertionError("the machine has not restarted")


def test_once_and_then_as_before(machine):
    """It starts with the parameters, is found healthy, and a power cut leads to the default entry."""
    before, line, former = machine.root(LOOK), machine.root("cat /proc/cmdline"), machine.boot_id()
    (armed,) = ask(machine, {"do": "boot", "parameters": PARAMETERS, "dangerous": True})
    assert armed["loader"] == "GRUB"
    assert f"next_entry={armed['entry']}" in machine.root("grub-editenv /boot/grub/grubenv list")
    machine.root("grub-script-check /boot/grub/custom.cfg && systemd-analyze verify /etc/systemd/system/becalm-boot.*")
    ask(machine, {"do": "reboot"})
    now = restarted(machine, former)
    assert f"{' '.join(PARAMETERS)} becalm.boot={armed['mark']} panic=10" in now
    assert machine.root("systemctl is-active becalm-boot.timer") == "active"
    assert "next_entry=becalm" not in machine.root("grub-editenv /boot/grub/grubenv list")
    (health,) = ask(machine, {"do": "healthy"})
    assert (health["ours"], health["remarks"]) == (True, [])
    assert health["parameters"] == PARAMETERS
    assert machine._ssh("root", "systemctl is-active becalm-boot.timer").stdout.strip() == "inactive"
    machine.cut_power()
    machine.switch_on()
    assert machine.root("cat /proc/cmdline") == line
    health, gone = ask(machine, {"do": "healthy"}, {"do": "unboot"})
    assert (health["ours"], gone["unsettled"]) == (False, [])
    assert machine.root(LOOK) == before


def test_a_boot_that_nobody_finds_healthy(machine):
    """The machine restarts by itself when its limit has passed, with its own entry."""
    before, line, former = machine.root(LOOK), machine.root("cat /proc/cmdline"), machine.boot_id()
    seen = machine.console().count("becalm, for one start")
    ask(machine, {"do": "boot", "parameters": PARAMETERS, "limit_s": 60, "dangerous": True}, {"do": "reboot"})
    # However long this machine takes to start, and whether anybody reaches it meanwhile.
    restarted(machine, former, line)
    assert machine.console().count("becalm, for one start") == seen + 1
    (gone,) = ask(machine, {"do": "unboot"})
    assert gone["unsettled"] == []
    assert machine.root(LOOK) == before
