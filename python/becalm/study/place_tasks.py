"""Running processes that are tasks of a placement, and the CPUs on which they may run.

    find_processes(tasks, commands, root) -> processes by the names of tasks
    parse_pairs(pairs, tasks, root) -> the same from words such as `NAME=PID`
    usable_cpus(name, process, cpus, root) -> the CPUs of a chip that a process may use

A process is identified by its number and its start time, so that a later process of the same number is never bound.
`Cpus_allowed_list` (proc_pid_status(5)) respects both affinity and cpuset, in both versions of cgroups: the kernel
keeps the mask of a thread within its cpuset.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from becalm.errors import RefusedError, UsageError
from becalm.units import cpu_list
from becalm.wording import place_running as wording

COMM = 15
"""The number of characters of a process's name that the kernel stores (TASK_COMM_LEN without the terminator)."""

Root = str | Path


class Process(msgspec.Struct, frozen=True):
    """A process: its number, start time in clock ticks, and the CPUs that it may use."""

    pid: int
    start: int
    allowed: tuple[int, ...]


def parse_pairs(pairs: Sequence[str], tasks: Sequence[str], root: Root = "/") -> dict[str, tuple[Process, ...]]:
    """Return the processes of words such as `web=1234`. Raises UsageError for invalid words, tasks and processes."""
    result: dict[str, tuple[Process, ...]] = {}
    for pair in pairs:
        name, equals, number = pair.rpartition("=")
        if not (name and equals and number.isdecimal() and int(number) > 0):
            raise UsageError(wording.no_pair(pair))
        if name not in tasks:
            raise UsageError(wording.no_task(name, tasks))
        process = read_process(int(number), root)
        if process is None:
            raise UsageError(wording.no_process(name, int(number)))
        result[name] = (*result.get(name, ()), process)
    return result


def find_processes(
    tasks: Sequence[str], commands: Mapping[str, Sequence[str]], root: Root = "/"
) -> dict[str, tuple[Process, ...]]:
    """Return the running processes of each task: those with the task's command, or whose program has the task's name.

    Without root only processes of this user; never this process or its ancestors.
    """
    own = set(_ancestors(os.getpid(), root))
    result: dict[str, tuple[Process, ...]] = {}
    for pid in _pids(root):
        if pid in own:
            continue
        words, comm = _words(pid, root), _text(root, pid, "comm").strip()
        name = next((task for task in tasks if _runs_task(task, commands.get(task, ()), words, comm)), None)
        process = read_process(pid, root) if name is not None and _ours(pid, root) else None
        if name is not None and process is not None:
            result[name] = (*result.get(name, ()), process)
    return result


def read_process(pid: int, root: Root = "/") -> Process | None:
    """Return a process by number; None where it does not exist, or is a zombie."""
    # The name may hold blanks and brackets: fields are counted from its end (proc_pid_stat(5)).
    fields = _text(root, pid, "stat").rpartition(")")[2].split()
    rows = dict(line.split(":", 1) for line in _text(root, pid, "status").splitlines() if ":" in line)
    allowed = rows.get("Cpus_allowed_list", "").strip()
    if len(fields) < 20 or fields[0] in "ZX" or not allowed:
        return None
    return Process(pid, int(fields[19]), cpu_list(allowed))


def name_of(pid: int, root: Root = "/") -> str:
    """Return the kernel's name of a process; empty where there is none."""
    return _text(root, pid, "comm").strip()


def usable_cpus(name: str, process: Process, cpus: Sequence[int], root: Root = "/") -> tuple[int, ...]:
    """Return the CPUs of a chip that are online and that the process may use. Raises RefusedError without any."""
    online = _online(root)
    there = [cpu for cpu in cpus if online is None or cpu in online]
    if not there:
        raise RefusedError(wording.offline(name, cpus))
    usable = tuple(cpu for cpu in there if cpu in process.allowed)
    if not usable:
        raise RefusedError(wording.not_allowed(name, process.pid, there, process.allowed))
    return usable


def setting(chosen: Mapping[Process, Sequence[int]]) -> str:
    """Return the value of the knob `process_cpus`, such as 1234@5678:0,1;1240@5690:2."""
    return ";".join(
        f"{process.pid}@{process.start}:{','.join(map(str, cpus))}"
        for process, cpus in sorted(chosen.items(), key=lambda item: item[0].pid)
    )


def _runs_task(task: str, command: Sequence[str], words: Sequence[str], comm: str) -> bool:
    if command and list(command) == list(words):
        return True
    program = os.path.basename(words[0]) if words else ""
    return task in (comm, program) or (len(comm) == COMM and task[:COMM] == comm and program == task)


def _ours(pid: int, root: Root) -> bool:
    user = os.geteuid()
    try:
        return user == 0 or (Path(root) / "proc" / str(pid)).stat().st_uid == user
    except OSError:
        return False


def _pids(root: Root) -> Iterator[int]:
    try:
        yield from sorted(int(path.name) for path in (Path(root) / "proc").iterdir() if path.name.isdecimal())
    except OSError:
        return


def _ancestors(pid: int, root: Root) -> Iterator[int]:
    while pid > 1:
        yield pid
        fields = _text(root, pid, "stat").rpartition(")")[2].split()
        pid = int(fields[1]) if len(fields) > 1 else 0


def _words(pid: int, root: Root) -> list[str]:
    return [word for word in _text(root, pid, "cmdline").split("\0") if word]


def _online(root: Root) -> tuple[int, ...] | None:
    try:
        return cpu_list((Path(root) / "sys/devices/system/cpu/online").read_text().strip())
    except (OSError, UsageError):
        return None


def _text(root: Root, pid: int, file: str) -> str:
    try:
        return (Path(root) / "proc" / str(pid) / file).read_text(errors="surrogateescape")
    except OSError:
        return ""
