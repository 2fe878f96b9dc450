"""Where an agent was left is read strictly: parts of it become a command."""

import pytest

from becalm.hosts.ssh.address import Address
from becalm.hosts.ssh.connect import PreviousAgent

BENCH = Address("bench", "ada", 22, "/etc/config")
AGENT = PreviousAgent(7, "5f0c1c1e-0000-4000-8000-000000000001", "/dev/shm/becalm-spool-0123456789abcdef")


def test_an_agent_is_found_where_it_was_left():
    place = AGENT.place(BENCH)
    assert PreviousAgent.at(place, BENCH) == AGENT
    assert PreviousAgent.at(place, Address("bench", "ada", 23, "/etc/config")) is None
    assert PreviousAgent.at(place, Address("bench", "ada", 22)) is None


@pytest.mark.parametrize(
    "other",
    [{"pid": "7; id"}, {"pid": None}, {"boot_id": "$(id)"}, {"boot_id": None}, {"spool": "/dev/shm/becalm-spool-x"},
     {"spool": "/etc/passwd"}, {"spool": "/dev/shm/becalm-spool-0123456789abcdef; id"}, {"spool": 3}],
)  # fmt: skip
def test_an_invalid_record_of_an_agent_is_ignored(other):
    assert PreviousAgent.at({**AGENT.place(BENCH), **other}, BENCH) is None
