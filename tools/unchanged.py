"""Run a command, and fail when the machine is not afterwards as it was before: `python tools/unchanged.py -- make …`.

Compared are settings of the kernel (those that becalm knows and their neighbours), mounts, swap areas, control groups,
network interfaces, the CPUs that tasks may use, and files outside of the project that tests could have touched.
Processes that the command started, however they detached themselves, are waited for, then named with the test that
started them, ended, and counted as a failure. The CPUs at which interrupts in fact arrive are left out, because an idle
device cannot be brought back; one that an earlier becalm has on its way back may have its old mask afterwards. With
`--tell` a difference is told and is no failure: others use the machine, too.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

Snapshot = dict[str, str]

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
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/mm/transparent_hugepage/**/*",
    "/sys/kernel/debug/sched/*",
    "/sys/block/*/queue/scheduler",
    "/sys/block/zram*/disksize",
    "/sys/block/loop*/loop/backing_file",
    "/sys/fs/cgroup/cpuset/cpuset.*",
)
VOLATILE = re.compile(
    r"/(random|keys|ns_last_pid|pty/nr|hung_task_detect_count|drop_caches|stat_refresh|oops_count|warn_count)\b"
    r"|/hugepages-\w+/stats/|/cpufreq/(\w+/)?(scaling_cur_freq|cpuinfo_cur_freq|cpuinfo_avg_freq|stats)|memory_pressure$"
)
"""Changes by itself, or only says what was written last."""

FILES = (
    "/etc",
    "/boot",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/var/lib/becalm",
    "/var/cache/becalm",
    "/var/spool/cron",
)
"""Compared with all below them: kind, rights, owner, size and time of each file."""

NAMES = ("/run", "~", "~/.config", "~/.local/share", "~/.local/state", "~/.ssh", "~/.config/systemd")
"""Compared by the names in them alone: other programs write there, too."""

OURS = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/user")
"""Where everybody leaves files: only names with `becalm` in them count."""

OWN = ("/run/becalm", "/var/lib/becalm", "/var/lib/becalm/last-restore")
"""What becalm leaves on a machine by design: its lock, and its note of what a guard did."""

INTERRUPTS = "/run/becalm/interrupts"
"""becalm's list of interrupts that arrive elsewhere than before it: checksums, and JSON (its `knob/away.rs`)."""

OTHERS = re.compile(r"^(pytest-of-.*|becalm-fuzz-.*|user|systemd|udev|lock|\..*history|\.cache|\.viminfo|\.lesshst)$")
UNITS = re.compile(r"\.(scope|service|slice|socket|mount|swap)(/|$)")
"""Control groups that systemd makes and removes as it likes."""

GRACE_S = 10.0
"""For processes that are ending: a guard waits until its agent has gone."""

WAITERS = ("becalm-guard", "becalm-keeper")
PATIENCE_S = 75.0
"""For those of becalm's that wait until interrupts are back: after a minute they give up, and give all masks back."""

PR_SET_CHILD_SUBREAPER = 36
PF_NO_SETAFFINITY = 0x0400_0000
"""include/linux/sched.h: the kernel itself says where these tasks run."""


def snapshot() -> Snapshot:
    """What is compared, by name."""
    found = {f"setting {path}": text for path, text in settings()}
    found |= {f"mount {at}": what for at, what in mounts()}
    found |= {f"swap {line.split()[0]}": line.split()[-1] for line in lines("/proc/swaps")[1:]}
    found |= {f"control group {path}": "" for path in groups()}
    found |= {f"interface {name}": "" for name in names("/sys/class/net") if not name.startswith("veth")}
    found |= {f"file {path}": what for path, what in files()}
    found |= {f"task {task}": cpus for task, cpus in tasks()}
    return found


def settings() -> Iterator[tuple[Path, str]]:
    """Small files, once each: links below /sys lead in circles. What nobody can write is a state or a counter."""
    for pattern in SETTINGS:
        for path in Path("/").glob(pattern[1:]):
            if VOLATILE.search(str(path)):
                continue
            with suppress(OSError):
                about = path.stat()
                if stat.S_ISREG(about.st_mode) and about.st_mode & 0o444 and about.st_mode & 0o222:
                    yield path, path.read_bytes()[:4096].decode(errors="replace").strip()


def returning() -> Snapshot:
    """Masks that may come back, by name as in a snapshot: until an interrupt has fired becalm gives it a narrow one."""
    found = {}
    with suppress(OSError):
        for line in lines(INTERRUPTS):
            with suppress(ValueError, KeyError, TypeError):
                away = json.loads(line.partition(" ")[2])
                if away["why"] == "waiting":
                    found[f"setting /proc/irq/{away['irq']}/smp_affinity"] = away["mask"]
    return found


def mounts() -> Iterator[tuple[str, str]]:
    """By place and order; what is mounted there and how."""
    for index, line in enumerate(lines("/proc/self/mountinfo")):
        about, _, source = line.partition(" - ")
        fields = about.split()
        yield f"{fields[4]} #{index}", f"{fields[3]} {fields[5]} {source}"


def groups() -> Iterator[str]:
    """Directories of control groups but those of systemd's units."""
    for top, _, _ in os.walk("/sys/fs/cgroup"):
        if not UNITS.search(top):
            yield top


def files() -> Iterator[tuple[str, str]]:
    """Files outside of the project, with what is told about each, without becalm's own."""
    return ((path, what) for path, what in all_files() if path not in OWN)


def all_files() -> Iterator[tuple[str, str]]:
    """All files that are looked at."""
    for top in FILES:
        for folder, below, plain in os.walk(top):
            for name in (*below, *plain):
                path = os.path.join(folder, name)
                with suppress(OSError):
                    about = os.lstat(path)
                    when = "" if stat.S_ISDIR(about.st_mode) else f"{about.st_size} bytes, written {about.st_mtime_ns}"
                    yield path, f"{stat.filemode(about.st_mode)} {about.st_uid}:{about.st_gid} {when}"
    for place in NAMES:
        for name in names(os.path.expanduser(place)):
            if not OTHERS.match(name):
                yield f"{place}/{name}", ""
    for place in OURS:
        for name in names(place):
            if "becalm" in name and not OTHERS.match(name):
                yield f"{place}/{name}", ""


def tasks() -> Iterator[tuple[str, str]]:
    """Processes and threads of the kernel, with the CPUs they may use and whether they are stopped."""
    for pid in filter(str.isdigit, names("/proc")):
        with suppress(OSError, StopIteration, IndexError):
            text = Path(f"/proc/{pid}/stat").read_text()
            name, _, rest = text.partition("(")[2].rpartition(")")
            fields = rest.split()
            # An interrupt's thread follows the CPU at which the interrupt in fact arrives.
            if int(fields[6]) & PF_NO_SETAFFINITY or name.startswith("irq/"):
                continue
            allowed = next(line for line in lines(f"/proc/{pid}/status") if line.startswith("Cpus_allowed_list"))
            stopped = ", stopped" if fields[0] in "Tt" else ""
            yield f"{pid} ({name}) started {fields[19]}", f"CPUs {allowed.split()[1]}{stopped}"


def names(place: str) -> list[str]:
    """The names in a directory; none where there is none."""
    with suppress(OSError):
        return sorted(os.listdir(place))
    return []


def lines(path: str) -> list[str]:
    """The lines of a file."""
    return Path(path).read_text(errors="replace").splitlines()


def differences(
    before: Snapshot, after: Snapshot, may_become: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """A sentence for each difference. Tasks come and go, and what may become something else than it was may be that."""
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if now == was or now == may_become.get(name, was) or (name.startswith("task ") and None in (was, now)):
            continue
        if was is None:
            yield f"{name}: was not there before"
        elif now is None:
            yield f"{name}: has gone"
        else:
            yield f"{name}: was {was!r}, is {now!r}"


def descendants() -> list[int]:
    """All processes that this one started, directly or not, and that have not ended."""
    children: dict[int, list[int]] = {}
    for pid in map(int, filter(str.isdigit, names("/proc"))):
        with suppress(OSError, IndexError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                children.setdefault(int(fields[1]), []).append(pid)
    found, left = [], [os.getpid()]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += below
    return found


def survivors() -> Iterator[str]:
    """Wait for what the command has left; what does not end is ended, and told."""
    begun = time.monotonic()
    while (left := descendants()) and time.monotonic() - begun < (PATIENCE_S if wait(left) else GRACE_S):
        reap()
        time.sleep(0.1)
    for pid in left:
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            kept = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            test = next(
                (each.partition(b"=")[2].decode() for each in kept if each.startswith(b"PYTEST_CURRENT_TEST=")), ""
            )
            yield f"process {pid} is still there: {words[:200]}{f', from {test}' if test else ''}"
    for pid in left:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def wait(left: Iterable[int]) -> bool:
    """Whether these only wait for interrupts; ended meanwhile, they would leave them their narrow masks."""
    return bool(returning()) and all(called(pid) in WAITERS for pid in left)


def called(pid: int) -> str:
    """A process's name; empty when it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def reap() -> None:
    """Take note of orphans that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def run(command: Iterable[str]) -> int:
    """Run it; orphans become children of this process. Returns the exit code."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    process = subprocess.Popen(list(command))
    # A terminal sends these to both; what is left is looked after in any case.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == process.pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode if process.returncode >= 0 else 128 - process.returncode


def main(arguments: list[str]) -> int:
    """Returns the command's exit code, or 1 when it has changed something; with --tell that is only told."""
    tell = arguments[:1] == ["--tell"]
    arguments = arguments[1:] if tell else arguments
    if arguments[:1] != ["--"] or not arguments[1:]:
        print("usage: tools/unchanged.py [--tell] -- COMMAND…", file=sys.stderr)
        return 2
    before, may_become = snapshot(), returning()
    code = run(arguments[1:])
    found = [*survivors(), *differences(before, snapshot(), may_become)]
    if found:
        print(
            f"\nThe machine is not as it was before. {len(found)} difference{'s' * (len(found) > 1)}:", file=sys.stderr
        )
        print("\n".join(f"  {each}" for each in found), file=sys.stderr)
    return code or int(bool(found) and not tell)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
