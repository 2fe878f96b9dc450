"""Effects of settings, each seen by another interface than the file that becalm writes."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import re
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

HUGE = 8 << 20
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
RATES = (800, 2_000, 20_000)
"""Samples a second: of what settings make of `perf_event_max_sample_rate`, below, between and above."""

READINGS = 5
"""Readings of the kernel's list of timers, of which a single one may be wrong."""


def stacks_differ() -> bool:
    """Return whether programs get random addresses: among three, a stack is elsewhere."""
    maps = [subprocess.run(["cat", "/proc/self/maps"], capture_output=True, text=True).stdout for _ in range(3)]
    return len({line.split()[0] for text in maps for line in text.splitlines() if "[stack]" in line}) > 1


def huge_pages() -> tuple[bool, bool]:
    """Return whether new memory gets huge pages: any memory, and memory for which they are asked (madvise(2))."""
    got = []
    for request in (False, True):
        with mmap.mmap(-1, HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            if request:
                memory.madvise(mmap.MADV_HUGEPAGE)
            start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            for at in range(0, HUGE, mmap.PAGESIZE):
                memory[at] = 1
            sizes = [size for low, high, size in huge_mappings() if low < start + HUGE and start < high]
        got.append(any(sizes))
    return got[0], got[1]


def huge_mappings() -> list[tuple[int, int, int]]:
    """Return begin, end and KiB in huge pages of each mapping of this process."""
    pattern = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) .*?^AnonHugePages: +(\d+) kB", re.MULTILINE | re.DOTALL)
    matches = pattern.findall(Path("/proc/self/smaps").read_text())
    return [(int(low, 16), int(high, 16), int(size)) for low, high, size in matches]


def usable_cpus() -> list[int]:
    """Return the CPUs to which a process may be bound, by trying each in a process that ends with it."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        usable = []
        for cpu in range(os.sysconf("SC_NPROCESSORS_CONF")):
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, {cpu})
                usable.append(cpu)
        os.write(theirs, repr(usable).encode())
        os._exit(0)
    os.close(theirs)
    with open(ours) as file:
        output = file.read()
    os.waitpid(child, 0)
    return [int(cpu) for cpu in re.findall(r"\d+", output)]


def counted_cpus() -> list[str]:
    """Return the CPUs of which the kernel counts the time."""
    return [line.split()[0] for line in Path("/proc/stat").read_text().splitlines() if re.match(r"cpu\d", line)]


def own_cpus() -> list[int]:
    """Return the CPUs that a new process has."""
    text = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True).stdout
    (cpus,) = re.findall(r"Cpus_allowed:\s+(\S+)", text)
    return [bit for bit in range(1024) if int(cpus.replace(",", ""), 16) >> bit & 1]


def watchdog_timers() -> int:
    """Return the number of timers of the kernel's watchdog, one for each CPU that it watches.

    The kernel lets go of the list after each line (kernel/time/timer_list.c, print_active_timers): a timer that fires
    meanwhile is listed twice or not at all, in 1 of 130 readings here.
    """
    timer = re.compile(r"<(\w+)>, watchdog_timer_fn")
    return len({address for _ in range(READINGS) for address in timer.findall(Path("/proc/timer_list").read_text())})


def swap_bytes() -> str:
    """Return the size of all swap areas, by the memory's books."""
    (line,) = re.findall(r"SwapTotal:\s+(\d+ kB)", Path("/proc/meminfo").read_text())
    return str(line)


def group_swappiness() -> str:
    """Return the swappiness of the topmost memory group (cgroup v1), which is the machine's."""
    return Path("/sys/fs/cgroup/memory/memory.swappiness").read_text().strip()


def wakeup_bound() -> int:
    """Return the bound on the time that a sleeping CPU may need to wake up, over all who asked for one."""
    (bound,) = struct.unpack("=i", Path("/dev/cpu_dma_latency").read_bytes()[:4])
    return int(bound)


def accepted_rates() -> list[int]:
    """Return the rates of samples that the kernel accepts (perf_event_open(2): EINVAL above the setting)."""
    call = PERF_EVENT_OPEN[os.uname().machine]
    libc = ctypes.CDLL(None, use_errno=True)
    accepted = []
    for rate in RATES:
        # struct perf_event_attr, its first version: software, 64 bytes, the CPU's clock; freq is bit 10 of the flags.
        attributes = struct.pack("=IIQQQQQIIQ", 1, 64, 0, rate, 0, 0, 1 << 10 | 1, 0, 0, 0)
        descriptor = libc.syscall(call, attributes, 0, -1, -1, 0)
        if descriptor >= 0:
            os.close(descriptor)
            accepted.append(rate)
    return accepted


EFFECTS: dict[str, Callable[[], object]] = {
    "addresses are random": stacks_differ,
    "huge pages for any memory, for memory that asks": huge_pages,
    "CPUs to bind to": usable_cpus,
    "CPUs with counted time": counted_cpus,
    "CPUs of a new process": own_cpus,
    "timers of the watchdog": watchdog_timers,
    "size of swap": swap_bytes,
    "swappiness of the topmost group": group_swappiness,
    "bound on waking up": wakeup_bound,
    "accepted rates of samples": accepted_rates,
}


def effects() -> dict[str, object]:
    """Return what each effect is now; those that this machine does not show are left out."""
    seen: dict[str, object] = {}
    for name, look in EFFECTS.items():
        with contextlib.suppress(OSError, ValueError):
            seen[name] = look()
    return seen
