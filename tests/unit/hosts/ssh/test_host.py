"""With which parameters a machine is taken to run when it is met: what another becalm left, and what a person keeps."""

import pytest

from becalm.errors import BootError
from becalm.hosts import Ability, Access
from becalm.hosts.abilities import YES
from becalm.hosts.agent import AgentHost
from becalm.hosts.ssh.host import SshMachine
from becalm.results.settings import BootEntry, Status


class Met:
    """A machine that was reached; `entry` is what its agent says of a boot entry."""

    name, boot_id = "bench", "1"

    def __init__(self, entry):
        self.entry = entry

    def abilities(self):
        return {Ability.MACHINE_SETTINGS: YES}

    def status(self):
        return Status(boot=self.entry)


@pytest.mark.parametrize(
    ("entry", "parameters"),
    [
        (None, ()),
        ({"running": False}, ()),
        # A becalm that was killed had found this boot healthy: a study that goes on needs no other one.
        ({"running": True}, ("nosmt",)),
        ({"running": True, "waiting": True}, None),
        # Its list is gone, so nobody knows what it was started with.
        ({"running": True, "entry": ""}, None),
        # How the machine starts is nothing to be left.
        ({"running": True, "permanent": True}, ()),
    ],
)
def test_parameters_of_a_machine_are_those_of_becalms_boot(entry, parameters):
    boot_entry = None if entry is None else BootEntry(**{"entry": "becalm-1", "parameters": ("nosmt",), **entry})
    machine = SshMachine(Met(boot_entry), Access(sudo=True, reboot=True))
    assert machine.parameters == parameters


class Restarting(Met):
    """The same, restarted: `ours` says of each start whether it was by becalm's entry."""

    def __init__(self, ours):
        super().__init__(None)
        self.ours, self.said = iter(ours), []

    @property
    def inner(self):
        return self

    def ask(self, call):
        return call(self)

    def boot(self, parameters, **options):
        self.said.append("boot")

    def restart(self):
        self.said.append("restart")

    def previous(self):
        return None

    def come_back(self, *where, **options):
        return []


def restarted(ours, monkeypatch):
    met, messages = Restarting(ours), []
    healthy = {"ours": None, "sentence": "No boot entry."}
    monkeypatch.setattr(AgentHost, "healthy", lambda agent: {**healthy, "ours": next(agent.ours)})
    return SshMachine(met, Access(sudo=True, reboot=True, say=messages.append)), met, messages


def test_a_start_that_went_well_before_is_tried_once_more(monkeypatch):
    machine, met, messages = restarted([True, False, True, False, False], monkeypatch)
    machine.reboot(("nosmt",))
    machine.reboot(("nosmt",))
    assert machine.parameters == ("nosmt",)
    assert met.said == ["boot", "restart"] * 3
    (sentence,) = [message for message in messages if "once more" in message]
    assert sentence.startswith(
        "bench did not come up with nosmt this time, as it has before: its power may have been cut."
    )
    with pytest.raises(BootError, match="did not come up with nosmt"):
        machine.reboot(("nosmt",))


def test_parameters_that_started_before_an_interruption_are_tried_again(monkeypatch):
    machine, met, _ = restarted([False, True], monkeypatch)
    machine.started_before(("nosmt",))
    machine.reboot(("nosmt",))
    assert machine.parameters == ("nosmt",)
    assert met.said == ["boot", "restart"] * 2


def test_a_start_that_never_went_well_is_not_tried_again(monkeypatch):
    machine, met, messages = restarted([False], monkeypatch)
    with pytest.raises(BootError, match="did not come up with nosmt"):
        machine.reboot(("nosmt",))
    assert met.said == ["boot", "restart"]
    assert messages == ["bench is restarted with nosmt."]
