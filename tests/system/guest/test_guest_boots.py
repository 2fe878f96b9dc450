"""Guests with kernels 6.1 (CFS) and 6.12 (EEVDF): workloads, settings, parameters of the kernel, failures."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.measuring import measure_events, ran
from tests.system.guest.kernels import EMULATED_CPUS, LIMIT, VERSIONS, kernel_or_skip, outputs, processes, shell

from becalm import hosts
from becalm.errors import MachineError, WorkloadError
from becalm.hosts import Access, Noticed, agent
from becalm.hosts.guest import kernel
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload


def test_it_is_another_kernel(guest):
    (version,) = outputs(guest, (shell("cat /proc/version"), 0))
    assert version.startswith(f"Linux version {guest.version}.")
    facts = guest.facts()
    without_kvm = facts["virtualisation"]["hypervisor"] == agent.EMULATOR
    assert bool(hosts.emulated(guest)) is without_kvm
    assert facts["kernel"]["release"] == kernel.find(guest.version).release
    # The classic knobs of CFS and the base slice of EEVDF (sched/debug.c) tell the two schedulers apart.
    assert (facts["scheduler"].get("slice_ns") is not None) == (guest.version == "6.12")
    (debug,) = outputs(guest, (shell("cd /sys/kernel/debug/sched; ls"), 0))
    names = set(debug.split())
    assert ("base_slice_ns" in names, "wakeup_granularity_ns" in names) == (
        (True, False) if guest.version == "6.12" else (False, True)
    )


def test_the_guest_has_the_cpus_modules_and_network_of_its_name(guest):
    cpus, modules, parameter, link, network = outputs(
        guest,
        (shell("nproc --all"), 0),
        (shell("cat /proc/modules"), 0),
        (shell("cat /sys/module/loop/parameters/max_loop"), 0),
        (shell("cat /sys/class/net/lo/operstate /sys/class/net/lo/flags"), 0),
        (shell("cat /proc/net/route /proc/net/fib_trie /etc/resolv.conf; cat /sys/class/net/eth0/operstate"), 0),
    )
    assert cpus == str(EMULATED_CPUS)
    assert any(line.startswith("loop ") for line in modules.splitlines())
    assert parameter.isdigit(), "the module works"
    assert int(link.split()[1], 16) & 1, "IFF_UP"
    routes = [row.split()[:3] for row in network.splitlines() if row.startswith("eth0")]
    assert ["eth0", "00000000", "0202000A"] in routes, "the gateway 10.0.2.2, in the order of the network"
    assert "|-- 10.0.2.15" in network
    assert network.splitlines()[-2:] == ["nameserver 10.0.2.3", "up"]


def test_knobs_are_the_guests(guest):
    rows = {row.name: row for row in guest.knobs()}
    assert rows["isolation"].supported
    assert rows["stat_interval"].value == "1"
    assert not rows["governor"].supported
    assert rows["governor"].reason


def test_a_setting_is_on_for_its_steps_and_off_for_the_others(guest):
    read = shell("cat /proc/sys/vm/stat_interval /proc/sys/vm/swappiness")
    changed = {"stat_interval": 20, "swappiness": 1}
    before, during, after = outputs(guest, (read, 0), (read, 1), (read, 0), settings=({}, changed))
    assert before == after == "1\n60"
    assert during == "20\n1"
    (noticed,) = (event for event in measure_events(guest, (0, 1)) if isinstance(event, Noticed))
    assert noticed.drift == ()


def test_settings_are_held_and_released_and_every_place_comes_back(guest):
    guest.define([shell("true")], [Settings()])
    wanted = Settings.of({"stat_interval": 20, "transparent_hugepages": "never"})
    before = {row.name: row.value for row in guest.knobs()}
    with guest.hold(wanted) as held:
        assert {change.knob for change in held.changes if change.changes} == {"stat_interval", "transparent_hugepages"}
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
    (text,) = outputs(guest, (look, 0), settings=({"isolation": "1"},))
    partition, allowed, others, *groups, hurried = text.splitlines()
    assert partition == "isolated"
    assert allowed.split() == ["Cpus_allowed_list:", "1"]
    assert others == "0,2", "the others have what is left"
    assert groups.count("0::/becalm-isolated") == 1, "programs begin there"
    assert len(groups) == 2, "the one for the second of two programs waits where the agent is"
    assert hurried == "0", "nothing is hurried while they run"
    left = "ls /sys/fs/cgroup | grep becalm-isolated || true; grep -s becalm-isolated /proc/[0-9]*/cgroup || true"
    (after,) = outputs(guest, (shell(f"cat /sys/fs/cgroup/cpuset.cpus.effective; {left}"), 0))
    assert after.split() == ["0-2"]


def test_orphans_and_time_limits_as_anywhere(guest):
    guest.define([shell("sleep 9000 & exit 0"), Workload.of("sleep 9000", timeout=0.3), shell("exit 3")], [Settings()])
    rows = ran(guest, (0, 0), (1, 0), (2, 0), stop_on_failure=False)
    assert [run.outcome for run in rows] == ["ok", "timeout", "failed"]
    assert (rows[0].left_behind, rows[2].status) == (1, 3)


def test_the_guard_outlives_a_killed_agent_even_here(guest):
    """Check that the guard is nobody's child, as on any machine, though the machine ends with the agent."""
    parents = {name: parent for _, name, parent in processes(guest, settings=({"stat_interval": 20},))}
    assert parents["becalm-guard"] == "1"
    assert parents["init"] in ("0", "1")


def becalm(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "becalm", *words], capture_output=True, text=True, check=False, **options
    )


@pytest.fixture
def ordinary():
    """A directory, a user and options for a process of somebody who is not root."""
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
    """Run a script with its interpreter, in a directory of its own, with a file of the host's name, unprivileged."""
    place, uid, options = ordinary
    prepared = kernel_or_skip("6.1")
    shelf = place / "cache/becalm/kernels" / prepared.release
    shelf.mkdir(parents=True)
    shutil.copy(prepared.image, shelf)
    script = place / "script"
    script.write_text("#!/bin/sh\nread line < input\necho $line $(id -u) $(pwd) $(cat /proc/version)\n")
    script.chmod(0o700)
    (place / "input").write_text("from the file\n")
    if os.getuid() == 0:
        for path in (place, *place.rglob("*")):
            os.chown(path, uid, uid)
    name = f"guest:6.1?files=input&{LIMIT}"
    done = becalm(
        *("run", "--host", name, "--runs", "2", "--no-store", "--output", "inherit", "--", "./script"), **options
    )
    assert done.returncode == 0, done.stderr
    assert f"from the file {uid} {place} Linux version 6.1." in done.stdout + done.stderr


def test_a_study_and_its_json(tmp_path):
    kernel_or_skip("6.1")
    place = str(tmp_path / "store.sqlite")
    name = f"guest:6.1?{LIMIT}"
    done = becalm(*("compare", "--host", name, "--runs", "3", "--store", place, "--json", "true", "sh -c 'exit 0'"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["host"] == name
    shown = json.loads(becalm("show", "1", "--store", place, "--json").stdout)
    assert shown["summaries"][0]["runs"] == 3


def test_a_kernel_that_panics_at_its_first_boot_is_reported():
    kernel_or_skip("6.12")
    with (
        hosts.open(f"guest:6.12?append=rdinit=/none&{LIMIT}") as host,
        pytest.raises(MachineError, match="kernel panicked"),
    ):
        host.facts()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_guest_with_parameters_another_user_and_little_memory(version):
    kernel_or_skip(version)
    name = f"guest:{version}?cpus={EMULATED_CPUS}&mem=256M&append=nohz_full=1,rcu_nocbs=1&{LIMIT}"
    with hosts.open(name, Access(user="nobody")) as host:
        user, line, without_ticks = outputs(
            host,
            (shell("id -u; cat /dev/null; tail -c 1 /dev/null"), 0),
            (shell("cat /proc/cmdline"), 0),
            (shell("cat /sys/devices/system/cpu/nohz_full"), 0),
        )
        assert user == "65534"
        assert "nohz_full=1 rcu_nocbs=1" in line
        assert without_ticks == "1"
        assert {row.name: row.value for row in host.knobs()}["nohz_full"] == "1"
        host.reboot(("nosmt", "threadirqs"))
        assert host.facts()["kernel"]["command_line"].endswith("nosmt threadirqs")
        host.define([Workload.of("tail /dev/zero")], [Settings()])
        with pytest.raises(WorkloadError, match=r"ran out of memory \(256 MiB\).*mem=512M"):
            ran(host)
