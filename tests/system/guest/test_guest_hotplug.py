"""CPUs that go offline and come back in guests with kernels 6.1 and 6.12.

Who runs when is recorded meanwhile, and programs that were moved to such a CPU get back exactly what they had.
"""

import pytest
from tests.measuring import runs_and_texts
from tests.needs import missing
from tests.system.guest.kernels import outputs, processes, shell

from becalm.errors import RefusedError, UnsettledError
from becalm.hosts import MeasureRequest
from becalm.hosts.events import OfRecording
from becalm.hosts.recorded import MEANS, Recorded, Recording, Records, Started
from becalm.nouns.demand import Demand
from becalm.nouns.run import Block, Step
from becalm.nouns.settings import Settings


def recorded(guest, request):
    """Return the events of a recording; skip the test where this agent was built without its means."""
    try:
        return [event for event in guest.measure(request) if isinstance(event, OfRecording)]
    except RefusedError as error:
        missing(f"{error} (make bpf)") if "built without" in str(error) else pytest.fail(str(error))


@pytest.mark.parametrize("by", MEANS)
def test_switches_of_tasks_are_recorded_in_a_guest(guest, by):
    """Record by groups of counters and by programs of the kernel, with tracepoints and types of other kernels."""
    pauses = shell("for pause in 1 2 3 4 5; do sleep 0.02; done")
    guest.define([pauses], [Settings()])
    request = MeasureRequest(0, Block((Step(0, 0, 0, 0),)), recording=Recording("faults", by=by))
    counting, *events = recorded(guest, request)
    (started,) = [event for event in events if isinstance(event, Started)]
    (end,) = [event for event in events if isinstance(event, Recorded)]
    rows = [row for event in events if isinstance(event, Records) for row in event.rows]
    assert (counting.by, counting.cpus) == (by, "0-2")
    assert {**end.trouble, "lost": 0} == {"lost": 0, "shared": 0, "unread": 0, "offline": 0}
    whats = [row["what"] for row in rows]
    # On a busy machine the kernel may drop some.
    if not end.trouble["lost"]:
        assert {"exit": {"task": started.pid}} in whats
        assert any(what.get("switch", {}).get("out") == started.pid for what in whats if what != "tick")
    # One that began on another CPU, or before it was counted, may end here.
    assert all(row["references"] + 5 >= row["misses"] for row in rows)
    assert max(row["references"] for row in rows) > 100


ONLINE = "/sys/devices/system/cpu/cpu1/online"
MASK = "grep Cpus_allowed_list /proc/{}/status"


COUNTERS = "ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c perf_event"
"""The number of counters that are open in the machine: those of a CPU are closed when it is seen to have gone."""

PLUGGED = f"""
all=$({COUNTERS})
echo 0 > {ONLINE}
while [ $({COUNTERS}) -ge $all ]; do sleep 0.05; done
echo 1 > {ONLINE}
while [ $({COUNTERS}) -lt $all ]; do sleep 0.05; done
taskset -c 1 true
"""


@pytest.mark.parametrize("by", MEANS)
def test_a_cpu_that_goes_and_comes_back_is_unknown_meanwhile_and_recorded_again(guest, by):
    guest.define([shell(PLUGGED)], [Settings()])
    request = MeasureRequest(0, Block((Step(0, 0, 0, 0),)), recording=Recording("faults", by=by))
    events = recorded(guest, request)
    rows = [row for event in events if isinstance(event, Records) for row in event.rows]
    (end,) = [event for event in events if isinstance(event, Recorded)]
    assert end.trouble["offline"] == 1
    assert not end.absent, "it is recorded again"
    of_it = [row["what"] for row in rows if row["cpu"] == 1]
    assert "offline" in of_it
    assert of_it[-1] != "offline"
    times = [row["time_ns"] for row in rows]
    assert times == sorted(times)


@pytest.fixture
def program(guest):
    """The process id of a program that goes on in the guest; CPU 1 is there again afterwards."""
    with guest.loading(Demand(cpu=0.2)):
        parents = {pid: parent for pid, name, parent in processes(guest) if name == "becalm-load"}
        # The first one waits, and is the parent of the one that works.
        yield next(pid for pid, parent in parents.items() if parent in parents)
    outputs(guest, (shell(f"echo 1 > {ONLINE}"), 0))


def cpus(guest, program):
    """Return the CPUs that a program may use now."""
    (line,) = outputs(guest, (shell(MASK.format(program)), 0))
    return line.split()[1]


WIDENED = f"while grep -q 'Cpus_allowed_list:.1$' /proc/{{0}}/status; do sleep 0.01; done; {MASK.format('{0}')}"
"""The kernel gives one that sleeps other CPUs when it wakes, where its last one went (select_fallback_rq in
kernel/sched/core.c)."""

MEANWHILE = {
    "goes": f"echo 0 > {ONLINE}; {{}}",
    "goes and comes back": f"echo 0 > {ONLINE}; {{}}; echo 1 > {ONLINE}",
    "goes in a cpuset of its own": f"echo 0 > {ONLINE}; {{}}",
}
"""The fate of the CPU that it was moved to."""

GROUP = "/sys/fs/cgroup/here"
IN_A_CPUSET = f"mkdir {GROUP}; echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control; echo {{}} > {GROUP}/cgroup.procs"
OUT_OF_IT = f"echo {{}} > /sys/fs/cgroup/cgroup.procs; rmdir {GROUP}"


@pytest.mark.parametrize("had", ["0-2", "1-2"])
@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_a_program_whose_cpu_goes_offline_after_it_was_moved_there_gets_back_what_it_had(
    guest, program, had, meanwhile
):
    own = "cpuset" in meanwhile
    if own:
        outputs(guest, (shell(IN_A_CPUSET.format(program)), 0))
    try:
        outputs(guest, (shell(f"taskset -acp {had} {program}"), 0))
        moved = {"process_cpus": f"{program}:1"}
        step = shell(f"{MASK.format(program)}; {MEANWHILE[meanwhile].format(WIDENED.format(program))}")
        (text,) = outputs(guest, (step, 0), settings=(moved,))
        before, after = (line.split()[1] for line in text.splitlines())
        assert before == "1"
        assert after != "1"
        # Before 6.2 a task takes only CPUs that are online, where nobody but the kernel gives it all.
        if (guest.version, meanwhile, had) == ("6.1", "goes", "1-2"):
            with pytest.raises(UnsettledError, match="of the CPUs 1-2, 1 are offline"):
                guest.settle()
            assert cpus(guest, program) == "2"
            outputs(guest, (shell(f"echo 1 > {ONLINE}"), 0))
            assert not guest.restore().unsettled
        guest.settle()
        assert not guest.status().places, "nothing is left in the journal"
        outputs(guest, (shell(f"echo 1 > {ONLINE}"), 0))
        # Until 6.1 a CPU that comes gives everybody in such a cpuset all of it, whoever bound them.
        forgotten = own and guest.version == "6.1"
        assert cpus(guest, program) == ("0-2" if forgotten else had)
        # The journal is empty: it can be moved again.
        (again,) = outputs(guest, (shell(MASK.format(program)), 0), settings=(moved,))
        assert again.split()[1] == "1"
    finally:
        if own:
            outputs(guest, (shell(OUT_OF_IT.format(program)), 0))


def test_cpus_chosen_while_one_was_offline_stay_until_a_forced_reset(guest, program):
    outputs(guest, (shell(f"taskset -acp 1-2 {program}"), 0))
    moved = {"process_cpus": f"{program}:1"}
    chosen = shell(f"echo 0 > {ONLINE}; taskset -acp 0 {program}")
    guest.define([chosen], [Settings.of(moved)])
    outputs(guest, (chosen, 0), settings=(moved,))
    with pytest.raises(UnsettledError, match="somebody else changed it"):
        guest.settle()
    assert cpus(guest, program) == "0"
    assert guest.status().places
    by_force = guest.restore(force=True).unsettled
    assert len(by_force) == (guest.version == "6.1"), by_force
    outputs(guest, (shell(f"echo 1 > {ONLINE}"), 0))
    assert not guest.restore().unsettled
    assert not guest.status().places
    assert cpus(guest, program) == "1-2"


TAKES = {"online_cpus": "0,2", "isolation": "1"}
"""Settings that take CPU 1 from everybody else."""


@pytest.mark.parametrize("knob", TAKES)
@pytest.mark.parametrize("had", ["1", "1-2"])
def test_somebody_elses_program_gets_back_the_cpus_that_a_setting_took(guest, program, knob, had):
    """Check it also up to 6.1, where the kernel gives it others and forgets its own: at once, or when it next wakes."""
    outputs(guest, (shell(f"taskset -acp {had} {program}"), 0))
    guest.define([shell(MASK.format(program))], [Settings(), Settings.of({knob: TAKES[knob]})], dangerous=True)
    rows, texts = runs_and_texts(guest, (0, 1))
    assert [run.outcome for run in rows] == ["ok"], texts
    if knob == "isolation":
        assert "".join(texts[0]).split()[1] in ("0,2", "2"), "it was taken"
    guest.settle()
    assert cpus(guest, program) == had
    assert not guest.status().places


def test_a_program_is_not_moved_to_a_cpu_that_is_offline(guest, program):
    outputs(guest, (shell(f"echo 0 > {ONLINE}"), 0))
    moved = Settings.of({"process_cpus": f"{program}:1"})
    with pytest.raises(RefusedError, match="1 are not online"), guest.hold(moved):
        pass
    assert cpus(guest, program) == "0-2"
    assert not guest.status().places
