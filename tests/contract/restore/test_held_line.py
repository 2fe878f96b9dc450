"""A guard whose line to the agent somebody else holds open: it restores when the agent has ended all the same."""

import ctypes
import os

import pytest
from tests.support.laptop import changed, laptop, snapshot
from tests.support.talk import Agent, guards, leads
from tests.waiting import wait_ended

PIDFD_GETFD = 438
"""The number of the system call, the same on all processors (include/uapi/asm-generic/unistd.h)."""


def copy_of(pid: int, descriptor: int) -> int:
    """Return a copy of a descriptor of another process (pidfd_getfd(2))."""
    process = os.pidfd_open(pid)
    try:
        copy = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, process, descriptor, 0)
    finally:
        os.close(process)
    if copy < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return copy


def descriptors(pid: int) -> dict[int, str]:
    """Return the open files of a process by their descriptors."""
    return {int(entry.name): leads(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")}


def test_the_end_of_the_agent_is_enough(tmp_path):
    root = laptop(tmp_path / "root")
    before = snapshot(root)
    agent = Agent(root)
    agent.done("hold", settings={"swappiness": 10})
    (guard,) = guards(root)
    (line,) = (file for file in descriptors(guard).values() if file.startswith("pipe:"))
    (end,) = (number for number, file in descriptors(agent.pid).items() if file == line)
    try:
        held = copy_of(agent.pid, end)
    except PermissionError:
        pytest.skip("processes cannot be traced here (ptrace is forbidden)")
    assert changed(before, snapshot(root))
    agent.kill()
    wait_ended(guard)
    os.close(held)
    assert changed(before, snapshot(root)) == {}
