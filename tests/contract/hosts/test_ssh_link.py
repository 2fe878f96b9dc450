"""The order in which things are removed when a link to an agent on another machine is closed."""

import subprocess

import pytest

from becalm.errors import LostError
from becalm.hosts.ssh.address import Address
from becalm.hosts.ssh.connection import SshConnection
from becalm.hosts.ssh.link import SshLink
from becalm.hosts.transport import ProcessLink


class Connection:
    """A connection that notes in `log` what happens to it."""

    def __init__(self):
        self.log = []

    def close(self):
        self.log.append("closed")


def link(connection, undo):
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return SshLink(process, connection, 60, undo)


def test_traces_of_an_agent_that_has_not_begun_are_removed_over_the_open_connection():
    connection = Connection()
    closing = link(connection, lambda: connection.log.append("undone"))
    closing.close()
    closing.close()
    assert connection.log == ["undone", "closed", "closed"]


def test_an_agent_that_has_begun_removes_its_traces_itself():
    connection = Connection()
    closing = link(connection, lambda: connection.log.append("undone"))
    closing.begin()
    closing.close()
    assert connection.log == ["closed"]


def test_a_connection_that_is_lost_meanwhile_is_closed():
    def lost():
        raise LostError("The line is cut.")

    connection = Connection()
    link(connection, lost).close()
    assert connection.log == ["closed"]


def test_the_connection_is_closed_although_the_wait_for_the_agent_is_interrupted(monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    connection = Connection()
    closing = link(connection, list)
    with monkeypatch.context() as patch:
        patch.setattr(ProcessLink, "close", interrupted)
        with pytest.raises(KeyboardInterrupt):
            closing.close()
    assert connection.log == ["closed"]
    closing.close()


def test_a_closed_connection_has_no_messages():
    connection = SshConnection(Address("far"))
    connection._messages = (connection._directory / "messages").open("w+b")
    connection.close()
    assert connection.messages() == ""
