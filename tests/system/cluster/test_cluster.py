"""Measuring on the workers of a Dask cluster: several on this machine, one that is killed, one that is held."""

import contextlib
import os
import signal
import socket
import ssl
import sys
from pathlib import Path

import psutil
import pytest
from tests.needs import need_module
from tests.system.ssh.far import Far
from tests.waiting import HANG_LIMIT_S

from becalm.errors import MachineError
from becalm.hosts import Access
from becalm.hosts import open as open_host
from becalm.hosts.cluster import opened, transport
from becalm.hosts.cluster import through_ssh as carrying
from becalm.hosts.cluster.workers import find
from becalm.results.progress import Quiet
from becalm.store import Store
from becalm.verbs.compare import compare
from becalm.verbs.run import run

need_module("distributed")


@pytest.fixture
def store(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return store


class Heard(Quiet):
    """A listener that remembers warnings, and does something once when a host has finished some runs."""

    def __init__(self, then=None):
        self.said, self._then = [], then

    def running(self, done):
        if self._then is not None and done > 4:
            then, self._then = self._then, None
            then()

    def warned(self, sentence):
        self.said.append(sentence)


def test_two_workers_are_two_hosts_whose_runs_are_in_the_store(store):
    comparison = compare(["sleep 0.001", "sleep 0.004"], cluster="local:2", runs=12, seed=1)
    assert [host.lost for host in comparison.hosts] == ["", ""]
    with Store.open(store) as opened_store:
        for host in comparison.hosts:
            stored = opened_store.study(host.study)
            assert stored.study.host == host.host
            assert stored.study.host.startswith("cluster:")
            assert stored.runs == 26
            assert stored.facts["cpu"]["count"] == os.cpu_count()
    assert comparison.across[0].hosts == 2


def test_a_killed_worker_costs_its_own_block_only(store):
    """The worker is killed with SIGKILL while it measures; the other host is measured to its end."""
    names = []

    def kill():
        worker = find(names[0].removeprefix("cluster:"))
        os.kill(worker.call(os.getpid), signal.SIGKILL)

    with opened("local:2", print) as host:
        names += host
        heard = Heard(kill)
        result = run(["sleep", "0.02"], hosts=names, runs=60, seed=1, listener=heard)
    first, second = result.hosts
    assert "its worker does not answer" in first.lost
    assert second.lost == ""
    assert second.verdict.summaries[0].runs == 60
    assert any("was lost, the others continue" in warning for warning in heard.said)
    with Store.open(store) as opened_store:
        runs = opened_store.study(first.study).runs
    assert 4 < runs < 61
    assert first.verdict.summaries[0].runs > 0
    assert result.exit_code == 3


def test_a_machine_is_held_by_one_measurement(store, monkeypatch):
    with opened("local:1", print) as (name,):
        with open_host(name, Access()) as first, monkeypatch.context() as patch:
            assert first.facts()["host"]["hostname"]
            patch.setattr(transport, "HELD_S", 1.0)
            with pytest.raises(MachineError, match="has been used by something else"):
                open_host(name, Access())
        # Free again, once the first is closed.
        with open_host(name, Access()) as second:
            assert second.facts()["host"]["hostname"]


def test_a_worker_is_quiet(store):
    """None of Dask's housekeeping that would wake it up many times a second while it measures."""
    import dask

    with opened("local:1", print) as (name,):
        call = find(name.removeprefix("cluster:")).call
        assert call(dask.config.get, "distributed.worker.profile.enabled") is False
        assert call(dask.config.get, "distributed.admin.tick.interval") == "10s"


@pytest.fixture
def through_ssh(tmp_path, monkeypatch):
    """Text for --cluster: a machine that we log in to, with our keys and known hosts; what it has in its /tmp."""
    need_module("asyncssh")
    far = Far(tmp_path / "machine")
    try:
        home = tmp_path / "home/.ssh"
        home.mkdir(parents=True, mode=0o700)
        (home / "config").write_text((far.path / "ssh_config").read_text())
        (home / "known_hosts").write_text((far.path / "known_hosts").read_text())
        python = tmp_path / "python"
        python.write_text(
            f'#!/bin/sh\nPYTHONPATH={os.environ.get("PYTHONPATH", "")} TMPDIR={tmp_path} exec {sys.executable} "$@"\n'
        )
        python.chmod(0o755)
        hosts = tmp_path / "hosts"
        hosts.write_text(f"far {python}  # the one there is\n")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        yield f"ssh:{hosts}"
    finally:
        far.close()


def test_workers_through_ssh(store, through_ssh):
    with opened(through_ssh, print) as (name,), open_host(name, Access()) as host:
        assert find(name.removeprefix("cluster:")).environment["SSH_CONNECTION"].startswith("127.0.0.1 ")
        assert host.facts()["cpu"]["count"] == os.cpu_count()


def certificates():
    return set(Path("/tmp").glob("tmp.*/cluster.pem"))


def listening(pid):
    return [
        connection.laddr
        for connection in psutil.Process(pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]


def refuses(port, stranger=None):
    """Return whether a port ends the connection of somebody without a certificate, or with a stranger's."""
    with socket.create_connection(("127.0.0.1", port), timeout=HANG_LIMIT_S) as plain:
        if stranger is None:
            plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
            answer = b""
            with contextlib.suppress(ConnectionResetError):
                while part := plain.recv(4096):
                    answer += part
            # Nothing, or an alert of TLS (RFC 8446, 5.1).
            return answer[:1] in (b"", b"\x15")
        context = stranger.get_connection_args("client")["ssl_context"]
        # The server decides, not this end.
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            with context.wrap_socket(plain) as encrypted:
                return encrypted.recv(1) == b""
        except (ssl.SSLError, ConnectionResetError):
            return True


def test_nobody_else_gets_into_a_cluster_through_ssh(store, through_ssh):
    """One port each, at the address used, that takes no stranger; and the certificate goes when the cluster does."""
    import distributed

    before, mine = certificates(), listening(os.getpid())
    with opened(through_ssh, print) as (name,):
        worker = find(name.removeprefix("cluster:"))
        (left,) = certificates() - before
        assert left.stat().st_mode & 0o777 == 0o600
        assert left.parent.stat().st_mode & 0o777 == 0o700
        (scheduler,) = [item for item in listening(os.getpid()) if item not in mine]
        (other,) = listening(worker.call(os.getpid))
        assert {scheduler.ip, other.ip} == {"127.0.0.1"}
        for port in (scheduler.port, other.port):
            assert refuses(port)
            assert refuses(port, distributed.Security.temporary())
    assert certificates() == before


def test_a_cluster_whose_addresses_are_hidden_is_refused(store, through_ssh, monkeypatch):
    """Addresses are hidden behind a jump host or address translation: its ports would have to be open to anybody."""
    before = certificates()
    monkeypatch.setattr(carrying, "_SEND", carrying._SEND.replace('"$SSH_CONNECTION"', '"10.9.9.9 1 127.0.0.1 22"'))
    with pytest.raises(MachineError, match="address translation"), opened(through_ssh, print):
        pytest.fail("this must not open")
    monkeypatch.setattr(carrying, "_SEND", carrying._SEND.replace('"10.9.9.9 1 127.0.0.1 22"', '""'))
    with pytest.raises(MachineError, match="does not tell its addresses"), opened(through_ssh, print):
        pytest.fail("this must not open")
    assert certificates() == before


def test_a_program_that_is_not_there_is_reported_for_each_host(store):
    with pytest.raises(Exception, match="no program"):
        run("no-such-program", cluster="local:1", runs=2)


def test_a_scheduler_that_is_not_there(monkeypatch):
    monkeypatch.setattr("becalm.hosts.cluster.starting.CONNECT_S", 1)
    with pytest.raises(MachineError, match="cannot be started or reached"), opened("tcp://127.0.0.1:9", print):
        pytest.fail("nobody listens there")
