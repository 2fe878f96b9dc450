"""Where a running process may be moved to: which CPUs those are, and which of them is asked for or least loaded.

    candidates(process, llc, root) -> CPUs that are online, allowed, and in the same or another last-level cache
    asked(process, cpus, root)     -> the CPUs that were named, if it may be moved there
    least_loaded(cpus, load)       -> the one that was idle longest between two readings of `busy(root)`

CPUs are read from sysfs, affinity and cpuset from `Cpus_allowed_list` (`running_tasks`), load from /proc/stat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from becalm.errors import RefusedError, UsageError
from becalm.study.place_tasks import Process, Root
from becalm.units import cpu_list
from becalm.wording import migrate as wording

LLC = ("same", "other")
"""The last-level caches that a process may be moved to, relative to the one where it runs."""

PF_KTHREAD = 0x0020_0000
"""Flag of a thread of the kernel (include/linux/sched.h)."""


def candidates(process: Process, llc: str | None = None, root: Root = "/") -> tuple[int, ...]:
    """Return the CPUs that a process may be moved to, other than its last one. Raises RefusedError where there is
    none."""
    runs = runs_on(process.pid, root)
    there = tuple(each for each in _online(root, process.allowed) if each in process.allowed)
    others = tuple(each for each in there if each != runs)
    if not others:
        raise RefusedError(wording.nowhere(process.pid, process.allowed, there))
    if llc is None:
        return others
    if runs is None or not (near := shares_llc(runs, root)):
        raise RefusedError(wording.no_llc(process.pid))
    result = tuple(other for other in others if (other in near) == (llc == "same"))
    if not result:
        raise RefusedError(wording.no_such_llc(process.pid, runs, llc, others))
    return result


def asked(process: Process, cpus: Sequence[int], llc: str | None = None, root: Root = "/") -> tuple[int, ...]:
    """Return the named CPUs. Raises RefusedError where one is offline, beyond its cpuset, or of another cache."""
    online = _online(root, cpus)
    if offline := [each for each in cpus if each not in online]:
        raise RefusedError(wording.offline(process.pid, offline, online))
    # A mask is what somebody chose before, and who names CPUs chooses anew; a cpuset is a limit.
    if not (set(cpus) <= set(process.allowed) or set(cpus) <= set(cpuset_of(process.pid, root))):
        raise RefusedError(wording.not_allowed(process.pid, cpus, process.allowed))
    if llc is not None:
        found = candidates(process, llc, root)
        if not set(cpus) <= set(found):
            raise RefusedError(wording.wrong_llc(process.pid, cpus, llc, found))
    return tuple(cpus)


def typed(text: str) -> tuple[int, ...] | None:
    """Return the CPUs of a text; None for the least loaded. Raises UsageError."""
    return None if text == "least-loaded" else cpu_list(text)


def runs_on(pid: int, root: Root = "/") -> int | None:
    """Return the CPU where the first thread of a process ran last: field 39 of its stat (proc_pid_stat(5))."""
    fields = _text(Path(root) / "proc" / str(pid) / "stat").rpartition(")")[2].split()
    return int(fields[36]) if len(fields) > 36 and fields[36].isdecimal() else None


def cpuset_of(pid: int, root: Root = "/") -> tuple[int, ...]:
    """Return the CPUs of the cpuset of a process, of either version (cpuset(7), cgroups(7)); none where it is not
    known."""
    base, rows = Path(root), _text(Path(root) / "proc" / str(pid) / "cgroup").splitlines()
    groups = {names: path.lstrip("/") for _, names, path in (row.split(":", 2) for row in rows if row.count(":") > 1)}
    first = next((path for names, path in groups.items() if "cpuset" in names.split(",")), None)
    if first is not None:
        places = [base / "sys/fs/cgroup/cpuset" / first / name for name in ("cpuset.effective_cpus", "cpuset.cpus")]
    elif (second := groups.get("")) is not None:
        at = base / "sys/fs/cgroup" / second
        above = [at, *at.parents][: len(Path(second).parts) + 1]
        places = [each / "cpuset.cpus.effective" for each in above]
    else:
        return ()
    text = next((text for place in places if (text := _text(place).strip())), "")
    return cpu_list(text) if text else ()


def is_kernel_thread(pid: int, root: Root = "/") -> bool:
    """Return whether a process is a thread of the kernel."""
    fields = _text(Path(root) / "proc" / str(pid) / "stat").rpartition(")")[2].split()
    return len(fields) > 6 and fields[6].isdecimal() and bool(int(fields[6]) & PF_KTHREAD)


def threads_of(pid: int, root: Root = "/") -> tuple[int, ...]:
    """Return the threads of a process."""
    try:
        found = [int(path.name) for path in (Path(root) / "proc" / str(pid) / "task").iterdir()]
    except OSError:
        return ()
    return tuple(sorted(found))


def masks(pid: int, root: Root = "/") -> list[tuple[int, ...]]:
    """Return the CPUs that each of its threads may use."""
    result = []
    for tid in threads_of(pid, root):
        rows = _text(Path(root) / "proc" / str(pid) / "task" / str(tid) / "status").splitlines()
        result += [cpu_list(line.partition(":")[2].strip()) for line in rows if line.startswith("Cpus_allowed_list:")]
    return result


def shares_llc(cpu: int, root: Root = "/") -> tuple[int, ...]:
    """Return the CPUs that share the last-level cache of one; none where the kernel does not tell."""
    found: tuple[int, tuple[int, ...]] = (0, ())
    for path in (Path(root) / f"sys/devices/system/cpu/cpu{cpu}/cache").glob("index*"):
        level, kind, shared = (_text(path / name).strip() for name in ("level", "type", "shared_cpu_list"))
        if level.isdecimal() and shared and kind != "Instruction" and int(level) > found[0]:
            found = (int(level), cpu_list(shared))
    return found[1]


def llcs(root: Root = "/") -> list[list[int]]:
    """Return the CPUs of each last-level cache, of those that are online; none where the kernel does not tell."""
    found: dict[tuple[int, ...], list[int]] = {}
    for cpu in _online(root, ()):
        if not (shared := shares_llc(cpu, root)):
            return []
        found.setdefault(shared, []).append(cpu)
    return list(found.values())


def busy(root: Root = "/") -> dict[int, int]:
    """Return the clock ticks that each CPU has worked since the boot: all but idle and iowait (proc_stat(5))."""
    result = {}
    for line in _text(Path(root) / "proc/stat").splitlines():
        name, *counts = line.split()
        if name.startswith("cpu") and name[3:].isdecimal() and len(counts) > 4:
            ticks = [int(count) for count in counts[:8]]
            result[int(name[3:])] = sum(ticks) - ticks[3] - ticks[4]
    return result


def least_loaded(cpus: Sequence[int], before: Mapping[int, int], after: Mapping[int, int]) -> int:
    """Return the CPU that worked least between two readings of `busy`, the first of equals; a missing one works."""

    def worked(cpu: int) -> float:
        return after[cpu] - before[cpu] if cpu in before and cpu in after else float("inf")

    return min(cpus, key=lambda cpu: (worked(cpu), cpu))


def _online(root: Root, otherwise: Sequence[int]) -> tuple[int, ...]:
    try:
        return cpu_list(_text(Path(root) / "sys/devices/system/cpu/online").strip())
    except UsageError:
        return tuple(otherwise)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="surrogateescape")
    except OSError:
        return ""
