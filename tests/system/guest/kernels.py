"""Guests with the prepared kernels 6.1 (CFS) and 6.12 (EEVDF): whether they can be booted, and programs in them."""

import contextlib
from pathlib import Path

import pytest
from tests.measuring import runs_and_texts
from tests.needs import missing, need
from tests.waiting import HANG_LIMIT_S

from becalm.errors import UsageError
from becalm.hosts.guest import kernel, qemu, storage
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Output, Workload

VERSIONS = ("6.1", "6.12")

GROUPED = [pytest.param(version, marks=pytest.mark.xdist_group(f"guest-{version}")) for version in VERSIONS]
"""The versions for tests on a shared machine: those of one version run in one process."""

LIMIT = f"limit={HANG_LIMIT_S:.0f}s"
"""The option of a guest that has the tests' own limit for its boot and its silence."""

EMULATED_CPUS = 3
"""The CPUs of a guest that needs several. They are more than the two that emulate it, so that QEMU runs them in turns,
in one thread: two guests next to each other do not wait for processors (`becalm.hosts.guest.qemu.IN_TURNS`)."""


def kernel_or_skip(version):
    """Return the prepared kernel; skip the test, with the reason, where a guest with it cannot be booted."""
    need(qemu.PROGRAM, storage.MAKER)
    try:
        return kernel.find(version)
    except UsageError:
        missing(f"there is no kernel {version} for guests: becalm guest prepare {version}")


def shell(text, **options):
    """Return a workload that has a shell run the text; its output is stored."""
    return Workload.of(text, shell=True, output=Output.KEEP, **options)


def outputs(host, *steps, settings=({},), dangerous=False):
    """Return what workloads write; `steps`: pairs of a workload and the index of its settings."""
    host.define([work for work, _ in steps], [Settings.of(values) for values in settings], dangerous=dangerous)
    runs, texts = runs_and_texts(host, *((index, which) for index, (_, which) in enumerate(steps)))
    assert [run.outcome for run in runs] == ["ok"] * len(steps), (runs, texts)
    return ["".join(reversed(texts.get(index, ()))).strip() for index in range(len(steps))]


def processes(host, settings=({},)):
    """Return the id, the name and the parent of each process there, as text, maybe without those that end meanwhile."""
    (table,) = outputs(host, (shell("cat /proc/[0-9]*/stat 2>/dev/null; true"), 0), settings=settings)
    rows = [line.replace("(", ")").split(")") for line in table.splitlines()]
    return [(pid.strip(), name, rest.split()[1]) for pid, name, rest in rows]


def machines_of(pid):
    """Return the process ids of the virtual machines that a process has started."""
    machines = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and qemu.PROGRAM.encode() in (place / "cmdline").read_bytes():
                machines.append(int(place.name))
    return machines
