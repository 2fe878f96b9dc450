"""The guests of measurements: two CPUs, of which a setting may isolate one."""

import pytest
from tests.system.guest.kernels import VERSIONS, kernel_or_skip, shell

from becalm import hosts
from becalm.nouns.settings import Settings


@pytest.fixture(scope="package", params=VERSIONS)
def guest(request):
    """A machine for all tests of a kernel version."""
    kernel_or_skip(request.param)
    with hosts.open(f"guest:{request.param}?cpus=2") as machine:
        machine.define([shell("cat grep taskset sleep sh true")], [Settings()])
        yield machine
