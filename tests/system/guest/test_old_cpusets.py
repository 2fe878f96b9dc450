"""Cpusets of version 1 in a guest: CPUs that go and come back while tasks are moved, without a word from the kernel."""

import pytest
from tests.system.guest.kernels import EMULATED_CPUS, LIMIT, kernel_or_skip, outputs, shell

from becalm import hosts
from becalm.nouns.demand import Demand
from becalm.nouns.settings import Settings

MOUNT = (
    "umount /sys/fs/cgroup; mount -t tmpfs none /sys/fs/cgroup && mkdir /sys/fs/cgroup/cpuset "
    "&& mount -t cgroup -o cpuset none /sys/fs/cgroup/cpuset && echo mounted"
)
WARNINGS = "dmesg | grep -cE 'WARNING|cpuset_attach_task'; true"
LOAD = "$(grep -l becalm-load /proc/[0-9]*/comm)"
MASKS = f"for task in {LOAD}; do grep Cpus_allowed_list ${{task%/comm}}/status; done"
BOUND = f"for task in {LOAD}; do task=${{task%/comm}}; taskset -p -c 2 ${{task#/proc/}}; done"


@pytest.fixture
def old():
    """A machine of kernel 6.1, the last of the prepared ones that has cpusets of version 1, and mounts them."""
    kernel_or_skip("6.1")
    with hosts.open(f"guest:6.1?cpus={EMULATED_CPUS}&{LIMIT}") as machine:
        machine.define([shell("umount mount mkdir dmesg grep taskset cat sleep sh")], [Settings()])
        (text,) = outputs(machine, (shell(MOUNT), 0))
        assert text == "mounted"
        yield machine


def test_a_task_whose_only_cpu_is_away_is_moved_without_a_warning(old):
    """The kernel warns in cpuset_attach_task where such a task is put into the root set before its CPU is back."""
    with old.loading(Demand(cpu=1)):
        outputs(old, (shell(BOUND), 0))
        for _ in range(3):
            with old.hold(Settings.of({"online_cpus": "0-1", "isolation": "1"}), dangerous=True):
                pass
        (masks,) = outputs(old, (shell(MASKS), 0))
    assert masks
    assert all(line.endswith("\t2") for line in masks.splitlines()), "each is bound as before"
    (count,) = outputs(old, (shell(WARNINGS), 0))
    assert count == "0"
