"""Recording by programs in the kernel (BPF): as by counters, on kernels that describe their types."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.contract.agent.test_recording import (  # noqa: F401
    host,
    refusal,
    test_a_process_is_recorded_to_its_end,
    test_a_program_is_recorded_from_its_first_instruction_on,
    test_only_some_cpus_are_recorded_and_named,
    test_records_that_nobody_reads_are_lost_and_counted,
)
from tests.needs import missing, need

from becalm.hosts.recorded import Recording


def able(host, means):  # noqa: F811
    """Return the means that report switches; the test is skipped with becalm's reason where it may not be used."""
    if means == "bpf":
        need("clang")
    if why := refusal(host, Recording("faults", by=means)):
        missing(f"{why} (make bpf)") if "built without" in why else pytest.skip(why)
    return means


@pytest.fixture
def by(host):  # noqa: F811
    """Return BPF, which the tests of the contract do without."""
    return able(host, "bpf")


UNTYPED = 'mount -t tmpfs none /sys/kernel/btf && exec "$0" -m becalm sweetspots --by bpf --events faults -- true'
"""A command that hides the kernel's own types from one process."""


def test_a_kernel_without_its_own_types_is_named_with_a_way_out(by):
    if not Path("/sys/kernel/btf").is_dir():
        pytest.skip("this kernel does not describe its types anyway")
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", UNTYPED, sys.executable], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    words = " ".join(done.stderr.split())
    assert "does not describe its own types, which BPF needs: /sys/kernel/btf/vmlinux cannot be read" in words
    assert "Without BPF the same is recorded: leave --by bpf out." in words
