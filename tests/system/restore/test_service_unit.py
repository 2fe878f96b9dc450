"""The unit of the service that restores as the machine starts: systemd understands it, and it leaves enough calls."""

import subprocess

import pytest
from tests.needs import need
from tests.support.laptop import laptop
from tests.support.talk import Agent, end, guards

from becalm.hosts.agent import agent_path
from becalm.verbs import settings_service


def test_systemd_understands_the_unit(tmp_path):
    settings_service.install_service(tmp_path)
    unit = tmp_path / "becalm-restore.service"
    unit.write_text(settings_service.TEXT.replace(f"/{settings_service.AGENT}", str(tmp_path / settings_service.AGENT)))
    done = subprocess.run([need("systemd-analyze"), "verify", str(unit)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "becalm-restore" not in done.stderr, "no warnings about this unit"


def test_systemd_finds_the_unit_well_confined(tmp_path):
    """5.0 and more would be MEDIUM. What is left of the score is what restoring is: root, tunables, control groups."""
    analyze = need("systemd-analyze")
    helped = subprocess.run([analyze, "security", "--help"], capture_output=True, text=True)
    if "--offline" not in helped.stdout:
        pytest.skip("this systemd-analyze cannot look at a file alone: version 250 can")
    settings_service.install_service(tmp_path)
    command = [analyze, "security", "--offline=true", "--threshold=30", str(tmp_path / settings_service.UNIT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (overall,) = [line for line in done.stdout.splitlines() if "Overall exposure level" in line]
    assert " OK " in overall
    for option in ("CapabilityBoundingSet=~CAP_SYS_MODULE", "SystemCallFilter=~@mount", "ProtectSystem="):
        (line,) = [line for line in done.stdout.splitlines() if option in line]
        assert line.startswith("✓"), line


def test_the_agent_needs_no_more_calls_than_the_unit_leaves_it(tmp_path):
    """Every system call of a restore is in the unit's lists, as this systemd has them."""
    strace = need("strace")
    root = laptop(tmp_path / "root", cpus=4, cgroup=1)
    agent = Agent(root)
    settings = {"swappiness": 10, "isolation": "first-core", "irq_affinity": "1", "swap": "off", "services": "pause"}
    agent.done("hold", settings=settings, dangerous=True)
    for guard in guards(root):
        end(guard)
    agent.kill()
    log = tmp_path / "calls"
    command = [agent_path(), "restore", "--at-start", "--interrupt-wait", "0", "--root", str(root)]
    done = subprocess.run([strace, "-f", "-c", "-U", "name", "-o", str(log), *command], capture_output=True, text=True)
    if "ptrace" in done.stderr.lower():
        pytest.skip("processes cannot be traced here (ptrace is forbidden)")
    assert done.returncode == 0, done.stderr
    called = {line.strip() for line in log.read_text().splitlines()[2:] if line.strip().isidentifier()} - {"total"}
    assert {"openat2", "fchmod", "flock"} <= called
    # What acts on a running machine alone, and is played on a directory.
    live = {"swapon", "swapoff", "kill", "sched_setaffinity", "mkdirat", "flock", "pidfd_open", "ioctl"}
    assert called | live <= calls("@system-service", "@swap") - calls("@aio", "@keyring", "@memlock", "@setuid")


def calls(*groups: str) -> set[str]:
    """Return the system calls of groups of systemd's, including those of nested groups."""
    result: set[str] = set()
    for group in groups:
        command = [need("systemd-analyze"), "syscall-filter", group]
        shown = subprocess.run(command, capture_output=True, text=True).stdout
        names = {line.strip() for line in shown.splitlines()[1:] if line.strip() and not line.strip().startswith("#")}
        result |= {name for name in names if not name.startswith("@")}
        result |= calls(*(name for name in names if name.startswith("@")))
    return result
