"""The running machine itself: settings put on, agent and guard killed anywhere, everything as before."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

import pytest
from tests.machine.restore.real import differences, machine, swap_areas
from tests.machine.restore.stepping import Stepped
from tests.machine.restore.talk import Agent, end, guards, holders, wait_for

from becalm.hosts.agent import agent_path

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it changes settings of this machine"),
    pytest.mark.skipif(
        not os.access("/proc/sys/vm/swappiness", os.W_OK), reason="this machine's settings are read-only"
    ),
]

JOURNAL = Path("/var/lib/becalm/journal")
MANY = {
    "aslr_system": "off",
    "stat_interval": 20,
    "perf_rate": 1000,
    "transparent_hugepages": "never",
    "hugepage_defrag": "never",
    "ksm": "on",
    "swappiness": 13,
    "timer_migration": "off",
    "watchdogs": "off",
    "workqueue_cpus": "away",
    "irq_affinity": "away",
    "cpu_dma_latency": 0,
    "swap": "off",
    "services": "pause",
}
SETTINGS = [
    MANY,
    {"isolation": "first-core", "irq_affinity": "away", "swappiness": 13, "swap": "off"},
    {"swappiness": 14, "aslr_system": 1},
    {},
    {"online_cpus": "first", "swappiness": 13, "watchdogs": "off"},
]
STEPS = [[0, which, 0, 0] for which in (0, 1, 2, 3, 4, 1)]
CUTS = 25
"""Moments for each way of dying, spread over the whole study: a hundred in all."""


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """The machine with swap areas and two bound processes of ours. Whatever happens, it is put back."""
    if JOURNAL.exists():
        pytest.skip(f"settings are on: {JOURNAL} is there")
    found = machine()
    cpus = sorted(os.sched_getaffinity(0))
    bound = [
        subprocess.Popen(["sleep", "10000"], preexec_fn=lambda cpu=cpu: os.sched_setaffinity(0, {cpu}))
        for cpu in {cpus[0], cpus[-1]}
    ]
    try:
        with swap_areas(tmp_path_factory.mktemp("swap")):
            yield machine()
            subprocess.run([agent_path(), "restore", "--force"], check=True)
    finally:
        for process in bound:
            process.kill()
            process.wait()
    assert differences(found, machine()) == {}


@pytest.fixture(scope="module")
def supported(before):
    """The sets with what this machine has; empty ones are still sets."""
    with Agent() as agent:
        here = {knob["name"] for knob in agent.done("knobs")["knobs"] if knob["supported"]}
    return [{name: value for name, value in each.items() if name in here} for each in SETTINGS]


@pytest.fixture(scope="module")
def moments(supported):
    """How many system calls, begun or ended, an undisturbed study has."""
    with Agent() as agent:
        assert agent.define(supported)["event"] == "done"
        try:
            traced = Stepped(agent.pid)
        except PermissionError:
            pytest.skip("processes cannot be traced here (ptrace is forbidden)")
        study(agent)
        assert not traced.run()
        return traced.stops


def study(agent):
    agent.send("measure", first=0, steps=STEPS)
    agent.send("bye")


def check(before):
    wait_for(lambda: not holders(None))
    if JOURNAL.exists():
        done = subprocess.run([agent_path(), "restore"], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
    assert differences(before, machine()) == {}
    assert not JOURNAL.exists()
    assert not [path for path in Path("/proc").glob("[0-9]*/comm") if is_keeper(path)]


def is_keeper(comm):
    try:
        return comm.read_text() == "becalm-keeper\n" and "Z" not in (comm.parent / "stat").read_text().split()[2]
    except OSError:
        return False


def test_each_set_is_on_and_off_again(before, supported):
    with Agent() as agent:
        for settings in supported:
            done = agent.done("hold", settings=settings, dangerous=True)
            now = machine()
            for change in done["changes"]:
                # Single interrupts may refuse, and then it says so.
                if change["changes"] and change["place"] in now and change["place"] not in str(done["remarks"]):
                    assert now[change["place"]] != before[change["place"]], change
            released = agent.done("release")
            assert released["unsettled"] == []
            assert differences(before, machine()) == {}


def test_a_study(before, supported):
    with Agent() as agent:
        assert agent.define(supported)["event"] == "done"
        done = agent.done("measure", first=0, steps=STEPS * 2)
        assert (done["ran"], done["drift"]) == (len(STEPS) * 2, [])
    assert differences(before, machine()) == {}


@pytest.mark.parametrize("who", ["agent", "guard", "both", "line"])
def test_cut_at_any_system_call(before, supported, moments, who):
    for cut in range(CUTS):
        agent = Agent()
        assert agent.define(supported)["event"] == "done"
        traced = Stepped(agent.pid)
        study(agent)
        alive = traced.run(moments * cut // CUTS)
        if who in ("guard", "both"):
            for guard in guards(None):
                end(guard)
        if who == "line":
            agent.process.stdin.close()
        if alive and who in ("agent", "both"):
            traced.kill()
        elif alive:
            traced.run()
        agent.process.wait()
        agent.process.stdout.close()
        check(before)


def test_cut_while_settings_are_left_on(before, supported):
    """They stay and the journal says so, or they are put back; nobody holds a device that no journal knows of."""
    latency = {name: value for name, value in supported[0].items() if name == "cpu_dma_latency"}

    def leave_on(agent):
        agent.send("hold", settings={**supported[2], **latency}, dangerous=True, keep=True)
        agent.send("bye")

    with Agent() as agent:
        traced = Stepped(agent.pid)
        leave_on(agent)
        assert not traced.run()
        length = traced.stops
    assert JOURNAL.exists()
    check(before)
    for cut in range(length // 3, length, 5):
        agent = Agent()
        traced = Stepped(agent.pid)
        leave_on(agent)
        if traced.run(cut):
            traced.kill()
        agent.process.wait()
        agent.process.stdout.close()
        check(before)


def test_settings_that_stay(before, supported):
    """Kept settings outlive the agent, latency too; nothing is put on top of them; restore ends them."""
    with Agent(title="a profile") as agent:
        agent.done("hold", settings=supported[0], dangerous=True, keep=True)
    with Agent() as agent:
        journal = agent.done("status")["journal"]
        assert (journal["title"], journal["kept"] == supported[0]) == ("a profile", True)
        single = [place for place in journal["places"] if place["ours"] and place["knob"] != "irq_affinity"]
        assert single
        assert all(place["now"] == place["ours"] for place in single)
        assert agent.error("hold", settings={"swappiness": 5})["kind"] == "kept"
        if "cpu_dma_latency" in supported[0]:
            assert machine()["latency"] == (0,)
        answer = agent.done("restore")
        assert answer["unsettled"] == []
    check(before)


def test_what_a_killed_study_leaves_running_is_let_out_of_its_group(before, supported):
    if "isolation" not in supported[1]:
        pytest.skip("no CPUs can be isolated here")
    with Agent() as agent:
        agent.define([supported[1]], ("/bin/sh", "-c", "setsid sleep 9999.125 & wait"))
        agent.send("measure", first=0, steps=[[0, 0, 0, 0]])
        try:
            wait_for(lambda: sleepers())
            (pid,) = sleepers()
            assert "becalm-isolated" in Path(f"/proc/{pid}/cgroup").read_text()
            agent.kill()
            check(before)
            for pid in sleepers():
                assert "becalm" not in Path(f"/proc/{pid}/cgroup").read_text()
        finally:
            for pid in sleepers():
                end(pid)


def sleepers():
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes() == b"sleep\x009999.125\x00":
                found.append(int(path.parent.name))
    return found


def test_a_task_bound_after_the_definition_is_bound_again(before, supported):
    """Tasks come and go during a study; who is bound when CPUs are taken away gets them back."""
    cpus = sorted(os.sched_getaffinity(0))
    with Agent() as agent:
        agent.define(supported)
        late = subprocess.Popen(["sleep", "10000"], preexec_fn=lambda: os.sched_setaffinity(0, {cpus[-1]}))
        try:
            for which in (1, 4):
                agent.done("measure", first=0, steps=[[0, which, 0, 0]])
                agent.done("release")
                assert os.sched_getaffinity(late.pid) == {cpus[-1]}
        finally:
            late.kill()
            late.wait()
