"""Ports of this machine for servers that a test starts, also again after they ended."""

import contextlib
import itertools
import os
import random
import socket
from pathlib import Path

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
LOWEST = 10_000
"""The first port that is taken: those of well-known services are below."""

_TAKEN = set()


def free_ports(count):
    """Return different ports on which nobody listens, and which the kernel gives to nobody who names none.

    A port of the kernel's range may belong to any new connection while a server is restarted, and the server can then
    not listen on it again. This process never gets one of these ports twice, nor does another worker of pytest-xdist
    get it.
    """
    end = int(RANGE.read_text().split()[0])
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    own = range(min(LOWEST, end // 2) + worker, end, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
    offset = random.SystemRandom().randrange(len(own))
    candidates = (own[(offset + step) % len(own)] for step in range(len(own)))
    ports = list(itertools.islice((port for port in candidates if port not in _TAKEN and is_free(port)), count))
    assert len(ports) == count, f"There are not {count} free ports from {own[0]} to {end - 1}."
    _TAKEN.update(ports)
    return ports


def free_port():
    """Return one such port."""
    return free_ports(1)[0]


def is_free(port):
    """Return whether a server can listen on a port."""
    with contextlib.suppress(OSError), socket.socket() as probe:
        probe.bind(("127.0.0.1", port))
        return True
    return False


def listens(path):
    """Return whether somebody accepts connections at a socket file, which is there some time before."""
    with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(OSError):
        client.connect(os.fspath(path))
        return True
    return False
