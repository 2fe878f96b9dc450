"""A study of settings of the boot on a machine reached from afar, interrupted and resumed, with a power cut as the
machine starts: what had started before the interruption is known from the stored runs."""

import pytest
from tests.unit.small_machine import Repeatable, Trouble, same
from tests.unit.study.test_tune_boots import TIME, Killed

from becalm import hosts
from becalm.hosts.agent import AgentHost
from becalm.hosts.rebooting import RebootingHost
from becalm.hosts.simulated import machine
from becalm.hosts.ssh.host import SshMachine
from becalm.nouns.settings import Settings
from becalm.results.settings import Reset, Status
from becalm.verbs.tune import tune

MODEL = f"""
what = "a machine that is restarted"
{TIME}"""
KNOBS = ("aslr", "isolcpus", "rcu_nocbs")


class Played(Repeatable):
    """A machine as ssh reaches it, with its agent and its loader. `dies_at`: the start during which becalm is killed.
    `cut`: the power is cut during the first start with any of these parameters. `ran`: under which of them runs were
    made.
    """

    def __init__(self, model, dies_at=None, cut=()):
        super().__init__(model, Trouble())
        self.dies_at, self.cut, self.ran = dies_at, cut, set()
        self.line, self.next, self.words, self.starts = (), (), {}, 0
        self.parted = False

    @property
    def inner(self):
        return self

    @property
    def boot_id(self):
        return str(self.starts)

    def ask(self, call):
        return call(self)

    def conversation(self):
        return self.starts

    def status(self):
        return Status()

    def previous(self):
        return None

    def part(self):
        pass

    def effects(self, settings, *, dangerous=False):
        result = []
        for name, value in settings.values:
            word = f"{name}={value}"
            self.words[word] = (name, value)
            taken = word in self.line
            cpus = "1" if name == "isolcpus" else None
            result.append({"knob": name, "parameters": [word], "cpus": cpus, "taken": taken, "how": "it is not"})
        return result

    def define(self, workloads, settings, *, dangerous=False):
        booted = dict(self.words[word] for word in self.line)
        on = [setting and Settings.of({**dict(setting.values), **booted}) for setting in settings]
        return super().define(workloads, on, dangerous=dangerous)

    def measure(self, request):
        for event in super().measure(request):
            if len(self.programs) > 1 and self.line:
                self.ran.add(self.line)
            yield event

    def boot(self, parameters, **options):
        self.next = parameters

    def restart(self):
        self.starts += 1
        if self.starts == self.dies_at:
            self.parted = True
            raise Killed

    def release(self):
        return Reset()

    def come_back(self, *where, **options):
        self.line, self.next = self.next, ()
        if self.line in self.cut:
            self.line, self.cut = (), ()
        return []


@pytest.fixture
def place(tmp_path, monkeypatch, store):
    """A replacement of `open` that opens the machine under the name sim:small; has the opened hosts, newest last, and
    options of the next."""
    path = tmp_path / "restarted.toml"
    path.write_text(MODEL)
    result, options = [], {}

    def opened(name, access):
        result.append(Played(machine.read(path), **options))
        return RebootingHost(SshMachine(result[-1], access))

    monkeypatch.setattr(hosts, "open", opened)
    monkeypatch.setattr(
        AgentHost, "healthy", lambda agent: {"ours": agent.line or None, "sentence": "It is the usual one."}
    )
    monkeypatch.setattr(AgentHost, "unboot", lambda agent: Reset())
    return result, options


def study(**options):
    return tune(["p"], host="sim:small", seed=3, sudo=True, allow_reboot=True, only=KNOBS, **options)


def test_a_power_cut_after_an_interruption_is_no_proof_against_what_had_run(place):
    opened, options = place
    quick = {"budget": "none", "method": "greedy", "runs": 5, "loops": 2, "confirm_loops": 8}
    quick |= {"compare_profiles": False}
    whole = study(**quick)
    assert "rcu_nocbs" in whole.settings
    starts = opened[-1].starts
    cuts = 0
    for dies_at in range(3, starts, max(1, starts // 8)):
        options.update(dies_at=dies_at)
        with pytest.raises(Killed):
            study(**quick)
        options.clear()
        options.update(cut=opened[-1].ran)
        if not opened[-1].ran:
            continue
        again = tune(resume="last", sudo=True)
        assert same(again, findings=()) == same(whole, findings=()), f"killed in start {dies_at}"
        assert not [finding for finding in again.findings if finding.kind == "refused"]
        options.clear()
        cuts += not opened[-1].cut
    assert cuts > 1
