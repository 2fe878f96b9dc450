"""Whether a host's times are those of a real processor: facts of the machine in use tell, and not its name."""

import json

import pytest

from becalm import hosts
from becalm.errors import UsageError
from becalm.hosts import Access
from becalm.hosts.abilities import Ability
from becalm.hosts.agent import AgentHost
from becalm.hosts.agent_abilities import EMULATOR
from becalm.hosts.greeting import PROTOCOL
from becalm.hosts.guest import GuestMachine, qemu
from becalm.hosts.rebooting import RebootingHost
from becalm.hosts.wrapper import BorrowedHost, Wrapper
from becalm.nouns.run import COLUMNS

SAID = "its processor is emulated"


class Agent:
    """Answers line by line; `hypervisor` is what its facts name, None for none."""

    def __init__(self, hypervisor):
        greeting = {"becalm-agent": "0", "protocol": PROTOCOL, "uid": 0, "user": {}, "columns": list(COLUMNS)}
        self.hypervisor, self.answers = hypervisor, [greeting]

    def send(self, line, patience=None):
        request = json.loads(line)
        facts = {"virtualisation": {"guest": self.hypervisor is not None, "hypervisor": self.hypervisor}}
        self.answers.append({"id": request["id"], "event": "done", "facts": facts})

    interrupt = send

    def read(self, *limits):
        return json.dumps(self.answers.pop(0)).encode() + b"\n"

    def close(self):
        pass


def machine(name, hypervisor):
    return AgentHost(name, Agent(hypervisor), Access())


@pytest.mark.parametrize("name", ["local", "ssh://far", "guest-of-mine"])
@pytest.mark.parametrize(
    ("hypervisor", "message"), [(EMULATOR, SAID), ("KVM", ""), ("QEMU", ""), ("VMware", ""), (None, "")]
)
def test_a_machine_is_asked_whatever_it_is_called(name, hypervisor, message):
    assert hosts.emulated(machine(name, hypervisor)) == message
    assert hosts.emulated(BorrowedHost(Wrapper(machine(name, hypervisor)))) == message


def test_a_known_reason_is_in_the_facts():
    facts = BorrowedHost(machine("ssh://far", EMULATOR)).facts()
    (row,) = (ability for ability in facts["abilities"] if ability["name"] == Ability.REAL_TIME)
    assert (row["have"], row["reason"]) == (False, SAID)


class Guest(GuestMachine):
    """A guest that boots with some accelerator, and names some hypervisor."""

    def __init__(self, name, accels, used, hypervisor):
        self._name, self._accel, self._used, self._hypervisor = name, accels, used, hypervisor
        self._agent, self._conversations = None, 0

    def _on(self):
        self._accel, self._agent = (self._used,), machine(self.name, self._hypervisor)


@pytest.mark.parametrize(
    ("name", "used", "hypervisor", "message"),
    [
        ("guest:6.1", "kvm", "KVM", ""),
        # There, but in vain.
        ("guest:6.1", qemu.EMULATED, EMULATOR, SAID),
        ("guest:6.1?accel=tcg", qemu.EMULATED, EMULATOR, SAID),
        # Its own facts say nothing.
        ("guest:6.1?accel=tcg", qemu.EMULATED, None, SAID),
        ("guest:6.1?accel=kvm", "kvm", EMULATOR, SAID),
    ],
)
def test_a_guest_is_asked_when_it_has_booted(name, used, hypervisor, message):
    guest = RebootingHost(Guest(name, ("kvm", qemu.EMULATED), used, hypervisor))
    assert hosts.emulated(guest) == message


@pytest.mark.parametrize("name", ["null", "sim:calm", "sim:drift"])
def test_of_a_host_without_a_machine_nobody_would_think_otherwise(name):
    with hosts.open(name) as host:
        assert hosts.emulated(host) == ""


@pytest.mark.parametrize(
    ("name", "hint"), [("", ""), ("nosuch", ""), ("laptop-b", " Did you mean 'sim:laptop-a'?"), ("calmer", "calm")]
)
def test_a_simulated_machine_is_suggested_only_if_its_name_is_similar(name, hint):
    with pytest.raises(UsageError, match="There is no simulated machine") as raised:
        hosts.open(f"sim:{name}", Access())
    message = str(raised.value).partition(" Known: ")[0]
    assert ("Did you mean" in message) == bool(hint)
    assert hint in message
