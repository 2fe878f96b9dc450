"""A placement on running processes: what the agent is asked for, what is refused before, and who comes and goes."""

import json
from contextlib import contextmanager

import pytest
from click.testing import CliRunner
from tests import fake_clock
from tests.unit.analysis.corun_cases import profile
from tests.unit.analysis.test_place_gain import SAME, SOLO, TRUE
from tests.unit.study.fake_processes import Processes

import becalm
from becalm.cli.place import command_place
from becalm.errors import RefusedError, UsageError
from becalm.hosts.abilities import YES, Ability
from becalm.hosts.applied_settings import AppliedSettings
from becalm.hosts.null import NullHost
from becalm.results.place_costs import Chip
from becalm.verbs import place_running

CHIPS = (Chip(2, cpus=(0, 1)), Chip(2, cpus=(2, 3)))


class Kept(NullHost):
    """A host that writes down what it is to keep and to hold, and binds processes of a directory."""

    def __init__(self, machine):
        super().__init__()
        self._abilities |= {Ability.HOLD: YES, Ability.KEEP: YES}
        self.machine, self.kept, self.held, self.now = machine, [], [], None

    def keep(self, settings, *, dangerous=False):
        ((knob, value),) = settings.values
        assert knob == "process_cpus"
        self.kept.append(value)
        return AppliedSettings(remarks=("said by the agent",))

    @contextmanager
    def hold(self, settings, *, dangerous=False):
        assert self.now is None, "one after the other"
        ((knob, value),) = settings.values
        assert knob == "process_cpus"
        self.held.append(value)
        self.now = value
        for word in value.split(";"):
            who, _, cpus = word.partition(":")
            self.machine.allows(int(who.partition("@")[0]), cpus)
        try:
            yield AppliedSettings()
        finally:
            self.now = None
            for path in (self.machine.root / "proc").iterdir():
                self.machine.allows(int(path.name), "0-3")


@pytest.fixture
def machine(tmp_path):
    (tmp_path / "root").mkdir()
    return Processes(tmp_path / "root")


@pytest.fixture
def host(machine):
    return Kept(machine)


@pytest.fixture
def reference(tmp_path):
    def saved(costs=TRUE, chips=CHIPS):
        path = tmp_path / "profile.json"
        path.write_text(json.dumps(profile(costs, SOLO, chips=chips, machine={}).to_json()))
        return str(path)

    return saved


@pytest.fixture
def applied(machine, host, reference):
    def apply_profile(saved=None, **options):
        return becalm.apply_placement(saved or reference(), host=host, root=machine.root, **options)

    return apply_profile


@pytest.fixture
def clock(monkeypatch):
    return fake_clock.install(monkeypatch)


def four(machine):
    for number in range(4):
        machine.starts(10 + number, f"t{number}")


def test_all_are_applied_and_stay(machine, host, applied):
    four(machine)
    done = applied(pids=True)
    (value,) = host.kept
    by_pid = dict(word.split(":") for word in value.split(";"))
    assert by_pid["10@1010"] == by_pid["11@1011"]
    assert {by_pid["10@1010"], by_pid["12@1012"]} == {"0,1", "2,3"}
    assert done.sentence.startswith("4 processes placed: t0 on ")
    assert done.sentence.endswith("It stays until `becalm reset`.")
    assert done.remarks == ("said by the agent",)
    assert done.to_json()["kind"] == "placed"


def test_for_a_time_it_is_restored_again(machine, host, applied, clock):
    four(machine)
    messages = []
    done = applied(pids=True, duration="50ms", say=messages.append)
    assert len(host.held) == 1
    assert host.now is None
    assert host.kept == []
    assert messages[0].endswith("It lasts for 0.05 s, or until Ctrl-C.")
    assert done.remarks == ("All processes have their CPUs back.",)


def test_ctrl_c_takes_it_off(machine, host, applied, monkeypatch):
    def interrupt(seconds):
        raise KeyboardInterrupt

    four(machine)
    monkeypatch.setattr(place_running, "_wait", interrupt)
    assert applied(pids=True, hold=True).remarks == ("All processes have their CPUs back.",)
    assert host.now is None


def test_only_those_that_run_are_placed(machine, host, applied):
    machine.starts(10, "t0")
    machine.starts(12, "t2")
    done = applied(pids=True, force=True)
    assert set(done.cpus) == {"t0", "t2"}
    assert done.cpus["t0"] != done.cpus["t2"]


def test_within_what_a_process_may_use(machine, host, applied):
    four(machine)
    for pid in range(10, 14):
        machine.allows(pid, "0,2")
    applied(pids=True)
    assert {word.partition(":")[2] for word in host.kept[0].split(";")} == {"0", "2"}


def test_a_refused_placement_sets_nothing(machine, host, applied, reference):
    four(machine)
    with pytest.raises(RefusedError, match="not clearly above twice its noise"):
        applied(reference(SAME), pids=True)
    with pytest.raises(RefusedError, match="no choice of CPUs separates programs"):
        applied(reference(chips=(Chip(2, cpus=(0, 1)),)), pids=True)
    with pytest.raises(UsageError, match="have no CPU numbers"):
        applied(reference(chips=(Chip(2), Chip(2))), pids=True)
    with pytest.raises(UsageError, match="Which processes"):
        applied(reference())
    with pytest.raises(UsageError, match="no process 99"):
        applied(pid=["t0=99"])
    machine.allows(10, "0-1")
    machine.allows(12, "0-1")
    with pytest.raises(RefusedError, match=r"but its affinity and its cpuset allow only 0,1\. Nothing was set"):
        applied(pids=True)
    for pid in range(10, 14):
        machine.ends(pid)
    with pytest.raises(RefusedError, match="None of t0, t1, t2 and t3 runs"):
        applied(pids=True)
    assert host.kept == host.held == []
    four(machine)
    assert applied(reference(SAME), pids=True, force=True).processes == 4


def test_followed_as_they_come_and_go(machine, host, reference, clock, monkeypatch):
    messages = []
    events = [
        lambda: machine.starts(10, "t0"),
        lambda: machine.starts(12, "t2"),
        lambda: machine.starts(11, "t1"),
        lambda: None,
        lambda: machine.ends(10),
        lambda: machine.starts(10, "t0", start=5),
    ]

    def pass_time(seconds):
        if not events:
            raise KeyboardInterrupt
        clock.advance(10)
        events.pop(0)()

    monkeypatch.setattr(clock, "sleep", pass_time)
    state = becalm.follow_placement(reference(), host=host, root=machine.root, say=messages.append)
    assert state.chips["t0"] == state.chips["t1"] != state.chips["t2"]
    assert host.now is None
    assert set(machine.root.joinpath("proc/11/status").read_text().split()[-1:]) == {"0-3"}
    # One for each that changed; what stayed the same was not touched.
    assert len(host.held) == 5
    assert "10@5" in host.held[-1]
    assert [message.partition(":")[0] for message in messages] == [
        "t0 came",
        "t2 came",
        "t1 came",
        "t0 ended",
        "t0 came",
    ]


def test_one_that_ends_just_then_is_met_at_the_next_look(machine, host, reference, clock, monkeypatch):
    failing = [True]
    hold = host.hold

    def once(settings, **options):
        if failing.pop() if failing else False:
            raise UsageError("there is no process 10")
        return hold(settings, **options)

    looks = iter(range(3))

    def pass_time(seconds):
        if next(looks) == 2:
            raise KeyboardInterrupt

    four(machine)
    messages = []
    monkeypatch.setattr(host, "hold", once)
    monkeypatch.setattr(clock, "sleep", pass_time)
    becalm.follow_placement(reference(), host=host, root=machine.root, say=messages.append)
    assert messages[0] == "there is no process 10"
    assert len(host.held) == 1


def test_options_that_belong_to_others(reference):
    for words, needed in (
        (["--pids"], "--apply"), (["--pid", "t0=1"], "--apply"), (["--for", "1s"], "--apply"),
        (["--every", "1s"], "--watch"), (["--watch", "--pids"], "--apply"),
    ):  # fmt: skip
        done = CliRunner().invoke(command_place, [reference(), *words])
        assert f"give {needed}, too" in str(done.exception), words
