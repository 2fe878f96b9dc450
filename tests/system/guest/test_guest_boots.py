"""Guests that boot, with kernels 6.1 (CFS) and 6.12 (EEVDF): workloads, settings, boot parameters, failures."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.measuring import ran, told
from tests.system.guest.booted import VERSIONS, needed, said, shell

from becalm import hosts
from becalm.errors import MachineError, WorkloadError
from becalm.hosts import Access, Noticed, agent
from becalm.hosts.guest import kernel
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload

pytestmark = [pytest.mark.guest, pytest.mark.machine]


@pytest.fixture(scope="module", params=VERSIONS)
def guest(request):
    """One machine for many tests: two CPUs, one of them kept free of ticks, a module, and a network."""
    needed(request.param)
    name = f"guest:{request.param}?cpus=2&modules=zram&net=user&append=nohz_full=1,rcu_nocbs=1"
    with hosts.open(name) as opened:
        opened.version = request.param
        # One boot for all that the tests will run.
        opened.define([shell("cat echo ls nproc id grep tail sleep true")], [Settings()])
        yield opened


def test_it_is_another_kernel(guest):
    (version,) = said(guest, (shell("cat /proc/version"), 0))
    assert version.startswith(f"Linux version {guest.version}.")
    facts = guest.facts()
    without_kvm = facts["virtualisation"]["hypervisor"] == agent.EMULATOR
    assert bool(hosts.emulated(guest)) is without_kvm
    assert facts["kernel"]["release"] == kernel.find(guest.version).release
    # The classic knobs of CFS and the base slice of EEVDF (sched/debug.c) tell the two schedulers apart.
    assert (facts["scheduler"].get("slice_ns") is not None) == (guest.version == "6.12")
    (debug,) = said(guest, (shell("cd /sys/kernel/debug/sched; ls"), 0))
    names = set(debug.split())
    assert ("base_slice_ns" in names, "wakeup_granularity_ns" in names) == (
        (True, False) if guest.version == "6.12" else (False, True)
    )


def test_what_was_asked_for_is_there(guest):
    line, cpus, isolated, modules, link, network = said(
        guest,
        (shell("cat /proc/cmdline"), 0),
        (shell("nproc --all"), 0),
        (shell("cat /sys/devices/system/cpu/nohz_full"), 0),
        (shell("cat /proc/modules"), 0),
        (shell("cat /sys/class/net/lo/operstate /sys/class/net/lo/flags; cat /sys/block/zram0/disksize"), 0),
        (shell("cat /proc/net/route /proc/net/fib_trie /etc/resolv.conf; cat /sys/class/net/eth0/operstate"), 0),
    )
    assert "nohz_full=1 rcu_nocbs=1" in line
    assert (cpus, isolated) == ("2", "1")
    assert any(each.startswith("zram ") for each in modules.splitlines())
    assert int(link.split()[1], 16) & 1, "IFF_UP"
    routes = [row.split()[:3] for row in network.splitlines() if row.startswith("eth0")]
    assert ["eth0", "00000000", "0202000A"] in routes, "the gateway 10.0.2.2, in the order of the network"
    assert "|-- 10.0.2.15" in network
    assert network.splitlines()[-2:] == ["nameserver 10.0.2.3", "up"]


def test_knobs_are_the_guests(guest):
    rows = {row.name: row for row in guest.knobs()}
    assert rows["isolation"].supported
    assert rows["stat_interval"].value == "1"
    assert rows["nohz_full"].value == "1"
    assert not rows["governor"].supported
    assert rows["governor"].reason


def test_a_setting_is_on_for_its_steps_and_off_for_the_others(guest):
    read = shell("cat /proc/sys/vm/stat_interval /proc/sys/vm/swappiness")
    changed = {"stat_interval": 20, "swappiness": 1}
    before, during, after = said(guest, (read, 0), (read, 1), (read, 0), settings=({}, changed))
    assert before == after == "1\n60"
    assert during == "20\n1"
    (noticed,) = (each for each in told(guest, (0, 1)) if isinstance(each, Noticed))
    assert noticed.drift == ()


def test_settings_are_held_and_released_and_every_place_comes_back(guest):
    guest.define([shell("true")], [Settings()])
    wanted = Settings.of({"stat_interval": 20, "transparent_hugepages": "never"})
    before = {row.name: row.value for row in guest.knobs()}
    with guest.hold(wanted) as held:
        assert {each.knob for each in held.changes if each.changes} == {"stat_interval", "transparent_hugepages"}
        now = {row.name: row.value for row in guest.knobs()}
        assert (now["stat_interval"], now["transparent_hugepages"]) == ("20", "never")
    after = {row.name: row.value for row in guest.knobs()}
    assert after["stat_interval"] == "1"
    assert after["transparent_hugepages"] == before["transparent_hugepages"] != "never"
    assert not guest.status().anything


def test_an_isolated_cpu_is_isolated_for_the_kernel_too(guest):
    look = shell(
        "cat /sys/fs/cgroup/becalm*/cpuset.cpus.partition; grep Cpus_allowed_list /proc/self/status;"
        "cat /sys/fs/cgroup/cpuset.cpus.effective;"
        "for each in $(grep -ls becalm-spawner /proc/[0-9]*/comm); do cat ${each%comm}cgroup; done;"
        "cat /sys/kernel/rcu_expedited"
    )
    (found,) = said(guest, (look, 0), settings=({"isolation": "1"},))
    assert found.splitlines()[0] == "isolated"
    assert found.splitlines()[1].split() == ["Cpus_allowed_list:", "1"]
    assert found.splitlines()[2] == "0", "the others have what is left"
    assert found.splitlines()[3] == "0::/becalm-isolated", "programs begin there"
    assert found.splitlines()[4] == "0", "nothing is hurried while they run"
    left = "ls /sys/fs/cgroup | grep becalm-isolated || true; grep -s becalm-isolated /proc/[0-9]*/cgroup || true"
    (after,) = said(guest, (shell(f"cat /sys/fs/cgroup/cpuset.cpus.effective; {left}"), 0))
    assert after.split() == ["0-1"]


def test_orphans_and_time_limits_as_anywhere(guest):
    guest.define([shell("sleep 100 & exit 0"), Workload.of("sleep 100", timeout=0.3), shell("exit 3")], [Settings()])
    rows = ran(guest, (0, 0), (1, 0), (2, 0), stop_on_failure=False)
    assert [run.outcome for run in rows] == ["ok", "timeout", "failed"]
    assert (rows[0].left_behind, rows[2].status) == (1, 3)


def test_the_guard_outlives_a_killed_agent_even_here(guest):
    """With the agent the machine ends; until then its guard is nobody's child, as on any machine."""
    (names,) = said(guest, (shell("cat /proc/[0-9]*/stat"), 0), settings=({"stat_interval": 20},))
    rows = [line.replace("(", ")").split(")") for line in names.splitlines()]
    parents = {row[1]: row[2].split()[1] for row in rows}
    assert parents["becalm-guard"] == "1"
    assert parents["init"] in ("0", "1")


def becalm(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "becalm", *words], capture_output=True, text=True, check=False, **options
    )


@pytest.fixture
def ordinary():
    """A directory, environment and options for a process of somebody who is not root."""
    uid = os.getuid() or 65534
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        # pytest's own directories are closed to others.
        place.chmod(0o755)
        options = {} if os.getuid() else {"user": uid, "group": uid, "extra_groups": []}
        environment = {**os.environ, "XDG_CACHE_HOME": f"{name}/cache", "HOME": name, "PATH": "/usr/bin:/bin"}
        options |= {"cwd": name, "env": environment}
        try:
            able = becalm("--version", **options).returncode == 0
        except PermissionError:
            able = False
        if not able:
            pytest.skip(f"{sys.executable} and becalm are root's alone here")
        yield place, uid, options


def test_the_command_line_as_an_ordinary_user(ordinary):
    """A script and its interpreter, in a directory of its own, with a file asked for, as somebody unprivileged."""
    place, uid, options = ordinary
    found = needed("6.1")
    shelf = place / "cache/becalm/kernels" / found.release
    shelf.mkdir(parents=True)
    shutil.copy(found.image, shelf)
    script = place / "script"
    script.write_text("#!/bin/sh\nread line < input\necho $line $(id -u) $(pwd) $(cat /proc/version)\n")
    script.chmod(0o700)
    (place / "input").write_text("from the file\n")
    if os.getuid() == 0:
        for each in (place, *place.rglob("*")):
            os.chown(each, uid, uid)
    name = "guest:6.1?files=input"
    done = becalm(
        *("run", "--host", name, "--runs", "2", "--no-store", "--output", "inherit", "--", "./script"), **options
    )
    assert done.returncode == 0, done.stderr
    assert f"from the file {uid} {place} Linux version 6.1." in done.stdout + done.stderr


def test_a_study_and_its_json(tmp_path):
    needed("6.1")
    place = str(tmp_path / "store.sqlite")
    done = becalm(
        *("compare", "--host", "guest:6.1", "--runs", "3", "--store", place, "--json", "true", "sh -c 'exit 0'")
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["host"] == "guest:6.1"
    shown = json.loads(becalm("show", "1", "--store", place, "--json").stdout)
    assert shown["summaries"][0]["runs"] == 3


def test_a_kernel_that_panics_a_guest_without_memory_and_another_user():
    needed("6.12")
    with hosts.open("guest:6.12?append=rdinit=/none") as host, pytest.raises(MachineError, match="kernel panicked"):
        host.facts()
    with hosts.open("guest:6.12?mem=256M", Access(user="nobody")) as host:
        (who,) = said(host, (shell("id -u; cat /dev/null; tail -c 1 /dev/null"), 0))
        assert who == "65534"
        host.reboot(("nosmt", "threadirqs"))
        assert host.facts()["kernel"]["command_line"].endswith("nosmt threadirqs")
        host.define([Workload.of("tail /dev/zero")], [Settings()])
        with pytest.raises(WorkloadError, match=r"ran out of memory \(256 MiB\).*mem=512M"):
            ran(host)
