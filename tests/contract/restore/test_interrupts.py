"""Interrupts that were moved: back where they arrived as soon as they fire, with their old mask; what stays is said."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest
from tests.support.laptop import changed, laptop, snapshot
from tests.support.laptop import put as written
from tests.support.opens import Opens
from tests.support.talk import Agent, end, guards, holders, processes_of
from tests.waiting import HANG_LIMIT_S, wait_for

from becalm.hosts.agent import agent_path

QUIET = 9
"""An interrupt that has fired before and fires again only when a test has it fire; it arrives at CPU 1 of 4."""
BEFORE = 7
"""The number of times that it has fired since the boot."""
FIXED = 130
"""The one that the kernel lets nobody move."""
LONG, SHORT = 100_000.0, 0.05
"""Seconds that interrupts may take to be back: longer than a test waits for anything, and hardly any."""


@pytest.fixture
def root(tmp_path):
    """A machine on which QUIET does not fire now and FIXED arrives at a CPU that can go offline."""
    root = laptop(tmp_path / "root", cpus=4)
    counted(root, BEFORE)
    put(root, f"proc/irq/{QUIET}/silent", "")
    put(root, f"proc/irq/{FIXED}/effective_affinity_list", "2")
    yield root
    # Whoever still waits has nothing to wait for.
    for pid in processes_of(root, "becalm-keeper", "becalm-guard"):
        end(pid)


def put(root, path, text):
    """Write a file of a machine that somebody may be reading: as the kernel's files, it is never empty in between."""
    written(root, "aside", text)
    (root / "aside").rename(root / path)


def counted(root, count):
    """Have the kernel count so many of QUIET."""
    put(
        root, "proc/interrupts", f"{QUIET:4}: {count} 0 0 0 IO-APIC device{QUIET}\n{FIXED:4}: 9 0 0 0 MSI device{FIXED}"
    )


def mask(root, irq=QUIET):
    return (root / f"proc/irq/{irq}/smp_affinity").read_text().strip()


def at(root, irq=QUIET):
    return (root / f"proc/irq/{irq}/effective_affinity_list").read_text().strip()


def fire(root, irq=QUIET):
    """Let the interrupt arrive: the kernel moves it to the first CPU of its mask (irq_move_masked_irq)."""
    bits = int(mask(root, irq), 16)
    if not bits >> int(at(root, irq)) & 1:
        put(root, f"proc/irq/{irq}/effective_affinity_list", str((bits & -bits).bit_length() - 1))


def elsewhere(root):
    with Agent(root) as agent:
        return agent.done("status")["elsewhere"]


def offline(root, wait):
    """Take CPUs offline and bring them back; return the reports before, and after."""
    with Agent(root, wait=wait) as agent:
        before = agent.done("plan", settings={"online_cpus": "first"}, dangerous=True)["lasting"]
        assert agent.done("hold", settings={"online_cpus": "first"}, dangerous=True)["lasting"] == before
        return before, agent.done("release")


def test_interrupts_that_will_not_come_back_are_a_cost_reported_before(root):
    names = f"interrupt {FIXED} (device{FIXED})"
    with Agent(root) as agent:
        costs = {row["name"]: row["costs"] for row in agent.done("knobs")["knobs"]}
        remarks = agent.define([{"online_cpus": "first"}, {"online_cpus": "0,2-3"}, {"swappiness": 1}])["lasting"]
        assert agent.done("plan", settings={"swappiness": 1})["lasting"] == []
    assert f"another CPU will handle {names} until the machine restarts" in costs["online_cpus"]
    assert "restarts" not in costs["irq_affinity"]
    assert len([line for line in remarks if names in line]) == 1, "CPU 2 stays online in one of the two"
    assert all(line.startswith("online_cpus: ") and line.endswith(".") for line in remarks)
    assert at(root, FIXED) == "2", "nothing was touched"


def test_one_that_fires_goes_back_and_has_its_old_mask(root):
    before = snapshot(root)
    _, released = offline(root, LONG)
    assert released["unsettled"] == []
    assert (at(root), mask(root)) == ("0", "2"), "offline moved it; its mask is where it was until it fires"
    assert sum("it goes back when it next fires" in line for line in released["elsewhere"]) == 1
    fates = {place["place"]: place["fate"] for place in released["places"]}
    assert (fates[f"interrupt {QUIET} (device{QUIET})"], fates["interrupt 1 (device1)"]) == ("returning", "returning")
    fire(root)
    wait_for(lambda: mask(root) == "f")
    wait_for(lambda: elsewhere(root) == [])
    assert set(changed(before, snapshot(root))) == {f"proc/irq/{FIXED}/effective_affinity_list"}


def test_one_that_does_not_fire_gets_its_mask_and_is_named(root):
    _, released = offline(root, SHORT)
    wait_for(lambda: mask(root) == "f")
    (silent,) = elsewhere(root)
    assert silent == (
        f"Interrupt {QUIET} (device{QUIET}) arrives at CPU 0, before at CPU 1: it has not fired since. "
        "`becalm reset` tries again; a restart puts it right."
    )
    assert not any(f"device{FIXED}" in line for line in released["elsewhere"]), "that was said before it was moved"


def test_one_that_has_fired_since_is_brought_back_by_the_next_becalm(root):
    """The keeper gave up before it fired: its count tells."""
    before = snapshot(root)
    offline(root, SHORT)
    wait_for(lambda: mask(root) == "f")
    assert "has not fired since" in elsewhere(root)[0]
    counted(root, BEFORE + 1176)
    with Agent(root, wait=LONG) as agent:
        (line,) = agent.done("status")["elsewhere"]
        assert "it goes back when it next fires" in line
        assert mask(root) == "2"
    fire(root)
    wait_for(lambda: mask(root) == "f")
    wait_for(lambda: elsewhere(root) == [])
    counted(root, BEFORE)
    assert set(changed(before, snapshot(root))) == {f"proc/irq/{FIXED}/effective_affinity_list"}


def test_one_that_has_never_fired_is_not_listed(root):
    counted(root, 0)
    before, released = offline(root, LONG)
    assert not any(f"device{QUIET}" in line for line in (*before, *released["elsewhere"]))
    assert mask(root) == "f", "it would not come, so nothing has it wait"
    assert elsewhere(root) == []
    counted(root, 1)
    with Agent(root, wait=LONG) as agent:
        assert "it goes back when it next fires" in agent.done("status")["elsewhere"][0]
    fire(root)
    wait_for(lambda: mask(root) == "f")
    wait_for(lambda: elsewhere(root) == [])


def test_interrupts_of_one_device_are_one_line(root):
    for irq, name in ((1, "virtio1-config"), (QUIET, "virtio1-req.0")):
        put(root, f"proc/irq/{irq}/silent", "")
        written(root, f"sys/kernel/irq/{irq}/actions", name)
        put(root, f"proc/irq/{irq}/effective_affinity_list", "1")
    offline(root, SHORT)
    wait_for(lambda: mask(root) == "f")
    lines = elsewhere(root)
    assert sum("Interrupts 1, 9 (virtio1-config, virtio1-req.0) arrive at CPU 0" in line for line in lines) == 1
    assert sum("virtio1" in line for line in lines) == 1


def test_reset_tries_again(root):
    offline(root, SHORT)
    wait_for(lambda: mask(root) == "f")
    command = [agent_path(), "restore", "--root", str(root), "--interrupt-wait", str(LONG)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_LIMIT_S)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("it goes back when it next fires") == 1
    assert mask(root) == "2"
    fire(root)
    wait_for(lambda: mask(root) == "f")
    wait_for(lambda: elsewhere(root) == [])


def test_becalms_own_never_pass_for_the_machines(root):
    """A second becalm comes before the first one's interrupt is back: it knows the old values."""
    before = snapshot(root)
    offline(root, SHORT)
    wait_for(lambda: mask(root) == "f")
    for settings in ({"irq_affinity": "3"}, {"online_cpus": "0-1"}, {"irq_affinity": "2"}):
        with Agent(root, wait=LONG) as agent:
            agent.done("hold", settings=settings, dangerous=True)
    assert (at(root), mask(root)) == ("0", "2")
    fire(root)
    wait_for(lambda: mask(root) == "f")
    assert set(changed(before, snapshot(root))) == {f"proc/irq/{FIXED}/effective_affinity_list"}


def test_a_study_has_every_interrupt_where_it_was_while_nothing_is_set(root):
    """Between runs with settings on there are runs without: the interrupt is under way to its own CPU in those."""
    with Agent(root, wait=LONG) as agent:
        agent.define([{"irq_affinity": "2"}, {}], ("/bin/sh", "-c", f"cat {root}/proc/irq/*/smp_affinity > /dev/null"))
        agent.done("measure", first=0, steps=[[0, 0, 0, 0]])
        assert mask(root) == "4"
        fire(root)
        assert at(root) == "2"
        agent.done("measure", first=0, steps=[[0, 1, 0, 0]])
        assert mask(root) == "2", "not the old mask, which would leave it where it is"
        fire(root)
        agent.done("measure", first=0, steps=[[0, 0, 0, 0], [0, 1, 0, 0]])
        fire(root)
        assert at(root) == "1"
    wait_for(lambda: mask(root) == "f")


def test_somebody_elses_mask_stays(root):
    offline(root, LONG)
    put(root, f"proc/irq/{QUIET}/smp_affinity", "8")
    fire(root)
    wait_for(lambda: elsewhere(root) == [])
    assert (at(root), mask(root)) == ("3", "8")


def test_one_that_is_just_being_moved_gets_its_mask_though_it_seems_to_have_it(root):
    """It arrives already where it should, and its mask still reads as before: what is written now, the kernel does
    after the move."""
    file = root / f"proc/irq/{QUIET}/smp_affinity"
    offline(root, LONG)
    (waiting,) = processes_of(root, "becalm-keeper")
    os.kill(waiting, signal.SIGSTOP)
    put(root, f"proc/irq/{QUIET}/smp_affinity", "f")
    put(root, f"proc/irq/{QUIET}/effective_affinity_list", "1")
    os.utime(file, (0, 0))
    os.kill(waiting, signal.SIGCONT)
    wait_for(lambda: file.stat().st_mtime > 0)
    wait_for(lambda: elsewhere(root) == [])


def test_one_that_is_just_being_moved_is_not_somebody_elses(root):
    """Its mask may read as it was while settings were on."""
    offline(root, LONG)
    (waiting,) = processes_of(root, "becalm-keeper")
    os.kill(waiting, signal.SIGSTOP)
    put(root, f"proc/irq/{QUIET}/effective_affinity_list", "1")
    put(root, f"proc/irq/{QUIET}/smp_affinity", "1")
    with Opens(root / "run/becalm/interrupts.lock") as opens:
        os.kill(waiting, signal.SIGCONT)
        # Who waits looks several times meanwhile.
        opens.wait(4)
    assert mask(root) == "1", "left as it is"
    put(root, f"proc/irq/{QUIET}/smp_affinity", "2")
    wait_for(lambda: mask(root) == "f")
    wait_for(lambda: elsewhere(root) == [])


def test_a_mask_of_ours_that_reads_as_before_is_written_all_the_same(root):
    """While the kernel moves an interrupt to ours its mask reads as before: believed, ours would stay for good."""
    file = root / f"proc/irq/{QUIET}/smp_affinity"
    before = file.read_text()
    with Agent(root) as agent:
        agent.done("hold", settings={"irq_affinity": "2-3"}, dangerous=True)
        assert file.read_text() != before
        put(root, f"proc/irq/{QUIET}/smp_affinity", before)
        os.utime(file, (0, 0))
        assert agent.done("release")["unsettled"] == []
    assert file.read_text() == before
    assert file.stat().st_mtime > 0


def test_a_mask_that_reads_as_wanted_is_written_all_the_same(root):
    """While the kernel moves an interrupt elsewhere its mask may read as wanted: believed, it would not be held."""
    file = root / f"proc/irq/{QUIET}/smp_affinity"
    put(root, f"proc/irq/{QUIET}/smp_affinity", "c")
    os.utime(file, (0, 0))
    with Agent(root) as agent:
        agent.done("hold", settings={"irq_affinity": "2-3"}, dangerous=True)
        assert (mask(root), file.stat().st_mtime > 0) == ("c", True)
        assert agent.done("release")["unsettled"] == []
    assert mask(root) == "c"


def test_masks_that_somebody_else_set_meanwhile_are_all_left(root):
    """They are looked at together once more."""
    every = sorted(int(path.parent.name) for path in root.glob("proc/irq/*/smp_affinity"))
    others = [irq for irq in every if irq not in (QUIET, FIXED)]
    assert len(others) > 1
    own = {irq: mask(root, irq) for irq in (*others, QUIET)}
    with Agent(root) as agent:
        agent.done("hold", settings={"irq_affinity": "2-3"}, dangerous=True)
        for irq in others:
            put(root, f"proc/irq/{irq}/smp_affinity", "8")
        left = agent.done("release")["unsettled"]
    assert all(any(f"/irq/{irq}/" in sentence for sentence in left) for irq in others)
    assert len(left) == len(others)
    assert {irq: mask(root, irq) for irq in others} == dict.fromkeys(others, "8")
    assert mask(root) == own[QUIET]


@pytest.mark.parametrize("victims", ["agent", "agent and guard"])
def test_the_killed_leave_it_to_the_guard_or_to_the_next(root, victims):
    before = snapshot(root)
    agent = Agent(root, wait=LONG)
    agent.done("hold", settings={"online_cpus": "first", "irq_affinity": "all"}, dangerous=True)
    if "guard" in victims:
        for guard in guards(root):
            end(guard)
    agent.kill()
    agent.process.stdout.close()
    wait_for(lambda: not holders(root))
    if "guard" in victims:
        with Agent(root, wait=LONG) as next_one:
            next_one.done("restore")
    assert mask(root) == "2"
    fire(root)
    wait_for(lambda: mask(root) == "f")
    assert set(changed(before, snapshot(root))) == {f"proc/irq/{FIXED}/effective_affinity_list"}


def test_the_next_becalm_restores_interrupts_when_the_keeper_was_killed(root):
    offline(root, LONG)
    (waiting,) = processes_of(root, "becalm-keeper")
    end(waiting)
    fire(root)
    assert mask(root) == "2", "nobody waits"
    assert elsewhere(root)[0] == (
        f"Interrupt {QUIET} (device{QUIET}) is back at CPU 1, and still bound to it. "
        "If that stays so, `becalm reset` restores its mask."
    )
    with Agent(root) as agent:
        assert agent.done("restore")["unsettled"] == []
    wait_for(lambda: mask(root) == "f")


def test_a_list_of_another_boot_says_nothing(root):
    offline(root, SHORT)
    wait_for(lambda: mask(root) == "f")
    put(root, "proc/sys/kernel/random/boot_id", "5f0c1c1e-0000-4000-8000-000000000002")
    assert elsewhere(root) == []
