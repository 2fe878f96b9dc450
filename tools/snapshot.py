"""Take a snapshot of what tests could change on a machine, for `unchanged.py`.

It has settings of the kernel (those that becalm knows and their neighbours), mounts, swap areas, control groups,
network interfaces, files outside of the checkout, and the CPUs that tasks may use. Reading it takes some 30 ms.

The CPU on which an interrupt arrives is left out, because that of an idle device cannot be brought back; the CPUs on
which it may arrive are compared.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

Key = tuple[str, str]
"""A kind, such as "setting", and the name of one of that kind."""

Snapshot = dict[Key, str]

SETTINGS = (
    "/proc/sys/kernel/**/*",
    "/proc/sys/vm/**/*",
    "/proc/irq/default_smp_affinity",
    "/proc/irq/*/smp_affinity",
    "/sys/devices/system/cpu/*",
    "/sys/devices/system/cpu/cpu*/online",
    "/sys/devices/system/cpu/cpu*/cpufreq/*",
    "/sys/devices/system/cpu/cpufreq/*",
    "/sys/devices/system/cpu/intel_pstate/*",
    "/sys/devices/system/cpu/smt/*",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/disable",
    "/sys/devices/system/cpu/cpuidle/*",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/devices/virtual/workqueue/*/cpumask",
    "/sys/firmware/efi/efivars/LoaderEntryOneShot-*",
    "/sys/kernel/rcu_expedited",
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/mm/transparent_hugepage/**/*",
    "/sys/kernel/debug/sched_features",
    "/sys/kernel/debug/sched/*",
    "/sys/kernel/debug/sched/numa_balancing/*",
    "/sys/block/*/queue/scheduler",
    "/sys/block/zram*/disksize",
    "/sys/block/loop*/loop/backing_file",
    "/sys/fs/cgroup/cgroup.subtree_control",
    "/sys/fs/cgroup/cpuset/cpuset.*",
    "/sys/fs/cgroup/cpuset/**/cpuset.cpus",
)
VOLATILE = re.compile(
    r"/(random|keys|ns_last_pid|pty/nr|hung_task_detect_count|drop_caches|stat_refresh|oops_count|warn_count)\b"
    r"|/hugepages-\w+/stats/|/cpufreq/(\w+/)?(scaling_cur_freq|cpuinfo_cur_freq|cpuinfo_avg_freq|stats)|memory_pressure$"
)
"""Settings that change by themselves, or that only repeat what was written last."""

TREES = (
    *("/etc", "/boot", "/usr/local/bin", "/usr/local/sbin"),
    *("/var/cache/becalm", "/var/lib/becalm", "/var/spool/cron"),
)
"""Directories that are compared with all below them: mode, owner, size and time of each file."""

DIRECTORIES = (
    *("/run", "/run/user", "/tmp", "/var/tmp", "/dev/shm"),
    *("~", "~/.config", "~/.config/systemd", "~/.cache/becalm", "~/.local/share", "~/.local/state", "~/.ssh"),
)
"""Directories of which only the names are compared: other programs write there, too."""

BY_DESIGN = ("/run/becalm", "/var/lib/becalm", "/var/lib/becalm/last-restore")
"""The files that becalm leaves on a machine: its lock, and its note of the last restore by a guard."""

UNITS = re.compile(r"\.(scope|service|slice|socket|mount|swap)(/|$)")
"""Control groups that systemd makes and removes."""

RIVALS = {
    *("ananicy", "ananicy-cpp", "auto-cpufreq", "cpufreqd", "cpupower", "gamemoded", "irqbalance", "ksmtuned"),
    *("laptop_mode", "numad", "power-profiles-daemon", "scx_loader", "system76-power", "thermald", "tlp", "tlp-pd"),
    "tuned",
}
"""Services that becalm can stop: the rows of `governs` in crates/becalm-core/src/facts/services.rs."""

PF_NO_SETAFFINITY = 0x0400_0000
"""include/linux/sched.h: the kernel itself decides where these tasks run."""


def snapshot() -> Snapshot:
    """Return the present state of the machine."""
    state = {("setting", path): text for path, text in settings()}
    state |= {("mount", place): text for place, text in mounts()}
    state |= {("swap", unescaped(line.split()[0])): line.split()[-1] for line in lines("/proc/swaps")[1:]}
    state |= {("control group", path): "" for path in groups()}
    state |= {("interface", name): "" for name in names("/sys/class/net")}
    state |= {("file", path): text for path, text in files()}
    return state | dict(tasks())


def settings(root: Path = Path("/")) -> Iterator[tuple[str, str]]:
    """Yield settings with their values. Files that nobody can write are states or counters, and left out."""
    for pattern in SETTINGS:
        # Path.glob fails when a directory goes meanwhile.
        for relative in glob.iglob(pattern[1:], root_dir=root, recursive=True):
            name, path = f"/{relative}", root / relative
            if VOLATILE.search(name):
                continue
            with suppress(OSError):
                status = path.stat()
                if stat.S_ISREG(status.st_mode) and status.st_mode & 0o444 and status.st_mode & 0o222:
                    yield name, path.read_bytes()[:4096].decode(errors="replace").strip()


def mounts() -> Iterator[tuple[str, str]]:
    """Yield mounts by their place; those on top of another with their number."""
    count: dict[str, int] = {}
    for line in lines("/proc/self/mountinfo"):
        description, _, source = line.partition(" - ")
        fields = description.split()
        place = unescaped(fields[4])
        count[place] = count.get(place, 0) + 1
        number = f" #{count[place]}" if count[place] > 1 else ""
        yield f"{place}{number}", f"{fields[3]} {fields[5]} {source}"


def groups() -> Iterator[str]:
    """Yield control groups but those of systemd's units."""
    for path, _, _ in os.walk("/sys/fs/cgroup"):
        if not UNITS.search(path):
            yield path


def files() -> Iterator[tuple[str, str]]:
    """Yield files outside of the checkout, with what is compared of each."""
    for tree in TREES:
        for folder, below, plain in os.walk(tree):
            for name in (*below, *plain):
                path = os.path.join(folder, name)
                with suppress(OSError):
                    status = os.lstat(path)
                    directory = stat.S_ISDIR(status.st_mode)
                    size = "" if directory else f" {status.st_size} bytes, written {status.st_mtime_ns}"
                    if path not in BY_DESIGN:
                        yield path, f"{stat.filemode(status.st_mode)} {status.st_uid}:{status.st_gid}{size}"
    for place in DIRECTORIES:
        for name in names(os.path.expanduser(place)):
            if f"{place}/{name}" not in BY_DESIGN:
                yield f"{place}/{name}", ""


def tasks(proc: str = "/proc") -> Iterator[tuple[Key, str]]:
    """Yield processes and threads of the kernel with the CPUs they may use, and of rival services whether they run."""
    for pid in numbers(proc):
        with suppress(OSError, StopIteration, IndexError):
            name, _, rest = Path(f"{proc}/{pid}/stat").read_text().partition("(")[2].rpartition(")")
            fields = rest.split()
            task = f"{pid} ({name}) started {fields[19]}"
            words = Path(f"{proc}/{pid}/cmdline").read_text(errors="replace").split("\0")[:4]
            if RIVALS & {name, *map(os.path.basename, words)}:
                yield ("service", task), "stopped" if fields[0] == "T" else "running"
            # The thread of an interrupt follows the CPU at which that arrives.
            if int(fields[6]) & PF_NO_SETAFFINITY or name.startswith("irq/"):
                continue
            allowed = next(line for line in lines(f"{proc}/{pid}/status") if line.startswith("Cpus_allowed_list"))
            yield ("task", task), f"CPUs {allowed.split()[1]}"


def unescaped(word: str) -> str:
    """Return a name of /proc with its blanks, which are written in octal there."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)


def numbers(proc: str = "/proc") -> list[int]:
    """Return the numbers of all processes."""
    return [int(name) for name in names(proc) if name.isdigit()]


def stat_fields(pid: int) -> list[str]:
    """Return the state of a process, the number of its parent and so on (proc_pid_stat(5)); nothing when it is gone."""
    return "".join(lines(f"/proc/{pid}/stat")).rpartition(")")[2].split()


def has_not_ended(fields: list[str]) -> bool:
    """Return whether a process still runs, by its state."""
    return bool(fields) and fields[0] not in "ZX"


def names(place: str) -> list[str]:
    """Return the names in a directory; none where there is none."""
    with suppress(OSError):
        return sorted(os.listdir(place))
    return []


def lines(path: str) -> list[str]:
    """Return the lines of a file; none where there is none."""
    with suppress(OSError):
        return Path(path).read_text(errors="replace").splitlines()
    return []
