"""Ports for servers of tests: free, and none that the kernel gives to a connection."""

import socket
from pathlib import Path

from tests.support.ports import RANGE, free_ports


def test_ports_are_different_free_and_not_the_kernels_own():
    ports = [*free_ports(20), *free_ports(20)]
    assert len(set(ports)) == 40
    assert max(ports) < int(Path(RANGE).read_text().split()[0])
    for port in ports:
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_a_port_that_is_in_use_is_left_out(monkeypatch):
    monkeypatch.setattr("random.SystemRandom.randrange", lambda self, end: 0)
    (first,) = free_ports(1)
    with socket.create_server(("127.0.0.1", first + 1)):
        assert free_ports(1) == [first + 2]
