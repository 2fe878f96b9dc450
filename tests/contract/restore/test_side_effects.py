"""Side effects of a setting in the kernel are restored with it, and never taken for somebody else's change."""

from __future__ import annotations

import itertools

import pytest
from tests.support.laptop import changed, laptop, process, put, snapshot, strays
from tests.support.talk import Agent, end, guards, holders
from tests.waiting import wait_for

ONE = {"irq_affinity": "1", "swappiness": 10}
"""Settings for a machine of 4 CPUs: the CPUs that go offline next lose what these leave on CPUs 1 to 3."""
TWO = {"isolation": "0"}
THREE = {"online_cpus": "first"}
FOUR = {"online_cpus": "0,2", "irq_affinity": "all"}
ORDERS = [(ONE, THREE), (TWO, THREE), (ONE, FOUR), (TWO, FOUR), (THREE, TWO), (FOUR, ONE), (TWO, ONE, THREE, FOUR)]


@pytest.fixture(params=[1, 2], ids=["cgroup-v1", "cgroup-v2"])
def root(request, tmp_path):
    """Four CPUs; on v1 with cpusets: of all of them, of the first two, of the last alone with a process in it."""
    return laptop(tmp_path / "root", cpus=4, cgroup=request.param)


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: "-".join(next(iter(index)) for index in order))
def test_one_set_after_the_other(root, order):
    """The first one's values must be off before the second one has the kernel change them."""
    before = snapshot(root)
    with Agent(root) as agent:
        agent.define(list(order))
        done = agent.done("measure", first=0, steps=[[0, which, 0, 0] for which in range(len(order))] * 2)
        assert done["drift"] == [], "nothing of it is somebody else's"
        assert agent.done("release")["unsettled"] == []
    assert changed(before, snapshot(root)) == {}
    assert strays(root) == []


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: "-".join(next(iter(index)) for index in order))
def test_one_plain_reset_after_both_were_killed(root, order):
    before = snapshot(root)
    agent = Agent(root)
    agent.define(list(order))
    agent.done("measure", first=0, steps=[[0, which, 0, 0] for which in range(len(order))])
    for guard in guards(root):
        end(guard)
    agent.kill()
    agent.process.stdout.close()
    wait_for(lambda: not holders(root))
    assert changed(before, snapshot(root)) != {}
    with Agent(root) as agent:
        assert agent.done("restore")["unsettled"] == []
    assert changed(before, snapshot(root)) == {}


def test_a_mask_that_somebody_else_sets_is_left(root):
    """A mask that is neither the old one, nor ours, nor the kernel's."""
    with Agent(root) as agent:
        agent.define([ONE, THREE])
        agent.done("measure", first=0, steps=[[0, 1, 0, 0], [0, 0, 0, 0]])
        put(root, "proc/irq/16/smp_affinity", "9")
        (sentence,) = agent.done("release")["unsettled"]
        assert "/proc/irq/16/smp_affinity" in sentence
        assert "somebody else" in sentence


# --- what one write moves elsewhere -----------------------------------------------------------------------------------

KEPT_FREE = "proc/sys/vm/min_free_kbytes"
"""The value that the kernel computes anew when there are huge pages, or no more (set_recommended_min_free_kbytes)."""


@pytest.mark.parametrize("killed", [False, True])
def test_memory_that_somebody_keeps_free_is_as_it_was_after_huge_pages_were_off(root, killed):
    before = snapshot(root)
    agent = Agent(root)
    agent.done("hold", settings={"transparent_hugepages": "never"})
    assert (root / KEPT_FREE).read_text() == "19832\n", "the kernel has computed it"
    places = {place["place"]: place for place in agent.done("status")["journal"]["places"]}
    assert places[f"/{KEPT_FREE}"]["original"] == "50000"
    assert places[f"/{KEPT_FREE}"]["side_effect"]
    if killed:
        for guard in guards(root):
            end(guard)
        agent.kill()
        agent.process.stdout.close()
        wait_for(lambda: not holders(root))
        with Agent(root) as agent:
            assert agent.done("restore")["unsettled"] == []
    else:
        assert agent.done("release")["unsettled"] == []
        agent.close()
    assert (root / KEPT_FREE).read_text() == "50000\n"
    assert changed(before, snapshot(root)) == {}


def test_a_study_restores_between_its_blocks_what_the_kernel_moved(root):
    with Agent(root) as agent:
        agent.define([{"transparent_hugepages": "never"}, {"swappiness": 1}])
        agent.done("measure", first=0, steps=[[0, 0, 0, 0]])
        assert (root / KEPT_FREE).read_text() == "19832\n"
        agent.done("measure", first=0, steps=[[0, 1, 0, 0]])
        assert (root / KEPT_FREE).read_text() == "50000\n"


# --- who is in a cpuset of v1 -----------------------------------------------------------------------------------------


@pytest.fixture
def old(tmp_path):
    """Four CPUs under cgroup v1."""
    return laptop(tmp_path / "root", cpus=4, cgroup=1)


def group(root, pid):
    return (root / f"proc/{pid}/cgroup").read_text().strip().removeprefix("1:cpuset:")


def allowed(root, pid):
    return (root / f"proc/{pid}/status").read_text().rsplit("\t", 1)[1].strip()


def test_tasks_that_fall_out_of_an_empty_set_are_restored(old):
    before = snapshot(old)
    with Agent(old) as agent:
        agent.done("hold", settings=THREE, dangerous=True)
        assert (group(old, 900), (old / "sys/fs/cgroup/cpuset/last/cpuset.cpus").read_text()) == ("/", "\n")
        status = agent.done("status")["journal"]["places"]
        assert any(place["place"] == "cpuset of task 900" and place["original"] == "/last" for place in status)
        assert agent.done("release")["unsettled"] == []
        assert (group(old, 900), allowed(old, 900)) == ("/last", "3")
    assert changed(before, snapshot(old)) == {}


def test_children_started_meanwhile_return_to_the_cpuset_of_their_parents(old):
    with Agent(old) as agent:
        agent.done("hold", settings=THREE, dangerous=True)
        for pid, parent in ((950, 900), (960, 950), (970, 1)):
            process(old, pid, f"child-of-{parent}", "0-3")
            for file in (old / f"proc/{pid}/stat", old / f"proc/{pid}/task/{pid}/stat"):
                file.write_text(file.read_text().replace(") S 1 ", f") S {parent} "))
            with (old / "sys/fs/cgroup/cpuset/tasks").open("a") as tasks:
                tasks.write(f"{pid}\n")
    assert [group(old, pid) for pid in (900, 950, 960, 970)] == ["/last", "/last", "/last", "/"]
    assert (old / "sys/fs/cgroup/cpuset/last/tasks").read_text() == "900\n950\n960\n"


def test_a_task_that_somebody_has_moved_elsewhere_stays_there(old):
    with Agent(old) as agent:
        agent.done("hold", settings=THREE, dangerous=True)
        (old / "proc/900/cgroup").write_text("1:cpuset:/docker\n")
        put(old, "sys/fs/cgroup/cpuset/docker/tasks", "900")
        put(old, "sys/fs/cgroup/cpuset/tasks", "1\n812\n815")
        assert agent.done("release")["unsettled"] == []
    assert group(old, 900) == "/docker"


def test_a_task_that_has_ended_is_no_failure(old):
    with Agent(old) as agent:
        agent.done("hold", settings=THREE, dangerous=True)
        for file in sorted((old / "proc/900").rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
        released = agent.done("release")
    assert released["unsettled"] == []
    fates = {place["fate"] for place in released["places"] if "task 900" in place["place"]}
    assert fates <= {"gone", "untouched"}


def test_every_pair_of_settings_that_move_cpus(old):
    """All ordered pairs, in one conversation: no state of an earlier pair is left in a later one."""
    sets = [ONE, TWO, THREE, FOUR, {"smt": "off"}, {"isolation": "2", "irq_affinity": "away"}]
    before = snapshot(old)
    with Agent(old) as agent:
        agent.define(sets)
        for first, second in itertools.permutations(range(len(sets)), 2):
            done = agent.done("measure", first=0, steps=[[0, first, 0, 0], [0, second, 0, 0]])
            assert done["drift"] == [], (sets[first], sets[second])
            assert agent.done("release")["unsettled"] == [], (sets[first], sets[second])
            assert changed(before, snapshot(old)) == {}, (sets[first], sets[second])
