"""Hosts that start their machine anew, with an agent and a kernel that are played: what is booted, when, and told."""

import json

import pytest

from becalm.errors import BootError, MachineError, UsageError
from becalm.hosts import Ability, Access, MeasureRequest, Noticed, runs_of
from becalm.hosts.abilities import YES
from becalm.hosts.agent import AgentHost
from becalm.hosts.greeting import PROTOCOL
from becalm.hosts.rebooting import RebootingHost, RestartedError
from becalm.hosts.wrapper import Wrapper
from becalm.nouns import tables
from becalm.nouns.run import COLUMNS, Block, Run, Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.results.settings import Change


class Kernel:
    """An agent, line by line, on a machine with two CPUs: `line` is what it was booted with."""

    def __init__(self, ignores=(), refuses=()):
        self.line, self.ignores, self.refuses = (), ignores, refuses
        self.log, self.answers, self.settings = [], [], []

    def send(self, line, patience=None):
        request = json.loads(line)
        for event in getattr(self, request["do"])(request):
            self.answers.append(json.dumps({"id": request["id"], **event}).encode() + b"\n")

    interrupt = send

    def read(self, *limits):
        return self.answers.pop(0)

    def close(self):
        pass

    def greet(self):
        self.answers = [
            json.dumps(
                {"becalm-agent": "0", "protocol": PROTOCOL, "uid": 0, "user": {}, "columns": list(COLUMNS)}
            ).encode() + b"\n"
        ]  # fmt: skip

    def open(self, request):
        yield {"event": "done"}

    def stop(self, request):
        yield {"event": "done"}

    def knobs(self, request):
        yield {"event": "done", "knobs": tables.rows("knobs")}

    def effects(self, request):
        lines = []
        for name, value in sorted(request["settings"].items()):
            spelled = "1" if value == "last-core" else value
            words = [f"{name}={spelled}"]
            taken = name not in self.ignores and set(words) <= set(self.line)
            cpus = spelled if name == "isolcpus" else None
            effect = {
                "knob": name,
                "value": value,
                "parameters": words,
                "cpus": cpus,
                "taken": taken,
                "how": "so it is",
            }
            lines.append(effect)
        yield {"event": "done", "effects": lines}

    def define(self, request):
        self.settings = request["settings"]
        self.log.append(("define", [index for index, line in enumerate(self.settings) if line is not None]))
        for setting in self.settings:
            for name in setting or ():
                if name in self.refuses:
                    yield {"event": "error", "kind": "refused", "message": f"{name} is not taken."}
                    return
        yield {"event": "done", "programs": ["p"]}

    def measure(self, request):
        rows = []
        for index, step in enumerate(request["steps"]):
            seq = request["first"] + index
            assert self.settings[step[1]] is not None, "it was not defined on this boot"
            self.log.append(("run", seq, self.line, self.settings[step[1]]))
            bad = step[2] == 13
            outcome = "failed" if bad else "ok"
            rows.append([seq, step[0], step[1], step[3], step[2], seq, 1, *[None] * 8, outcome, 0, 0])
            if bad and request["stop_on_failure"]:
                break
        yield {"event": "runs", "rows": rows}
        yield {"event": "done", "drift": [], "remarks": [f"after {rows[-1][0]}"], "switching_ns": 5}


class Machine(Wrapper):
    """A machine whose agent and kernel are played. `broken`: parameters with which it does not come up; `lost`: with
    which it never comes back."""

    def __init__(self, kernel, broken=(), lost=(), during=lambda: None):
        kernel.greet()
        super().__init__(AgentHost("played", kernel, Access()))
        self.kernel, self.broken, self.lost, self.during = kernel, broken, lost, during
        self.parameters, self.met, self.known = (), 1, []

    def abilities(self):
        return {**super().abilities(), Ability.REBOOT: YES}

    def conversation(self):
        return self.met

    def effects(self, settings, *, dangerous=False):
        return self.inner.effects(settings, dangerous=dangerous)

    def started_before(self, parameters):
        self.known.append(parameters)

    def reboot(self, parameters):
        self.kernel.log.append(("boot", parameters))
        self.during()
        self.parameters = None
        if set(parameters) & set(self.lost):
            raise MachineError("It is lost.")
        if set(parameters) & set(self.broken):
            raise BootError(f"It does not come up with {parameters}.")
        self.come_up(parameters)

    def come_up(self, parameters):
        """Begin a new boot, with an agent that knows nothing."""
        self.kernel.line = self.parameters = parameters
        self.kernel.greet()
        self._inner = AgentHost("played", self.kernel, Access())
        self.met += 1


NONE, CORE, IDLE, LIVE = ({}, {"isolcpus": "last-core"}, {"idle": "poll", "swappiness": 1}, {"swappiness": 1})


def opened(*settings, **options):
    kernel = Kernel(**{key: options.pop(key) for key in ("ignores", "refuses") if key in options})
    host = RebootingHost(Machine(kernel, **options))
    host.define([Workload.of("p")], [Settings.of(setting) for setting in settings])
    return host, kernel


def run(host, *which, first=0, padding=(), fresh_boot=False):
    block = tuple(Step(0, line, 13 if index in padding else 0, 0) for index, line in enumerate(which))
    return [run.seq for run in runs_of(host.measure(MeasureRequest(first, Block(block, fresh_boot))))]


def boots(kernel):
    return [line[1] for line in kernel.log if line[0] == "boot"]


def test_it_boots_where_parameters_change_and_nowhere_else():
    host, kernel = opened(NONE, CORE, LIVE, IDLE)
    steps = tuple(Step(0, arm, 0, 0) for arm in (0, 2, 1, 1, 3, 0))
    events = list(host.measure(MeasureRequest(7, Block(steps))))
    assert [run.seq for run in runs_of(events)] == [7, 8, 9, 10, 11, 12]
    assert boots(kernel) == [("isolcpus=1",), ("idle=poll",), ()]
    lines = {line[1]: line[2:] for line in kernel.log if line[0] == "run"}
    assert lines[8] == ((), {"swappiness": 1})
    assert lines[9] == (("isolcpus=1",), {"cpus": "1"}), "the program is bound to the isolated CPUs"
    assert lines[11] == (("idle=poll",), {"swappiness": 1}), "the rest is the agent's"
    seen = [(event.remarks, event.switching_ns) for event in events if isinstance(event, Noticed)]
    assert seen == [((f"after {last}",), 5) for last in (8, 10, 11, 12)]
    assert host.abilities()[Ability.REBOOT]
    assert host.boot_ns > 0


def test_settings_without_a_boot_never_cause_one():
    host, kernel = opened(NONE, LIVE)
    run(host, 0, 1, 0, 1)
    assert boots(kernel) == []
    assert host.boot_ns is None


def test_cpus_that_were_asked_for_stay():
    host, kernel = opened({**CORE, "cpus": "0"})
    run(host, 0)
    assert kernel.log[-1][3] == {"cpus": "0"}


def test_two_isolations_are_one_too_many():
    with pytest.raises(UsageError, match="Leave one of them out"):
        opened({**CORE, "isolation": "first-core"})


def test_a_boot_of_its_own_although_the_parameters_are_the_same():
    host, kernel = opened(NONE, CORE)
    run(host, 1)
    run(host, 1)
    assert len(boots(kernel)) == 1
    run(host, 1, 1, fresh_boot=True)
    assert boots(kernel) == [("isolcpus=1",)] * 2


def test_ignored_parameters_are_refused_with_evidence_and_others_continue():
    host, kernel = opened(NONE, {**CORE, "idle": "poll"}, IDLE, ignores=("isolcpus",))
    with pytest.raises(BootError, match=r"^isolcpus=1 was given, but so it is\.$") as caught:
        run(host, 0, 1)
    assert caught.value.knobs == ("isolcpus",)
    assert [line[1] for line in kernel.log if line[0] == "run"] == [0], "what came before was measured"
    assert run(host, 2, 0) == [0, 1]
    count = len(boots(kernel))
    with pytest.raises(BootError):
        run(host, 1)
    with pytest.raises(BootError):
        host.define([Workload.of("p")], [Settings.of({**CORE, "idle": "poll"})])
    assert len(boots(kernel)) == count, "it is not tried again"


def test_a_machine_that_does_not_come_up_is_started_again_without():
    host, kernel = opened(NONE, CORE, broken=("isolcpus=1",))
    with pytest.raises(BootError, match="does not come up"):
        run(host, 1)
    assert run(host, 0) == [0]
    assert boots(kernel) == [("isolcpus=1",), ()]


def test_parameters_of_stored_runs_are_known_to_start():
    host, _ = opened(NONE, CORE, IDLE, {**CORE, **LIVE})
    stored = [Run.of([0, 0, which, 0, 0, 0, 1, *[None] * 8, "ok", 0, 0]) for which in (0, 3, 3)]
    host.go_on(stored, [Settings.of(values) for values in (NONE, CORE, IDLE, {**CORE, **LIVE})])
    run(host, 2, 1, 0, 1)
    assert host.inner.known == [("isolcpus=1",)] * 2


def test_a_machine_that_is_lost_is_no_refused_setting():
    host, _ = opened(NONE, CORE, lost=("isolcpus=1",))
    with pytest.raises(MachineError, match="lost") as caught:
        run(host, 1)
    assert not isinstance(caught.value, BootError)


def test_the_agents_refusal_of_settings_is_known_on_their_boot():
    host, _ = opened(NONE, CORE, {**CORE, "swappiness": 1}, refuses=("swappiness",))
    assert run(host, 1) == [0]
    with pytest.raises(MachineError, match="swappiness is not taken"):
        run(host, 2)
    assert run(host, 1, 0) == [0, 1]


def test_a_failure_ends_the_block_before_another_boot():
    host, kernel = opened(NONE, CORE)
    assert run(host, 0, 0, 1, padding=(0,)) == [0]
    assert boots(kernel) == []


def test_a_stop_during_a_boot_ends_the_block_there():
    host, kernel = opened(NONE, CORE, during=lambda: host.stop())
    assert run(host, 0, 1, 1) == [0]
    assert boots(kernel) == [("isolcpus=1",)]


def test_a_plan_names_the_words_of_the_command_line():
    host, kernel = opened(NONE)
    kernel.plan = lambda request: iter([{"event": "done", "changes": []}])
    assert host.plan(Settings.of(CORE)).changes == (Change("isolcpus", "/proc/cmdline", None, "isolcpus=1", True),)


def test_held_settings_have_their_boot():
    host, kernel = opened(NONE)
    parameters = []

    def hold(request):
        parameters.append(request["settings"])
        yield {"event": "done", "changes": [], "remarks": [], "took_ns": 1}

    kernel.hold = hold
    kernel.release = lambda request: iter([{"event": "done", "places": [], "unsettled": []}])
    with host.hold(Settings.of({**CORE, **LIVE})):
        assert parameters == [{"cpus": "1", "swappiness": 1}]
        assert kernel.line == ("isolcpus=1",)


def test_settings_of_the_boot_do_not_stay():
    host, _ = opened(NONE)
    with pytest.raises(UsageError, match="isolcpus is set at boot"):
        host.keep(Settings.of({**CORE, **LIVE}))


def test_a_machine_that_somebody_else_restarts_goes_on_with_what_is_left():
    """In the middle of a block, after its second run: what is left has its boot, and is defined there."""
    host, kernel = opened(NONE, CORE)
    machine = host.inner

    def cut(request, measure=machine.measure):
        machine.measure = measure
        yield from measure(request.after(0, 2))
        machine.come_up(())
        raise RestartedError("It was restarted.")

    machine.reboot(("isolcpus=1",))
    machine.measure = cut
    assert run(host, 1, 1, 1, 0, first=7) == [7, 8, 9, 10]
    assert boots(kernel) == [("isolcpus=1",), ("isolcpus=1",), ()]
