"""The CPUs to which a running process may be moved, and the least loaded one of them.

    candidates(process, llc, root)     -> CPUs that are online, allowed, and in the same or another last-level cache
    check_cpus(process, cpus, llc)     -> the requested CPUs, if the process may be moved there
    least_loaded(cpus, before, after)  -> the CPU that worked least between two readings of `busy_ticks(root)`

CPUs are read from sysfs, affinity and cpuset from `Cpus_allowed_list` (`place_tasks`), and load from /proc/stat.
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
    """Return the CPUs to which a process may be moved, without its present one. Raises RefusedError without any."""
    runs = last_cpu(process.pid, root)
    there = tuple(cpu for cpu in _online(root, process.allowed) if cpu in process.allowed)
    others = tuple(cpu for cpu in there if cpu != runs)
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


def check_cpus(process: Process, cpus: Sequence[int], llc: str | None = None, root: Root = "/") -> tuple[int, ...]:
    """Return the requested CPUs. Raises RefusedError where one is offline, not allowed, or of the wrong cache."""
    online = _online(root, cpus)
    if offline := [cpu for cpu in cpus if cpu not in online]:
        raise RefusedError(wording.offline(process.pid, offline, online))
    # CPUs outside of the affinity mask are accepted, as a mask may be changed; a cpuset is a limit.
    if not (set(cpus) <= set(process.allowed) or set(cpus) <= set(cpuset_of(process.pid, root))):
        raise RefusedError(wording.not_allowed(process.pid, cpus, process.allowed))
    if llc is not None:
        matching = candidates(process, llc, root)
        if not set(cpus) <= set(matching):
            raise RefusedError(wording.wrong_llc(process.pid, cpus, llc, matching))
    return tuple(cpus)


def last_cpu(pid: int, root: Root = "/") -> int | None:
    """Return the CPU where the first thread of a process ran last: field 39 of its stat (proc_pid_stat(5))."""
    fields = _text(Path(root) / "proc" / str(pid) / "stat").rpartition(")")[2].split()
    return int(fields[36]) if len(fields) > 36 and fields[36].isdecimal() else None


def cpuset_of(pid: int, root: Root = "/") -> tuple[int, ...]:
    """Return the CPUs of a process's cpuset, of either version (cpuset(7), cgroups(7)); none where it is unknown."""
    base, rows = Path(root), _text(Path(root) / "proc" / str(pid) / "cgroup").splitlines()
    groups = {names: path.lstrip("/") for _, names, path in (row.split(":", 2) for row in rows if row.count(":") > 1)}
    first = next((path for names, path in groups.items() if "cpuset" in names.split(",")), None)
    if first is not None:
        places = [base / "sys/fs/cgroup/cpuset" / first / name for name in ("cpuset.effective_cpus", "cpuset.cpus")]
    elif (second := groups.get("")) is not None:
        at = base / "sys/fs/cgroup" / second
        above = [at, *at.parents][: len(Path(second).parts) + 1]
        places = [directory / "cpuset.cpus.effective" for directory in above]
    else:
        return ()
    text = next((text for place in places if (text := _text(place).strip())), "")
    return cpu_list(text) if text else ()


def is_kernel_thread(pid: int, root: Root = "/") -> bool:
    """Return whether a process is a thread of the kernel."""
    fields = _text(Path(root) / "proc" / str(pid) / "stat").rpartition(")")[2].split()
    return len(fields) > 6 and fields[6].isdecimal() and bool(int(fields[6]) & PF_KTHREAD)


def threads_of(pid: int, root: Root = "/") -> tuple[int, ...]:
    """Return the thread numbers of a process, ascending; none where it has ended."""
    try:
        threads = [int(path.name) for path in (Path(root) / "proc" / str(pid) / "task").iterdir()]
    except OSError:
        return ()
    return tuple(sorted(threads))


def masks(pid: int, root: Root = "/") -> list[tuple[int, ...]]:
    """Return the CPUs that each thread of a process may use."""
    result = []
    for tid in threads_of(pid, root):
        rows = _text(Path(root) / "proc" / str(pid) / "task" / str(tid) / "status").splitlines()
        result += [cpu_list(line.partition(":")[2].strip()) for line in rows if line.startswith("Cpus_allowed_list:")]
    return result


def shares_llc(cpu: int, root: Root = "/") -> tuple[int, ...]:
    """Return the CPUs that share the last-level cache of a CPU; none where the kernel does not report it."""
    last: tuple[int, tuple[int, ...]] = (0, ())
    for path in (Path(root) / f"sys/devices/system/cpu/cpu{cpu}/cache").glob("index*"):
        level, kind, shared = (_text(path / name).strip() for name in ("level", "type", "shared_cpu_list"))
        if level.isdecimal() and shared and kind != "Instruction" and int(level) > last[0]:
            last = (int(level), cpu_list(shared))
    return last[1]


def llcs(root: Root = "/") -> list[list[int]]:
    """Return the online CPUs of each last-level cache; none where the kernel does not report caches."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for cpu in _online(root, ()):
        if not (shared := shares_llc(cpu, root)):
            return []
        groups.setdefault(shared, []).append(cpu)
    return list(groups.values())


def busy_ticks(root: Root = "/") -> dict[int, int]:
    """Return the clock ticks that each CPU has worked since boot: all but idle and iowait (proc_stat(5))."""
    result = {}
    for line in _text(Path(root) / "proc/stat").splitlines():
        name, *counts = line.split()
        if name.startswith("cpu") and name[3:].isdecimal() and len(counts) > 4:
            ticks = [int(count) for count in counts[:8]]
            result[int(name[3:])] = sum(ticks) - ticks[3] - ticks[4]
    return result


def least_loaded(cpus: Sequence[int], before: Mapping[int, int], after: Mapping[int, int]) -> int:
    """Return the CPU that worked least between two readings of `busy_ticks`, the lowest of equals.

    A CPU that is missing from a reading counts as busy.
    """

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
