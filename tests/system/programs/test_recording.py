"""Recording on a machine that does nothing else, where no record is lost: by counters and by BPF."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.contract.agent.test_recording import (  # noqa: F401
    GROWS,
    check_process,
    check_program,
    complete,
    host,
    refusal,
    test_only_some_cpus_are_recorded_and_named,
    test_records_that_nobody_reads_are_lost_and_counted,
    told,
    waiting,
)
from tests.needs import missing, need
from tests.waiting import HANG_LIMIT_S

from becalm import hosts
from becalm.hosts.recorded import MEANS, Recording


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


@pytest.mark.parametrize("means", MEANS)
def test_nothing_of_a_process_is_lost(host, means):  # noqa: F811
    assert complete(check_process(host, able(host, means)))


@pytest.mark.parametrize("means", MEANS)
def test_nothing_of_a_program_is_lost(host, means):  # noqa: F811
    rows, end = check_program(host, able(host, means))
    assert complete(rows)
    assert end.trouble == {"lost": 0, "shared": 0, "unread": 0, "offline": 0}


def test_programs_in_the_kernel_and_counters_record_the_same(host, by):  # noqa: F811
    """Two agents record one program at once: it comes, leaves and faults in both when it did."""
    child = waiting(GROWS)
    begun = threading.Barrier(3, timeout=HANG_LIMIT_S)

    def recorded(machine, recording):
        events = machine.record(recording, child.pid)
        first = next(events)
        begun.wait()
        return told([first, *events])[1:]

    with hosts.open("local") as beside, ThreadPoolExecutor() as both:
        other = both.submit(recorded, beside, Recording("faults", 1_000_000))
        this = both.submit(recorded, host, Recording("faults", 1_000_000, by=by))
        begun.wait()
        child.communicate(b"\n")
        (seen, end), (expected, of_other) = this.result(HANG_LIMIT_S), other.result(HANG_LIMIT_S)
    assert end.trouble == of_other.trouble == {"lost": 0, "shared": 0, "unread": 0, "offline": 0}
    assert visits(seen, child.pid) == visits(expected, child.pid)
    assert sum(faults for _, faults in visits(seen, child.pid)) > 30 * 200


def visits(rows, task):
    """Where a task ran from its coming to its leaving, and what was counted there meanwhile, one after the other."""
    found, came = [], {}
    for row in rows:
        switch = row["what"].get("switch", {}) if isinstance(row["what"], dict) else {}
        if switch.get("out") == task and row["cpu"] in came:
            found.append((row["cpu"], row["references"] - came.pop(row["cpu"])))
        if switch.get("to") == task:
            came[row["cpu"]] = row["references"]
    return found


UNTYPED = 'mount -t tmpfs none /sys/kernel/btf && exec "$0" -m becalm sweetspots --by bpf --events faults -- true'
"""As on a kernel that does not describe its types, for this process alone."""


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
