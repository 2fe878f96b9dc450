"""Ports of this machine for servers that a test starts, also again after they ended."""

import contextlib
import itertools
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
    not listen on it again. This process never gets one of these ports twice.
    """
    end = int(RANGE.read_text().split()[0])
    begin = min(LOWEST, end // 2)
    offset = random.SystemRandom().randrange(end - begin)
    candidates = (begin + (offset + step) % (end - begin) for step in range(end - begin))
    ports = list(itertools.islice((port for port in candidates if port not in _TAKEN and is_free(port)), count))
    assert len(ports) == count, f"There are not {count} free ports from {begin} to {end - 1}."
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
