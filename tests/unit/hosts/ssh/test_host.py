"""With which parameters a machine is taken to run when it is met: what another becalm left, and what a person keeps."""

import pytest

from becalm.hosts import Ability, Access
from becalm.hosts.abilities import YES
from becalm.hosts.ssh.host import SshMachine
from becalm.nouns.settings_change import BootEntry, Status


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
        ({"running": True, "kept": True}, ()),
    ],
)
def test_what_a_machine_that_is_met_runs_with(entry, parameters):
    found = None if entry is None else BootEntry(**{"entry": "becalm-1", "parameters": ("nosmt",), **entry})
    machine = SshMachine(Met(found), Access(sudo=True, reboot=True))
    assert machine.parameters == parameters
