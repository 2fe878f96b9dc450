"""A running process to another CPU: what the agent is asked for, and what is refused before."""

from contextlib import contextmanager

import pytest
from click.testing import CliRunner
from tests.unit.study.fake_processes import Processes

import becalm
from becalm.cli.migrate import command_migrate
from becalm.errors import RefusedError, UsageError
from becalm.hosts.abilities import YES, Ability
from becalm.hosts.applied_settings import AppliedSettings
from becalm.hosts.null import NullHost
from becalm.study import migrate_once, migrate_target
from becalm.verbs import migrate as verb


class Agent(NullHost):
    """A host that writes down what it is to keep and to hold."""

    def __init__(self):
        super().__init__()
        self._abilities |= {Ability.HOLD: YES, Ability.KEEP: YES}
        self.kept, self.held, self.on = [], [], []

    def keep(self, settings, *, dangerous=False):
        self.kept.append(dict(settings.values)["process_cpus"])
        return AppliedSettings(remarks=("said by the agent",))

    @contextmanager
    def hold(self, settings, *, dangerous=False):
        value = dict(settings.values)["process_cpus"]
        self.held.append(value)
        self.on.append(value)
        try:
            yield AppliedSettings()
        finally:
            self.on.remove(value)


@pytest.fixture
def machine(tmp_path):
    """CPUs 0 to 3 in two last-level caches; process 10 with two threads ran last on CPU 1, next to a loaded CPU 0."""
    (tmp_path / "root").mkdir()
    processes = Processes(tmp_path / "root")
    for cpu in range(4):
        for index, kind, level, shared in ((0, "Data", 1, cpu), (3, "Unified", 3, "0-1" if cpu < 2 else "2-3")):
            at = processes.root / f"sys/devices/system/cpu/cpu{cpu}/cache/index{index}"
            at.mkdir(parents=True)
            for name, text in (("type", kind), ("level", level), ("shared_cpu_list", shared)):
                (at / name).write_text(f"{text}\n")
    starts(processes, 10)
    (processes.root / "proc/10/task/11").mkdir(parents=True)
    (processes.root / "proc/10/task/10").mkdir(parents=True)
    loads(processes, [900, 500, 300, 100])
    return processes


def starts(machine, pid, cpu=1, flags=0, allowed="0-3"):
    machine.starts(pid, "web (1)", allowed=allowed)
    at = machine.root / "proc" / str(pid) / "stat"
    head, _, rest = at.read_text().rpartition(") ")
    fields = rest.split() + ["0"] * 40
    fields[6], fields[36] = str(flags), str(cpu)
    at.write_text(f"{head}) {' '.join(fields)}\n")


def loads(machine, worked):
    rows = [f"cpu{cpu} {ticks} 0 0 1000 50 0 0 0 0 0" for cpu, ticks in enumerate(worked)]
    (machine.root / "proc/stat").write_text("\n".join(["cpu  1 2 3 4 5 6 7 8 0 0", *rows, "intr 5"]) + "\n")


@pytest.fixture
def moved(machine, monkeypatch):
    agent = Agent()
    monkeypatch.setattr(migrate_once, "LOAD_S", 0.0)

    def move(*args, **options):
        options = {"duration": "10ms"} | options
        if options.get("keep"):
            options.pop("duration")
        return becalm.migrate(10, *args, host=agent, root=machine.root, **options)

    move.agent = agent
    return move


@pytest.mark.parametrize(("cpu", "value"), [(2, "2"), ("2", "2"), ("2-3", "2,3"), ((0, 3), "0,3")])
def test_all_of_it_is_bound_for_a_time_and_has_its_own_again(moved, cpu, value):
    messages = []
    done = moved(cpu, say=messages.append)
    assert moved.agent.held == [f"10@1010:{value}"]
    assert moved.agent.on == moved.agent.kept == []
    assert done.sentence.startswith("Process 10 (web (1), 2 threads) was moved from CPU 1 to CPU")
    assert messages == [f"{done.sentence} It lasts for 0.01 s, or until Ctrl-C."]
    assert done.remarks == ("Process 10 has its CPUs back.",)
    assert done.to_json() | {"sentence": ""} == {
        "becalm": becalm.__version__, "schema": 1, "kind": "migrated", "sentence": "", "pid": 10, "name": "web (1)",
        "from": 1, "cpus": list(done.cpus), "threads": 2, "took_ns": 0, "waited": None, "remarks": list(done.remarks),
    }  # fmt: skip


def test_kept_it_stays(moved):
    done = moved(2, keep=True)
    assert (moved.agent.kept, moved.agent.held) == (["10@1010:2"], [])
    assert done.remarks == ("said by the agent", "It stays until `becalm reset`.")
    with pytest.raises(UsageError, match="the time says when it comes back"):
        becalm.migrate(10, 2, keep=True, duration="1s", host=moved.agent, root="/none")


def test_ctrl_c_and_the_end_of_the_process_take_it_off(machine, moved, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(verb, "_until", interrupted)
        assert moved(2, duration=None).remarks == ("Process 10 has its CPUs back.",)
    done = moved(2, duration=None, say=lambda _: machine.starts(10, "other", start=5))
    assert done.remarks == ("Process 10 has ended.",), "its number is another process' now"
    assert moved.agent.on == []


def test_least_loaded_is_the_cpu_that_worked_least_meanwhile(machine, moved, monkeypatch):
    now = iter([[900, 500, 300, 100], [910, 500, 302, 120]] * 4)
    real = migrate_target.busy_ticks

    def busy(root):
        loads(machine, next(now))
        return real(root)

    monkeypatch.setattr(migrate_target, "busy_ticks", busy)
    moved()
    moved("least-loaded", llc="same")
    moved("least-loaded", llc="other")
    # Not CPU 1, where it runs and which is idle; 0 is the only other one of its cache.
    assert [settings.partition(":")[2] for settings in moved.agent.held] == ["2", "0", "2"]


def test_cpus_that_come_and_go_are_no_trouble_for_the_least_loaded():
    assert migrate_target.least_loaded((0, 1, 2), {0: 5, 2: 5}, {0: 9, 1: 0, 2: 6}) == 2
    assert migrate_target.least_loaded((1, 3), {}, {}) == 1


@pytest.mark.parametrize(
    ("cpu", "options", "words"),
    [
        (5, {}, "cannot be moved to CPU 5, which is not online; online are 0,1,2,3"),
        ("2-3", {"allowed": "0-2"}, "may use only the CPUs 0,1,2, because of its affinity and its cpuset, and not 3"),
        ("least-loaded", {"allowed": "1"}, "there is no other one to move it to"),
        ("least-loaded", {"online": "0-1", "allowed": "1-3"}, "may use the CPUs 1,2,3, of which 1 are online"),
        (0, {"llc": "other"}, "cannot go to CPU 0: with --llc other it can go to 2,3"),
        ("least-loaded", {"llc": "same", "allowed": "1-3"}, "none of the CPUs 2,3 that it may be moved to shares"),
    ],
)
def test_where_it_cannot_go_is_reported_and_nothing_is_set(machine, moved, cpu, options, words):
    machine.allows(10, options.get("allowed", "0-3"))
    machine.online(options.get("online", "0-3"))
    with pytest.raises(RefusedError, match=words) as error:
        moved(cpu, llc=options.get("llc"))
    assert str(error.value).endswith("Nothing was set.")
    assert moved.agent.held == moved.agent.kept == []


def test_caches_that_the_kernel_does_not_tell_are_no_ground_to_choose_by(machine, moved):
    for path in (machine.root / "sys/devices/system/cpu").glob("cpu*/cache/index*/shared_cpu_list"):
        path.unlink()
    with pytest.raises(RefusedError, match="does not report which CPUs share a cache with process 10"):
        moved(llc="same")
    with pytest.raises(UsageError, match=r"--llc is one of same, other, not 'near'\."):
        moved(llc="near")
    assert migrate_target.llcs(machine.root) == []


def test_the_caches_of_a_machine(machine):
    assert migrate_target.llcs(machine.root) == [[0, 1], [2, 3]]


def test_missing_processes_and_kernel_threads_are_refused(machine, moved):
    with pytest.raises(UsageError, match="There is no process 99, or it has ended"):
        becalm.migrate(99, 1, host=moved.agent, root=machine.root)
    starts(machine, 12, flags=migrate_target.PF_KTHREAD)
    with pytest.raises(RefusedError, match="is a thread of the kernel"):
        becalm.migrate(12, 1, host=moved.agent, root=machine.root)
    machine.starts(13, "dead", state="Z")
    with pytest.raises(UsageError, match="no process 13"):
        becalm.migrate(13, 1, host=moved.agent, root=machine.root)


def test_typed_it_prints_what_was_done(machine, moved, monkeypatch):
    real = becalm.migrate_all

    def here(pids, cpu, **options):
        return real(pids, cpu, **options, host=moved.agent, root=machine.root)

    monkeypatch.setattr(becalm, "migrate_all", here, raising=False)
    run = CliRunner().invoke(command_migrate, ["10", "2", "--keep"])
    assert run.output.splitlines() == [
        "Process 10 (web (1), 2 threads) was moved from CPU 1 to CPU 2.", "said by the agent",
        "It stays until `becalm reset`.",
    ]  # fmt: skip
    assert '"cpus": [\n    3\n  ]' in CliRunner().invoke(command_migrate, ["10", "3", "--json", "--for", "1ms"]).output
    assert "'0' is not a process number" in str(CliRunner().invoke(command_migrate, ["0", "3"]).exception)


# --- several processes ------------------------------------------------------------------------------------------------


def test_several_processes_are_held_together(machine, moved):
    starts(machine, 12)
    (machine.root / "proc/12/task/12").mkdir(parents=True)
    held = []
    done = becalm.migrate_all(
        [10, 12], "2-3", duration="10ms", host=moved.agent, root=machine.root, say=lambda _: held.extend(moved.agent.on)
    )
    assert held == ["10@1010:2,3", "12@1012:2,3"]
    assert moved.agent.on == []
    assert [(search.pid, search.remarks[-1]) for search in done] == [
        (10, "Process 10 has its CPUs back."), (12, "Process 12 has its CPUs back."),
    ]  # fmt: skip
    becalm.migrate_all([10, 12], 2, keep=True, host=moved.agent, root=machine.root)
    assert moved.agent.kept == ["10@1010:2;12@1012:2"]


def test_one_that_cannot_be_moved_leaves_none_bound(machine, moved):
    with pytest.raises(UsageError, match="no process 99"):
        becalm.migrate_all([10, 99], 2, host=moved.agent, root=machine.root)
    with pytest.raises(UsageError, match="each process once"):
        becalm.migrate_all([10, 10], 2, host=moved.agent, root=machine.root)
    assert moved.agent.held == []


def test_a_process_that_has_other_cpus_by_then_has_not_ended(machine, moved):
    def bound(_):
        starts(machine, 10, allowed="0-1")

    assert moved(2, say=bound).remarks == ("Process 10 has its CPUs back.",)


# --- beyond its affinity ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cgroup", "place", "name"),
    [
        ("4:cpuset:/a\n0::/\n", "sys/fs/cgroup/cpuset/a", "cpuset.effective_cpus"),
        ("0::/a/b\n", "sys/fs/cgroup/a", "cpuset.cpus.effective"),
        ("0::/\n", "sys/fs/cgroup", "cpuset.cpus.effective"),
    ],
)
def test_named_cpus_need_not_be_in_its_mask_but_in_its_cpuset(machine, moved, cgroup, place, name):
    starts(machine, 10, allowed="0")
    with pytest.raises(RefusedError, match="may use only the CPUs 0"):
        moved(1)
    (machine.root / "proc/10/cgroup").write_text(cgroup)
    (machine.root / place).mkdir(parents=True, exist_ok=True)
    (machine.root / place / name).write_text("0-1\n")
    assert moved(1).cpus == (1,)
    with pytest.raises(RefusedError, match="may use only the CPUs 0"):
        moved(2)
