"""Machines that tests of guests share wherever isolation is not their subject.

Two processes run these tests (`tools/run_tests.py system`), so that at most two tests emulate a machine at a time:

- `guest-6.1` and `guest-6.12`: the tests on one shared machine of a kernel version (`guest`), booted once but for tests
  whose subject is a boot. These are the groups with most tests, so that each process begins with one of them.
- `debian`: the tests on the Debian that GRUB starts (`bench`), in the process that is first ready with its guest.
- the rest, each with a guest of its own or none: one by one, in whichever process has time, so that both end about
  together.
"""

import os

import pytest
from tests.directories import use_directories
from tests.system.guest.debian import Debian, install
from tests.system.guest.kernels import EMULATED_CPUS, GROUPED, LIMIT, kernel_or_skip, shell
from tests.system.guest.monitor import Monitor

from becalm import hosts
from becalm.hosts import aliases
from becalm.hosts.agent import AgentHost
from becalm.hosts.ssh import reconnecting
from becalm.nouns.settings import Settings

PROGRAMS = (
    "[ cat cut date debugfs diff echo false find grep id ls mkdir mount nproc rmdir sh sleep stat sync tail taskset "
    "true umount xargs"
)
"""The programs that tests on a shared machine run; with others it would be booted again. A file system that
a test mounts has the name of one."""


@pytest.fixture(scope="session", autouse=True)
def two_cpus():
    """Have all emulated machines use two CPUs of this one, so that CPUs of those with more take turns (IN_TURNS)."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:2])
    yield
    os.sched_setaffinity(0, before)


@pytest.fixture(scope="session", params=GROUPED)
def guest(request, tmp_path_factory):
    """A machine with a module, a network, a disk and swap, `version`, that of its kernel, and a `monitor`."""
    kernel_or_skip(request.param)
    options = f"cpus={EMULATED_CPUS}&modules=loop&net=user&disk=512M&swap=512M&{LIMIT}"
    with (
        hosts.open(f"guest:{request.param}?{options}") as machine,
        Monitor(machine, tmp_path_factory.mktemp("guest")).available() as machine.monitor,
    ):
        machine.version = request.param
        machine.define([shell(PROGRAMS)], [Settings()])
        yield machine


@pytest.fixture(scope="session")
def debian(tmp_path_factory):
    """A machine with the service that restores settings at its start, and the directories of a becalm that knows it."""
    path = tmp_path_factory.mktemp("debian")
    machine = Debian(path / "machine")
    try:
        with pytest.MonkeyPatch.context() as patch:
            use_directories(patch, path)
            aliases.add("bench", "ssh://ada@bench", str(machine.config))
            machine.switch_on()
            install(machine, path / "tree")
        yield machine, path
    finally:
        machine.close()


@pytest.fixture
def bench(debian, monkeypatch):
    """The Debian, whose name for becalm is `bench`, too. When becalm restarts it, its console is waited for first."""
    machine, path = debian
    use_directories(monkeypatch, path)
    restart, come_back = AgentHost.restart, reconnecting.ReconnectingHost.come_back
    starts = []

    def restart_counting(agent):
        starts.append(machine.starts())
        restart(agent)

    def come_back_when_started(host, *arguments, restarting=False):
        if restarting:
            machine.wait_started(starts[-1])
        return come_back(host, *arguments, restarting=restarting)

    monkeypatch.setattr(AgentHost, "restart", restart_counting)
    monkeypatch.setattr(reconnecting.ReconnectingHost, "come_back", come_back_when_started)
    return machine
