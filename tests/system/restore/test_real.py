"""The running machine itself: settings put on, agent and guard killed anywhere, everything as before."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.contract.conversation import spawner
from tests.samples import samples
from tests.support.real import ARRIVAL, bring_back, differences, elsewhere, machine, swap_areas, unnamed
from tests.support.stepping import Stepped
from tests.support.talk import Agent, end, guards, holders
from tests.waiting import wait_for

from becalm.hosts.agent import agent_path

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it changes settings of this machine"),
    pytest.mark.skipif(
        not os.access("/proc/sys/vm/swappiness", os.W_OK), reason="this machine's settings are read-only"
    ),
]

JOURNAL = Path("/var/lib/becalm/journal")
INTERRUPTS = Path("/run/becalm/interrupts")
MANY = {
    "aslr_system": "off",
    "stat_interval": 20,
    # No value to which the kernel itself lowers it (tools/traces.py).
    "perf_rate": 1001,
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
AWAY = "interrupts that were elsewhere before"
CUTS = samples(12, 25)
"""The number of moments for each way to die, spread over the whole study."""


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """The machine with swap areas and two bound processes of ours. Whatever happens, it is restored."""
    if JOURNAL.exists():
        pytest.skip(f"settings are on: {JOURNAL} is there")
    # Interrupts that an earlier becalm has moved may go back in between; who still waits for them would for a minute.
    under_way = set(bring_back(1))
    present = machine()
    cpus = sorted(os.sched_getaffinity(0))
    bound = [
        subprocess.Popen(["sleep", "10000"], preexec_fn=lambda cpu=cpu: os.sched_setaffinity(0, {cpu}))
        for cpu in {cpus[0], cpus[-1]}
    ]
    try:
        with swap_areas(tmp_path_factory.mktemp("swap")):
            yield {**machine(), AWAY: under_way}
            subprocess.run([agent_path(), "restore", "--force"], check=True)
    finally:
        for process in bound:
            process.kill()
            process.wait()
        bring_back(10)
    assert left_different({**present, AWAY: under_way}) == {}


@pytest.fixture(scope="module")
def supported(before):
    """The sets with what this machine has; empty ones are still sets."""
    with Agent() as agent:
        here = {knob["name"] for knob in agent.done("knobs")["knobs"] if knob["supported"]}
    return [{name: value for name, value in setting.items() if name in here} for setting in SETTINGS]


@pytest.fixture(scope="module")
def moments(supported):
    """Return how many system calls, begun or ended, an undisturbed study has."""
    with Agent() as agent:
        assert (answer := agent.define(supported))["event"] == "done", answer
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


def excused():
    """Return the interrupts that may arrive elsewhere than before: those that becalm names with the CPU where they
    arrive, and those that it does not mention any more."""
    sentences, silent = elsewhere(), unnamed()
    for irq, sentence in sentences.items():
        assert irq not in silent, sentence
        now = Path(f"/proc/irq/{irq}/{ARRIVAL}").read_text().strip()
        assert re.search(rf"arrives? at CPU [0-9, -]*\b{now}\b.*, before", sentence)
    return {*sentences, *silent}


def left_different(before):
    """Return the differences, once the waiting for interrupts is over."""
    allowed = set(excused()) | before[AWAY]
    return differences(before, {**machine(), AWAY: before[AWAY]}, allowed)


def check(before):
    wait_for(lambda: not holders(None))
    # Whoever was to wait for interrupts may have been killed, too.
    if JOURNAL.exists() or INTERRUPTS.exists():
        done = subprocess.run([agent_path(), "restore", "--interrupt-wait", "0.2"], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
    assert left_different(before) == {}
    assert not JOURNAL.exists()
    wait_for(lambda: not [path for path in Path("/proc").glob("[0-9]*/comm") if is_keeper(path)])


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
            assert left_different(before) == {}


def test_a_study(before, supported):
    with Agent() as agent:
        assert (answer := agent.define(supported))["event"] == "done", answer
        done = agent.done("measure", first=0, steps=STEPS * 2)
        assert (done["ran"], done["drift"]) == (len(STEPS) * 2, [])
    assert left_different(before) == {}


@pytest.mark.parametrize("who", ["agent", "guard", "both", "line"])
def test_cut_at_any_system_call(before, supported, moments, who):
    for cut in range(CUTS):
        agent = Agent()
        assert (answer := agent.define(supported))["event"] == "done", answer
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
            traced.let_go()
        agent.process.wait()
        agent.process.stdout.close()
        check(before)


def test_cut_while_settings_are_left_on(before, supported):
    """They stay and the journal says so, or they are restored; nobody holds a device that no journal knows of."""
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
    # After an odd number of beginnings and ends of system calls, so that both are met.
    for cut in range(length // 3, length, samples(27, 9)):
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


def test_programs_of_a_killed_study_leave_its_group(before, supported):
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


def test_programs_begin_in_the_group_of_their_settings_and_their_commands_do_not(before, supported, tmp_path):
    """The process that starts them waits there for them, unless it starts commands too; the kernel hurries for none of
    them."""
    if "isolation" not in supported[1]:
        pytest.skip("no CPUs can be isolated here")
    seen = tmp_path / "seen"
    with Agent() as agent:
        starter = spawner(agent)
        look = (
            f"cat /proc/self/cgroup /sys/kernel/rcu_expedited > {seen}-$0; cat /proc/{starter}/cgroup > {seen}-starter"
        )
        program = {"argv": ["/bin/sh", "-c", look, "program"]}
        alongside = {**program, "prepare": ["/bin/sh", "-c", look, "command"]}
        agent.done("define", workloads=[program, alongside], settings=[supported[1], {}], dangerous=True)

        def inside(workload, settings):
            agent.done("measure", first=0, steps=[[workload, settings, 0, 0]])
            return ["becalm-isolated" in Path(f"{seen}-{who}").read_text() for who in ("program", "starter")]

        assert inside(0, 0) == [True, True]
        assert Path(f"{seen}-program").read_text().endswith("\n0\n")
        assert inside(0, 1) == [False, False]
        for _ in range(2):
            assert inside(1, 0) == [True, False]
            assert "becalm-isolated" not in Path(f"{seen}-command").read_text()
            assert inside(0, 0) == [True, True]
        agent.done("release")
        assert "becalm-isolated" not in Path(f"/proc/{starter}/cgroup").read_text()
    check(before)


def sleepers():
    result = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes() == b"sleep\x009999.125\x00":
                result.append(int(path.parent.name))
    return result


def test_a_task_bound_after_the_definition_is_bound_again(before, supported):
    """Tasks come and go during a study; who is bound when CPUs are taken away gets them back."""
    cpus = sorted(os.sched_getaffinity(0))
    with Agent() as agent:
        answer = agent.define(supported)
        assert answer["event"] == "done", answer
        late = subprocess.Popen(["sleep", "10000"], preexec_fn=lambda: os.sched_setaffinity(0, {cpus[-1]}))
        try:
            for which in (1, 4):
                agent.done("measure", first=0, steps=[[0, which, 0, 0]])
                agent.done("release")
                assert os.sched_getaffinity(late.pid) == {cpus[-1]}
        finally:
            late.kill()
            late.wait()


@pytest.fixture
def cpusets(before):
    """Cpusets of somebody else's on cgroup v1, of all CPUs and of the last one; in each a process that starts more."""
    top = Path("/sys/fs/cgroup/cpuset")
    if not (top / "cpuset.cpus").exists():
        pytest.skip("cpuset is not on cgroup v1 here")
    cpus = sorted(os.sched_getaffinity(0))
    groups, running = {}, []
    try:
        for name, held in (("test-all", f"{cpus[0]}-{cpus[-1]}"), ("test-last", str(cpus[-1]))):
            groups[name] = top / name
            groups[name].mkdir()
            (groups[name] / "cpuset.cpus").write_text(held)
            (groups[name] / "cpuset.mems").write_text((top / "cpuset.mems").read_text())
            process = subprocess.Popen(["sh", "-c", "while :; do sleep 0.05; done"])
            running.append(process)
            (groups[name] / "tasks").write_text(str(process.pid))
        yield groups, running
    finally:
        for process in running:
            process.kill()
            process.wait()
        for group in groups.values():
            wait_for(lambda group=group: not (group / "tasks").read_text())
            group.rmdir()


def cpusets_now(cpusets):
    groups, running = cpusets
    held = {name: (group / "cpuset.cpus").read_text().strip() for name, group in groups.items()}
    members = [
        next(line for line in Path(f"/proc/{process.pid}/cgroup").read_text().splitlines() if ":cpuset:" in line)
        for process in running
    ]
    return held, members, [os.sched_getaffinity(process.pid) for process in running]


@pytest.mark.parametrize(
    "order",
    [("isolation", "online_cpus"), ("irq_affinity", "online_cpus"), ("online_cpus", "isolation"), ("online_cpus",)],
    ids="-".join,
)
def test_cpusets_of_others_their_tasks_and_masks_are_as_before(before, supported, cpusets, order):
    """Changes that the kernel makes for the second setting are not taken for somebody else's; one release undoes
    them."""
    values = {"isolation": "first-core", "irq_affinity": "1", "online_cpus": "first"}
    sets = [{name: values[name]} for name in order]
    if any(name not in {name for settings in supported for name in settings} for name in order):
        pytest.skip("this machine does not have all of these settings")
    as_before = cpusets_now(cpusets)
    with Agent() as agent:
        agent.define(sets)
        done = agent.done("measure", first=0, steps=[[0, which, 0, 0] for which in range(len(sets))])
        assert done["drift"] == []
        if order[-1] == "online_cpus":
            held, members, _ = cpusets_now(cpusets)
            assert held["test-last"] == ""
            assert members[1].endswith(":/"), "its last CPU went, and so did its task"
        assert agent.done("release")["unsettled"] == []
    assert cpusets_now(cpusets) == as_before
    assert left_different(before) == {}
    # What the task has started meanwhile is where it is.
    wait_for(lambda: len((cpusets[0]["test-last"] / "tasks").read_text().split()) >= 2)
