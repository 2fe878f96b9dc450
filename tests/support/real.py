"""Everything of the running machine that these tests change, read in one go; and swap areas to change."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import struct
import subprocess
from collections.abc import Container, Iterator
from pathlib import Path

from tests.needs import need
from tests.support.compressed import areas
from tests.support.talk import Agent
from tests.waiting import wait_for
from traces import SAMPLE_RATE, SAMPLE_STEP

from becalm.hosts.agent import agent_path

FILES = [
    "/proc/sys/kernel/randomize_va_space",
    SAMPLE_RATE,
    "/proc/sys/kernel/nmi_watchdog",
    "/proc/sys/kernel/soft_watchdog",
    "/proc/sys/kernel/watchdog",
    "/proc/sys/kernel/timer_migration",
    "/proc/sys/vm/stat_interval",
    "/proc/sys/vm/swappiness",
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/rcu_expedited",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/transparent_hugepage/defrag",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/devices/system/cpu/online",
    "/proc/irq/default_smp_affinity",
]
GROUPS = Path("/sys/fs/cgroup")
ARRIVAL = "effective_affinity_list"
PF_NO_SETAFFINITY = 0x0400_0000
"""include/linux/sched.h: the kernel itself says where these tasks run."""
ZRAM = Path("/sys/block/zram0")

Machine = dict[str, object]


def machine() -> Machine:
    """Return all settings, by file; swap areas with priorities; cpusets; and of each task its group and CPUs."""
    values: Machine = {}
    names = [
        *FILES,
        *Path("/proc/irq").glob("*/smp_affinity"),
        *Path("/proc/irq").glob(f"*/{ARRIVAL}"),
        *Path("/sys/devices/system/cpu").glob("cpu*/online"),
    ]
    names += [path for path in (GROUPS / "cpuset").glob("cpuset.*") if "pressure" not in path.name]
    for name in map(str, names):
        with contextlib.suppress(OSError):
            values[name] = text_of(name)
    values["swap"] = areas()
    with contextlib.suppress(OSError):
        values["latency"] = struct.unpack("=i", Path("/dev/cpu_dma_latency").read_bytes()[:4])
    values["becalm groups"] = becalm_groups()
    values["tasks"] = tasks()
    return values


def text_of(name: str) -> str:
    """Return the text of a setting. Raises OSError.

    Of the rate of perf's samples, which the kernel lowers by itself, it tells only whether it may be the kernel's.
    """
    text = Path(name).read_text()
    return "the kernel's" if name == SAMPLE_RATE and int(text) % SAMPLE_STEP == 0 else text


def becalm_groups() -> list[str]:
    """Return the control groups that becalm has made, without those of agents at work."""
    # Groups of others come and go meanwhile, at which Path.glob fails.
    groups = (Path(directory) for directory, _, _ in os.walk(GROUPS))
    return sorted(str(group) for group in groups if "becalm" in group.name and not observes(group))


def observes(group: Path) -> bool:
    """Return whether a group is that of an agent at work: another becalm may observe programs on this machine
    meanwhile."""
    pid = group.name.rpartition("-")[2]
    return pid.isdigit() and Path(f"/proc/{pid}").exists()


def tasks() -> dict[tuple[int, str], tuple[str, str]]:
    """Return tasks by number and start time: the cpuset that they are in, and their CPUs."""
    values = {}
    paths = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            paths += [Path(entry.path) for entry in os.scandir(f"/proc/{process}/task")]
    for path in paths:
        with contextlib.suppress(OSError, StopIteration, IndexError):
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            groups = (path / "cgroup").read_text().splitlines()
            group = next((line for line in groups if ":cpuset:" in line or line.startswith("0::")), "")
            lines = (path / "status").read_text().splitlines()
            allowed = next(line for line in lines if line.startswith("Cpus_allowed_list"))
            # Workers of the kernel go from one of its pools to another, and to the CPUs of that; threads of interrupts
            # follow those when they next wake.
            fixed = int(fields[6]) & PF_NO_SETAFFINITY or "(irq/" in (path / "stat").read_text()
            values[int(path.name), fields[19]] = (group, "" if fixed else allowed.split()[1])
    return values


def unnamed() -> set[int]:
    """Return the interrupts that becalm does not name where they arrive elsewhere: those that the kernel lets nobody
    move, which it names before it moves them, and those that have never fired."""
    fixed = {
        int(path.parent.name) for path in Path("/proc/irq").glob("*/smp_affinity") if not path.stat().st_mode & 0o200
    }
    never = set()
    for line in Path("/proc/interrupts").read_text().splitlines()[1:]:
        number, _, rest = line.partition(":")
        counts = list(itertools.takewhile(str.isdecimal, rest.split()))
        if number.strip().isdecimal() and not any(map(int, counts)):
            never.add(int(number))
    return fixed | never


def elsewhere() -> dict[int, str]:
    """Return becalm's sentence on each interrupt that does not arrive where it did, once it waits for none any more."""

    def settled() -> list[list[str]]:
        with Agent() as agent:
            sentences = agent.done("status")["elsewhere"]
        return [] if any("when it next fires" in sentence for sentence in sentences) else [sentences]

    (sentences,) = wait_for(settled, "becalm waits for no interrupt")
    numbers = re.compile(r"Interrupts? ([0-9, ]+)")
    return {
        int(irq): sentence
        for sentence in sentences
        if (named := numbers.match(sentence)) is not None
        for irq in named[1].split(",")
    }


def differences(before: Machine, after: Machine, excused: Container[int] = ()) -> dict[str, object]:
    """Return the differences; tasks that came or went in between do not count. `excused`: interrupts that need not
    arrive where they did."""
    after = {**after, **{name: before.get(name) for name in after if arrival_of(name) in excused}}
    values: dict[str, object] = {
        name: (before.get(name), after.get(name))
        for name in sorted(before.keys() | after.keys())
        if name != "tasks" and before.get(name) != after.get(name)
    }
    was, now = before["tasks"], after["tasks"]
    assert isinstance(was, dict)
    assert isinstance(now, dict)
    for task in was.keys() & now.keys():
        if was[task] != now[task]:
            values[f"task {task}"] = (was[task], now[task])
    for task in now.keys() - was.keys():
        if "becalm" in now[task][0]:
            values[f"task {task}"] = (None, now[task])
    return values


def arrival_of(name: str) -> int | None:
    """Return the interrupt that this file describes."""
    path = Path(name)
    return int(path.parent.name) if path.name == ARRIVAL else None


def bring_back(seconds: float) -> dict[int, str]:
    """Give interrupts that long to be back where they were. Disks are read and written: theirs are waited for most.

    Those that are not, as `elsewhere` has them.
    """
    subprocess.run([agent_path(), "restore", "--interrupt-wait", str(seconds)], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["sync"], check=True)
    return elsewhere()


@contextlib.contextmanager
def swap_areas(directory: Path) -> Iterator[None]:
    """Have three swap areas within the block: two files with automatic priorities, and compressed memory where there is
    some."""
    files = [directory / "a swap file", directory / "another"]
    on: list[str] = []
    try:
        for path in files:
            with path.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, 1 << 20)
            path.chmod(0o600)
            run("mkswap", "-q", str(path))
            run(need("swapon", "swapoff"), str(path))
            on.append(str(path))
        if ZRAM.exists() and (ZRAM / "disksize").read_text().strip() == "0":
            (ZRAM / "disksize").write_text("4M")
            run("mkswap", "-q", "/dev/zram0")
            run(need("swapon"), "-p", "7", "/dev/zram0")
            on.append("/dev/zram0")
        yield
    finally:
        for area in reversed(on):
            subprocess.run(["swapoff", area], check=False)
        if "/dev/zram0" in on:
            (ZRAM / "reset").write_text("1")


def run(*argv: str) -> None:
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
