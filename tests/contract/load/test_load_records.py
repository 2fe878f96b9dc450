"""Records of load around runs: against what the kernel tells elsewhere, and where it tells less."""

import contextlib
import itertools
import os
import pwd
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.contract.conversation import Agent, sh
from tests.places import ROOT

from becalm import hosts
from becalm.hosts import Access

DATA = ROOT / "tests" / "data/load"
SPIN = "import time\nwhile time.process_time() < {}: pass"
ROUNDING_NS = 500_000
"""By which two clocks may differ: that of the scheduler, which it looks at now and then, and that of the agent."""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="the kernel's taskstats need root")


def spinning(seconds):
    return (sys.executable, "-S", "-c", SPIN.format(seconds))


def observed(agent, *argv, steps=1, load="totals", settings=None, **fields):
    """Rows, records of load, series (all as dictionaries) and the `done` of a block."""
    defined = agent.ask("define", workloads=[{"argv": list(argv), **fields}], settings=[settings or {}])
    assert defined["event"] == "done", defined
    steps = [[0, 0, 0, index] for index in range(steps)]
    events = agent.answer(agent.send("measure", first=0, steps=steps, load=load))
    named = {"runs": agent.greeting["columns"], "loads": agent.greeting["load_columns"]}
    found = {
        kind: [dict(zip(columns, row, strict=True)) for e in events if e["event"] == kind for row in e["rows"]]
        for kind, columns in named.items()
    }
    assert events[-1]["event"] == "done", events[-1]
    return found["runs"], found["loads"], [e for e in events if e["event"] == "series"], events[-1]


def cpu_ns(run):
    return run["user_ns"] + run["system_ns"]


@contextlib.contextmanager
def spinners(count, cpu):
    """Programs that do nothing but run, in this session, each bound to a CPU."""
    made = [
        subprocess.Popen(
            [sys.executable, "-S", "-c", "while True: pass"], preexec_fn=lambda: os.sched_setaffinity(0, {cpu})
        )
        for _ in range(count)
    ]
    try:
        yield made
    finally:
        for each in made:
            each.kill()
            each.wait()


def test_nothing_is_observed_unless_it_is_asked_for(agent):
    _, loads, series, done = observed(agent, "true", load="none")
    assert (loads, series, done["unknown"]) == ([], [], {})
    refused = agent.ask("measure", first=0, steps=[[0, 0, 0, 0]], load="everything")
    assert (refused["event"], refused["kind"]) == ("error", "protocol")


def test_a_long_run_has_a_record_of_its_own(agent):
    runs, loads, _, _ = observed(agent, "sleep", "0.3", steps=3)
    assert [(load["first"], load["last"]) for load in loads] == [(0, 0), (1, 1), (2, 2)]
    for run, load in zip(runs, loads, strict=True):
        assert load["started_ns"] <= run["started_ns"]
        assert run["started_ns"] + run["wall_ns"] <= load["started_ns"] + load["interval_ns"]
        assert load["cpus"] == os.cpu_count()
        assert load["cost_ns"] > 0
        assert load["switches"] > 0


def test_short_runs_are_taken_together(agent):
    began = time.monotonic()
    runs, loads, _, _ = observed(agent, "true", steps=300)
    took = time.monotonic() - began
    assert loads[0]["first"] == 0
    assert loads[-1]["last"] == 299
    assert all(one["last"] + 1 == two["first"] for one, two in itertools.pairwise(loads))
    assert len(loads) <= took / 0.1 + 1
    for load in loads:
        mine = [run for run in runs if load["first"] <= run["seq"] <= load["last"]]
        # What a process does before it becomes the program, some microseconds, is in the sums of its run alone.
        total = sum(map(cpu_ns, mine))
        assert total - 50_000 * len(mine) < load["exec_ns"] < 1.02 * total


@needs_root
def test_a_whole_tree_is_summed_exactly(agent):
    script = "for i in 1 2 3 4 5; do (true; true) & done; wait; " + f'{sys.executable} -S -c "{SPIN.format(0.1)}"'
    (run,), (load,), _, _ = observed(agent, *sh(script))
    assert (load["scope"], load["lost"]) == ("tree", 0)
    assert load["level"] == 2 + (Path("/proc/sys/kernel/task_delayacct").read_text().strip() == "1")
    assert load["tasks"] >= 7
    # User and system time add up to what the scheduler counted (kernel/sched/cputime.c, cputime_adjust).
    assert load["exec_ns"] == pytest.approx(cpu_ns(run), rel=0.01)
    assert load["wait_ns"] >= run["wait_ns"], "the leader is one of them"


@needs_root
def test_threads_are_summed_too(agent):
    threads = """
import threading
def spin():
    import time
    while time.thread_time() < 0.05: pass
made = [threading.Thread(target=spin) for _ in range(4)]
[each.start() for each in made]
[each.join() for each in made]
"""
    (run,), (load,), _, _ = observed(agent, sys.executable, "-c", threads)
    assert load["tasks"] == 5
    assert load["exec_ns"] == pytest.approx(cpu_ns(run), rel=0.01)
    assert load["exec_ns"] >= 200_000_000


def test_time_of_a_spinner_is_running_or_waiting(agent):
    """On a CPU with two others of the same session its time is all spent on the CPU or its run queue."""
    with spinners(2, 0):
        (run,), (load,), _, _ = observed(agent, *spinning(0.4), settings={"cpus": "0"})
    assert load["wait_ns"] > 0.2 * load["exec_ns"], "it had to wait"
    assert load["exec_ns"] == pytest.approx(cpu_ns(run), rel=0.01)
    known = load["exec_ns"] + load["wait_ns"]
    assert known <= 1.02 * run["wall_ns"]
    assert known >= 0.98 * (run["wall_ns"] - (load["steal_ns"] or 0))


def test_what_a_run_waits_for_before_its_time_begins_is_not_counted(agent):
    """Beside others a new process waits for its turn on its CPU: before a run has begun there is no time to wait in."""
    cpu = min(os.sched_getaffinity(0))
    with spinners(6, cpu):
        runs, loads, *_ = observed(agent, "/bin/true", steps=12, settings={"cpus": str(cpu)})
    assert len(runs) == 12
    for run in runs:
        assert run["wait_ns"] <= run["wall_ns"] + ROUNDING_NS, run
    for load in loads:
        inside = [run for run in runs if load["first"] <= run["seq"] <= load["last"]]
        assert load["wait_ns"] <= sum(run["wall_ns"] + ROUNDING_NS for run in inside), load


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
    assert agent.ask("define", workloads=[{"argv": [str(script)]}], settings=[{}])["event"] == "done"
    script.unlink()
    events = agent.answer(agent.send("measure", first=4, steps=[[0, 0, 0, 0]], load="totals"))
    (load,) = [
        dict(zip(agent.greeting["load_columns"], row, strict=True))
        for e in events
        if e["event"] == "loads"
        for row in e["rows"]
    ]
    assert (load["first"], load["last"], load["exec_ns"]) == (4, 4, 0)


@needs_root
@pytest.mark.parametrize("options", [(), ("--group",)])
def test_an_ordinary_user_is_told_less_and_why(options):
    nobody = pwd.getpwnam("nobody")
    agent = Agent(*options, user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])
    try:
        # The interpreter of the tests may be in a directory of root's.
        (run,), (load,), _, done = observed(agent, *sh("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"))
    finally:
        agent.close()
    assert (load["level"], load["scope"], load["tasks"]) == (1, "leader", 1)
    assert load["wait_ns"] == run["wait_ns"]
    assert load["exec_ns"] == pytest.approx(cpu_ns(run), rel=0.01)
    for unknown in ("block_ns", "swapin_ns", "irq_delay_ns", "lost"):
        assert load[unknown] is None
    assert "root" in done["unknown"]["taskstats"]
    assert done["unknown"]["group"]


@needs_root
@pytest.mark.skipif(
    Path("/proc/sys/kernel/task_delayacct").exists()
    and Path("/proc/sys/kernel/task_delayacct").read_text().strip() == "1",
    reason="delay accounting is on here",
)
def test_without_delay_accounting_waits_are_unknown_and_not_zero(agent):
    _, (load,), _, done = observed(agent, "true")
    assert load["block_ns"] is None
    assert "kernel.task_delayacct" in done["unknown"]["delays"]


def test_a_series_adds_up_to_the_totals(agent):
    with spinners(1, 0) as (other,):
        _, (load,), (series,), _ = observed(agent, *spinning(0.6), load="series")
    assert (series["first"], series["last"]) == (0, 0) == (load["first"], load["last"])
    times = [row[0] for row in series["rows"]]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (0, load["interval_ns"])
    assert len(times) >= 3
    columns = dict(zip(series["names"], list(zip(*series["rows"], strict=True))[1:], strict=True))
    for name in ("busy_ns", "idle_ns", "switches", "interrupts", "pressure_cpu_ns", "major_faults"):
        if load[name] is not None:
            assert columns[name][0] is None
            assert sum(columns[name][1:]) == load[name], name
    assert max(value for value in columns["queue"] if value is not None) == load["queue_peak"]
    assert {"pid": other.pid} in [{"pid": each["pid"]} for each in series["consumers"]]
    assert all(each["cpu_ns"] > 0 for each in series["consumers"])


def unified():
    """The directory of this process's group of version 2; None where it is not mounted or cannot be written."""
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    points = [words[4] for words in mounts if words[words.index("-") + 1] == "cgroup2"]
    groups = [line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")]
    if not points or not groups:
        return None
    directory = Path(points[0] + groups[0])
    control = directory / "cgroup.subtree_control"
    return directory if os.access(directory, os.W_OK) and "cpu" not in control.read_text().split() else None


@needs_root
@pytest.mark.skipif(unified() is None, reason="no group of version 2 can be made here")
@pytest.mark.parametrize("options", [(), ("--group",)])
def test_programs_are_in_a_group_of_their_own_that_goes_with_the_agent(options):
    left = unified() / "becalm-4194304"
    left.mkdir()
    agent = Agent(*options)
    name = f"becalm-{agent.process.pid}"
    try:
        # Whoever starts the programs begins there where the agent knows that they will be observed, and is not moved.
        group = unified() / name
        begun = (group / "cgroup.procs").read_text().split() if group.exists() else []
        assert len(begun) == len(options)
        defined = agent.ask(
            "define", workloads=[{"argv": ["cat", "/proc/self/cgroup"], "output": "keep"}], settings=[{}]
        )
        assert defined["event"] == "done"
        events = agent.answer(agent.send("measure", first=0, steps=[[0, 0, 0, 0]], load="totals"))
        (said,) = [event["stdout"] for event in events if event["event"] == "text"]
        assert f"/{name}\n" in said
        assert not left.exists(), "what an agent that was killed left is removed"
        with spinners(1, 0):
            _, (load,), _, done = observed(agent, *spinning(0.3), settings={"cpus": "0"})
        pressed = (group / "cpu.pressure").exists()
        if pressed:
            assert load["own_cpu_pressure_ns"] > 0, "it waited for its CPU"
            assert load["own_cpu_pressure_ns"] <= load["interval_ns"]
        assert (load["own_io_pressure_ns"] is not None) == pressed
        assert "group" not in done["unknown"]
        # One that would be over before it had moved there is in the group from its first moment on.
        _, (load,), _, _ = observed(agent, "true")
        assert (load["own_cpu_pressure_ns"] is not None) == pressed
    finally:
        agent.close()
        if left.exists():
            left.rmdir()
    assert not group.exists()


@needs_root
@pytest.mark.skipif(unified() is None, reason="no group of version 2 can be made here")
@pytest.mark.parametrize("asked", [True, False])
def test_the_group_is_there_from_the_start_where_runs_will_be_observed(asked):
    with hosts.open("local", Access(observed=asked)) as host:
        assert (unified() / f"becalm-{host._link.process.pid}").exists() == asked


@pytest.fixture
def tree(tmp_path):
    """A machine of its own, which a program can change while it runs."""
    root = tmp_path / "machine"
    shutil.copytree(DATA / "server-4.18", root)
    (root / "proc/sys/vm").mkdir(parents=True, exist_ok=True)
    (root / "proc/sys/vm/stat_interval").write_text("1\n")
    return root


def test_what_changes_on_the_way_is_unknown_and_says_why(tree):
    stat, disks = tree / "proc/stat", tree / "proc/diskstats"
    cpus = [line for line in stat.read_text().splitlines() if line.startswith("cpu") and line[3] != " "]
    stat.write_text(stat.read_text().replace("331204 0 402115 0", "331204 0 402115 9", 1))
    fewer = [line for line in stat.read_text().splitlines() if line != cpus[-1]]
    words = fewer[0].split()
    words[1], words[8] = str(int(words[1]) + 7), str(int(words[8]) - 1)
    (tree / "stat").write_text("\n".join([" ".join(words), *fewer[1:]]) + "\n")
    (tree / "disks").write_text("\n".join(disks.read_text().splitlines()[1:]) + "\n")
    agent = Agent("--root", str(tree))
    try:
        script = f"mv {tree}/stat {stat}; mv {tree}/disks {disks}; rm {tree}/proc/vmstat; sleep 0.1"
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


def test_settings_are_put_on_and_off_between_observed_runs(tree):
    """The guard is forked by a process of one thread: the sampler makes way for it, and comes back."""
    agent = Agent("--root", str(tree))
    try:
        workload = {"argv": ["sleep", "0.15"]}
        settings = [{}, {"stat_interval": 20}, {"stat_interval": 30}]
        assert agent.ask("define", workloads=[workload], settings=settings)["event"] == "done"
        for _ in range(2):
            steps = [[0, which, 0, 0] for which in (0, 1, 0, 2, 2, 1)]
            events = agent.answer(agent.send("measure", first=0, steps=steps, load="totals"))
            assert events[-1]["event"] == "done", events[-1]
            loads = [
                dict(zip(agent.greeting["load_columns"], row, strict=True))
                for e in events
                if e["event"] == "loads"
                for row in e["rows"]
            ]
            assert len(loads) == len(steps)
            assert sum(load["samples"] for load in loads) >= 1
            assert agent.ask("release")["unsettled"] == []
            assert (tree / "proc/sys/vm/stat_interval").read_text().strip() == "1"
    finally:
        agent.close()


def test_a_killed_agent_leaves_its_runs_and_ends(agent, tmp_path):
    """The sampler is part of the agent: it keeps nothing alive."""
    agent.ask("define", workloads=[{"argv": ["sleep", "100"]}], settings=[{}])
    agent.send("measure", first=0, steps=[[0, 0, 0, 0]], load="series")
    time.sleep(0.2)
    agent.process.kill()
    assert agent.process.wait(timeout=120) == -9
    # The group that it had made is gone when the next one has measured.
    after = Agent()
    try:
        assert len(observed(after, *spinning(0.15))[0]) == 1
    finally:
        after.close()
    if (home := unified()) is not None:
        assert not (home / f"becalm-{agent.process.pid}").exists()
