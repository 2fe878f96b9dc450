"""Records of load around runs on this machine: their order, their scope, and why columns are unknown.

Exact figures are those of scripted runs (`test_scripted_clock.py`).
"""

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.contract.conversation import (
    Agent,
    loads_in,
    needs_root,
    observed,
    processes_with,
    sh,
    unified_group,
)
from tests.places import ROOT
from tests.waiting import HANG_LIMIT_S, wait_for

from becalm import hosts
from becalm.hosts import Access
from becalm.load.others import Others

DATA = ROOT / "tests" / "data/load"
DELAYACCT = Path("/proc/sys/kernel/task_delayacct")

grouped = pytest.mark.skipif(unified_group() is None, reason="no group of version 2 can be made here")


def test_nothing_is_observed_unless_it_is_asked_for(agent):
    _, loads, series, done = observed(agent, "true", load="none")
    assert (loads, series, done["unknown"]) == ([], [], {})
    refused = agent.ask("measure", first=0, steps=[[0, 0, 0, 0]], load="everything")
    assert (refused["event"], refused["kind"]) == ("error", "protocol")


def numbers_of(loads):
    """Return the numbers of the runs that records cover, in their order."""
    return [number for load in loads for number in range(load["first"], load["last"] + 1)]


def test_a_record_begins_before_its_runs_and_ends_after_them(agent):
    runs, loads, _, _ = observed(agent, "sleep", "0.11", steps=3)
    assert numbers_of(loads) == [0, 1, 2]
    for load in loads:
        first, last = runs[load["first"]], runs[load["last"]]
        assert load["started_ns"] <= first["started_ns"]
        assert last["started_ns"] + last["wall_ns"] <= load["started_ns"] + load["interval_ns"]
        assert load["cpus"] == os.cpu_count()
        assert load["cost_ns"] > 0
        assert load["switches"] > 0


def test_records_of_short_runs_follow_each_other(agent):
    _, loads, _, _ = observed(agent, "true", steps=100)
    assert numbers_of(loads) == list(range(100))


@needs_root
def test_all_tasks_of_a_tree_are_counted(agent):
    script = "for i in 1 2 3 4 5; do (true; true) & done; wait"
    _, (load,), _, _ = observed(agent, *sh(script))
    assert (load["scope"], load["lost"]) == ("tree", 0)
    assert load["level"] == 2 + (DELAYACCT.read_text().strip() == "1")
    assert load["tasks"] >= 6


@needs_root
def test_threads_are_counted_too(agent):
    threads = """
import threading
barrier = threading.Barrier(5)
threads = [threading.Thread(target=barrier.wait) for _ in range(4)]
[thread.start() for thread in threads]
barrier.wait()
[thread.join() for thread in threads]
"""
    _, (load,), _, _ = observed(agent, sys.executable, "-S", "-c", threads)
    assert load["tasks"] == 5


def test_processes_that_live_on_are_not_counted_and_do_no_harm(agent):
    (run,), (load,), _, _ = observed(agent, *sh("setsid sleep 1000 & exit 0"))
    assert run["left_behind"] >= 1
    (_,), (after,), _, _ = observed(agent, "true")
    assert load["lost"] in (0, None)
    assert after["tasks"] in (1, None)


def test_a_program_that_cannot_be_started_leaves_no_sums(agent, tmp_path):
    script = tmp_path / "gone"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert agent.define(str(script))["event"] == "done"
    script.unlink()
    events = agent.answer(agent.send("measure", first=4, steps=[[0, 0, 0, 0]], load="totals"))
    (load,) = loads_in(agent, events)
    assert (load["first"], load["last"], load["exec_ns"]) == (4, 4, 0)


@needs_root
@pytest.mark.parametrize("options", [(), ("--group",)])
def test_an_ordinary_user_sees_less_with_reasons(options):
    nobody = pwd.getpwnam("nobody")
    agent = Agent(*options, user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])
    try:
        (run,), (load,), _, done = observed(agent, "true")
    finally:
        agent.close()
    assert (load["level"], load["scope"], load["tasks"]) == (1, "leader", 1)
    assert load["wait_ns"] == run["wait_ns"]
    for unknown in ("block_ns", "swapin_ns", "irq_delay_ns", "lost"):
        assert load[unknown] is None
    assert "root" in done["unknown"]["taskstats"]
    assert done["unknown"]["group"]


@needs_root
@pytest.mark.skipif(DELAYACCT.exists() and DELAYACCT.read_text().strip() == "1", reason="delay accounting is on here")
def test_without_delay_accounting_waits_are_unknown_and_not_zero(agent):
    _, (load,), _, done = observed(agent, "true")
    assert load["block_ns"] is None
    assert "kernel.task_delayacct" in done["unknown"]["delays"]


def test_a_series_adds_up_to_the_totals(agent):
    _, (load,), (series,), _ = observed(agent, "sleep", "0.25", load="series")
    assert (series["first"], series["last"]) == (0, 0) == (load["first"], load["last"])
    times = [row[0] for row in series["rows"]]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (0, load["interval_ns"])
    columns = dict(zip(series["names"], list(zip(*series["rows"], strict=True))[1:], strict=True))
    for name in ("busy_ns", "idle_ns", "switches", "interrupts", "pressure_cpu_ns", "major_faults"):
        if load[name] is not None:
            first, *parts = columns[name]
            assert first is None
            # Idle time that ran back for a moment is unknown there alone.
            if name != "idle_ns" or None not in parts:
                assert sum(parts) == load[name], name
    assert max((value for value in columns["queue"] if value is not None), default=None) == load["queue_peak"]
    assert all(consumer["cpu_ns"] > 0 for consumer in series["consumers"])


def test_the_cpu_time_of_others_is_told_by_process(agent):
    with subprocess.Popen(sh("while :; do :; done")) as other:
        try:
            # It runs until the other process has used 20 ticks.
            script = f"""
                used() {{ set -- $(cat /proc/{other.pid}/stat); echo ${{14}}; }}
                end=$(($(used) + 20))
                until [ $(used) -ge $end ]; do :; done
            """
            assert agent.define(*sh(script))["event"] == "done"
            events = agent.answer(agent.send("measure", first=0, steps=[[0, 0, 0, 0]], load="totals"))
        finally:
            other.kill()
    (record,) = [Others.from_json(event) for event in events if event["event"] == "others"]
    assert (record.first, record.last) == (0, 0)
    taken = [use for reading in record.readings for use in reading.taken if use.pid == other.pid]
    assert {use.name for use in taken} == {"sh"}
    assert all(reading.wait_ns is not None for reading in record.readings[:-1])
    assert record.readings[-1].wait_ns is None


@needs_root
def test_bytes_that_others_and_the_program_moved_are_told(agent, tmp_path):
    with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.DEVNULL) as other:
        try:
            script = f"dd if=/dev/zero of={tmp_path}/file bs=64k count=4 conv=fsync 2>/dev/null"
            assert agent.define(*sh(script))["event"] == "done"
            events = agent.answer(agent.send("measure", first=0, steps=[[0, 0, 0, 0]], load="totals"))
        finally:
            other.kill()
    (record,) = [Others.from_json(event) for event in events if event["event"] == "others"]
    assert record.own_traffic is not None
    # The directory may be in memory, from which nothing is written to storage.
    assert record.own_traffic[1] % 4096 == 0
    assert record.disks is not None
    movers = [mover for reading in record.readings for mover in reading.movers]
    assert other.pid not in {mover.pid for mover in movers}
    assert all(mover.read_bytes + mover.written_bytes > 0 for mover in movers)


def test_memory_by_which_others_grew_during_a_run_is_told(agent, tmp_path):
    """Let another process grow while the program waits for it."""
    size = 64 << 20
    ask, answer = tmp_path / "ask", tmp_path / "answer"
    for fifo in (ask, answer):
        os.mkfifo(fifo)
    # More than it is asked for, since the kernel's count of pages may be off (linux/percpu_counter.h).
    held = size + (4 << 20)
    grow = f"import sys\nopen({str(ask)!r}).read()\nheld = b'x' * {held}\nopen({str(answer)!r}, 'w').close()\ninput()"
    with subprocess.Popen([sys.executable, "-S", "-c", grow], stdin=subprocess.PIPE) as other:
        try:
            assert agent.define(*sh(f": >{ask}; read line <{answer}; exit 0"))["event"] == "done"
            events = agent.answer(agent.send("measure", first=0, steps=[[0, 0, 0, 0]], load="totals"))
        finally:
            other.kill()
    (record,) = [Others.from_json(event) for event in events if event["event"] == "others"]
    changes = [change for reading in record.readings for change in reading.memory_changes]
    grown = sum(change.change_bytes for change in changes if change.pid == other.pid)
    assert size <= grown < 2 * size


HOLDS = """
import pathlib, sys, time
def looks():
    return sum(
        int(line.split()[1])
        for path in pathlib.Path("/proc", sys.argv[2], "task").glob("*/status")
        for line in path.read_text().splitlines()
        if line.startswith("voluntary")
    )
held, begun = b"x" * int(sys.argv[1]), looks()
while looks() < begun + 30:
    time.sleep(0.01)
"""
"""A program that holds memory until the process that takes samples of it has woken up often enough."""


def test_the_processes_that_hold_the_memory_are_told_with_it(agent):
    held = 64 << 20
    agent.define(
        sys.executable, "-c", HOLDS, str(held), str(agent.process.pid), metrics=[{"quantity": "memory:average"}]
    )
    events = agent.answer(agent.send("measure", first=0, steps=[[0, 0, 0, 0]], load="none"))
    (series,) = [event for event in events if event["event"] == "series"]
    assert series["names"] == ["resident_bytes"]
    largest = max(size for _, size in series["rows"])
    assert held < sum(consumer["resident_bytes"] for consumer in series["consumers"]) <= largest
    assert all(consumer["name"] and consumer["pid"] > 0 for consumer in series["consumers"])


@needs_root
@grouped
@pytest.mark.xdist_group("settings")
@pytest.mark.parametrize("options", [(), ("--group",)])
def test_programs_are_in_a_group_of_their_own_that_goes_with_the_agent(options):
    # No process has a number above 2^22 (pid_max in proc_sys_kernel(5)).
    left = unified_group() / f"becalm-{(1 << 22) + os.getpid()}"
    left.mkdir(exist_ok=True)
    agent = Agent(*options)
    name = f"becalm-{agent.process.pid}"
    try:
        # Whoever starts the programs begins there where the agent knows that they will be observed, and is not moved.
        group = unified_group() / name
        begun = (group / "cgroup.procs").read_text().split() if group.exists() else []
        assert len(begun) == 2 * len(options)
        assert agent.define("cat", "/proc/self/cgroup", output="keep")["event"] == "done"
        events = agent.answer(agent.send("measure", first=0, steps=[[0, 0, 0, 0]], load="totals"))
        (groups,) = [event["stdout"] for event in events if event["event"] == "text"]
        assert f"/{name}\n" in groups
        assert not left.exists(), "what an agent that was killed left is removed"
        # One that would be over before it had moved there is in the group from its first moment on.
        _, (load,), _, done = observed(agent, "true")
        pressed = (group / "cpu.pressure").exists()
        assert (load["own_cpu_pressure_ns"] is not None) == pressed
        assert (load["own_io_pressure_ns"] is not None) == pressed
        assert "group" not in done["unknown"]
    finally:
        agent.close()
        if left.exists():
            left.rmdir()
    assert not group.exists()


@needs_root
@grouped
@pytest.mark.parametrize("observed", [True, False])
def test_the_group_is_there_from_the_start_where_runs_will_be_observed(observed):
    with hosts.open("local", Access(observed=observed)) as host:
        assert (unified_group() / f"becalm-{host._conversation.link.process.pid}").exists() == observed


@pytest.fixture
def server(tmp_path):
    """Return a tree like a machine, which a program can change while it runs."""
    root = tmp_path / "machine"
    shutil.copytree(DATA / "server-4.18", root)
    (root / "proc/sys/vm").mkdir(parents=True, exist_ok=True)
    (root / "proc/sys/vm/stat_interval").write_text("1\n")
    return root


def test_counters_that_change_form_are_unknown_with_a_reason(server):
    stat, disks = server / "proc/stat", server / "proc/diskstats"
    cpus = [line for line in stat.read_text().splitlines() if line.startswith("cpu") and line[3] != " "]
    stat.write_text(stat.read_text().replace("331204 0 402115 0", "331204 0 402115 9", 1))
    fewer = [line for line in stat.read_text().splitlines() if line != cpus[-1]]
    words = fewer[0].split()
    words[1], words[8] = str(int(words[1]) + 7), str(int(words[8]) - 1)
    (server / "stat").write_text("\n".join([" ".join(words), *fewer[1:]]) + "\n")
    (server / "disks").write_text("\n".join(disks.read_text().splitlines()[1:]) + "\n")
    agent = Agent("--root", str(server))
    try:
        script = f"mv {server}/stat {stat}; mv {server}/disks {disks}; rm {server}/proc/vmstat"
        _, (load,), _, done = observed(agent, *sh(script))
        _, (again,), _, later = observed(agent, "true")
    finally:
        agent.close()
    unknown = done["unknown"]
    assert load["busy_ns"] == 70_000_000
    assert (load["steal_ns"], unknown["steal_ns"]) == (None, "the counter ran backwards")
    assert (load["cpus"], unknown["cpus"]) == (None, "CPUs came or went during the interval")
    assert (load["disk_read_bytes"], load["swap_out_bytes"]) == (None, None)
    assert "came or went" in unknown["disk_read_bytes"]
    assert (again["steal_ns"], again["busy_ns"], again["cpus"]) == (0, 0, len(cpus) - 1)
    assert "steal_ns" not in later["unknown"]
    assert again["swap_out_bytes"] is None


def test_settings_are_applied_and_restored_between_observed_runs(server):
    """The guard is forked by a process of one thread: the sampler makes way for it, and comes back."""
    place = server / "proc/sys/vm/stat_interval"
    agent = Agent("--root", str(server))
    try:
        settings = [{}, {"stat_interval": 20}, {"stat_interval": 30}]
        workload = {"argv": ["sleep", "0.11"]}
        assert agent.ask("define", workloads=[workload], settings=settings)["event"] == "done"
        for order in ((0, 1, 0, 2, 2, 1), (1, 0)):
            steps = [[0, which, 0, 0] for which in order]
            events = agent.answer(agent.send("measure", first=0, steps=steps, load="totals"))
            assert events[-1]["event"] == "done", events[-1]
            assert numbers_of(loads_in(agent, events)) == list(range(len(steps)))
            assert agent.ask("release")["unsettled"] == []
            assert place.read_text().strip() == "1"
    finally:
        agent.close()


def is_empty(group):
    """Return whether a control group can be removed, or is gone: a process that is ending is in it to the last, though
    cgroup.procs leaves it out."""
    with contextlib.suppress(OSError):
        return "populated 0" in (group / "cgroup.events").read_text()
    return True


def test_a_killed_agent_leaves_its_runs_and_ends(agent, marker):
    """The sampler is part of the agent: it keeps nothing alive."""
    agent.define("sleep", marker)
    agent.send("measure", first=0, steps=[[0, 0, 0, 0]], load="series")
    wait_for(lambda: processes_with(marker))
    agent.process.kill()
    assert agent.process.wait(timeout=HANG_LIMIT_S) == -9
    home = unified_group()
    group = home and home / f"becalm-{agent.process.pid}"
    wait_for(lambda: group is None or is_empty(group), "its programs have ended")
    # The group that it had made is gone when the next one has measured.
    after = Agent()
    try:
        assert len(observed(after, "true")[0]) == 1
    finally:
        after.close()
    assert group is None or not group.exists()
