"""Ports for servers of tests: free, and none that the kernel gives to a connection."""

import socket
from pathlib import Path

from tests.support.ports import RANGE, free_ports, is_free


def test_ports_are_different_free_and_not_the_kernels_own():
    ports = [*free_ports(20), *free_ports(20)]
    assert len(set(ports)) == 40
    assert max(ports) < int(Path(RANGE).read_text().split()[0])
    for port in ports:
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_a_port_that_is_in_use_is_not_free():
    (port,) = free_ports(1)
    assert is_free(port)
    with socket.create_server(("127.0.0.1", port)):
        assert not is_free(port)
