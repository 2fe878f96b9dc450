"""Decide which differences between two snapshots of a machine are traces of becalm or its tests, for `unchanged.py`.

A setting that becalm or a test can write, or that changes with one, counts as theirs whoever wrote it: becalm's journal
goes when everything has been restored, so after the tests nothing tells who wrote a value, and no write that was not
undone may be missed. Excused are values that another becalm at work, or the wait for an interrupt, accounts for. Of
everything else only names that becalm or a test makes count.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from snapshot import Key, Snapshot, has_not_ended, lines, names, numbers, stat_fields

NEW, CHANGED, GONE = frozenset(["new"]), frozenset(["changed"]), frozenset(["gone"])
ANY = NEW | CHANGED | GONE


class Row(NamedTuple):
    """A pattern of names of one kind, and which differences of theirs are ours."""

    kind: str
    pattern: str
    differences: frozenset[str]


OURS = (
    # Knobs, and what changes with them: crates/becalm-core/src/knob/catalogue.rs. A test applies every knob to a
    # simulated /proc and /sys, and fails when a file is missing here (tests/contract/tools/test_traces.py).
    Row("setting", r"^/proc/sys/kernel/numa_balancing(_scan_\w+)?$", CHANGED),
    Row("setting", r"^/proc/sys/kernel/((soft_|nmi_)?watchdog|perf_event_max_sample_rate)$", CHANGED),
    Row("setting", r"^/proc/sys/kernel/(randomize_va_space|timer_migration|task_delayacct)$", CHANGED),
    Row("setting", r"^/proc/sys/kernel/sched_(autogroup_enabled|cfs_bandwidth_slice_us|child_runs_first)$", CHANGED),
    Row("setting", r"^/proc/sys/kernel/sched_(rt_runtime_us|rr_timeslice_ms|nr_migrate|tunable_scaling)$", CHANGED),
    Row("setting", r"^/proc/sys/kernel/sched_\w+_ns$", CHANGED),
    Row("setting", r"^/proc/sys/vm/(swappiness|stat_interval)$", CHANGED),
    # Written by the kernel with the next one: mm/khugepaged.c, set_recommended_min_free_kbytes.
    Row("setting", r"^/proc/sys/vm/min_free_kbytes$", CHANGED),
    Row("setting", r"^/sys/kernel/mm/(ksm/run|transparent_hugepage/(enabled|defrag))$", CHANGED),
    Row("setting", r"^/proc/irq/(default_|\d+/)smp_affinity$", CHANGED),
    Row("setting", r"^/sys/devices/virtual/workqueue/([^/]+/)?cpumask$", CHANGED),
    # The kernel forgets many settings of a CPU that goes offline, so all of them count.
    Row("setting", r"^/sys/devices/system/cpu/", CHANGED),
    Row("setting", r"^/sys/kernel/(rcu_expedited$|debug/sched)", CHANGED),
    Row("setting", r"^/sys/fs/cgroup/(cgroup\.subtree_control|cpuset/.*)$", CHANGED),
    Row("swap", r"", CHANGED | GONE),
    Row("service", r"", CHANGED),
    Row("task", r"", CHANGED),
    # Boot entries: crates/becalm-core/src/boot/grub.rs and systemd_boot.rs; other files there have our name.
    Row("file", r"^/boot/.*/(custom\.cfg|grubenv)$", ANY),
    Row("setting", r"^/sys/firmware/efi/efivars/LoaderEntryOneShot-", ANY),
    # Units (boot/guard.rs, boot/kept.rs, verbs/restore_service.py), entries (boot/systemd_boot.rs), what is written for
    # production (report/production), and /etc/sudoers.d/becalm-test (test_this_machine.py).
    Row("file", r"^/(etc|boot|usr|var/spool|var/cache)/.*becalm", ANY),
    # Another becalm may end, and its journal with it (crates/becalm-settings/src/journal.rs).
    Row("file", r"^/var/lib/becalm/", NEW | CHANGED),
    # Stores, spools and profiles (python/becalm/paths.py).
    Row("file", r"^~/(\.config/|\.config/systemd/|\.local/share/|\.local/state/|\.ssh/)?[^/]*becalm", NEW),
    # Begun downloads and directories of clusters, next to kernels and images, which stay (paths.py, cache_dir).
    Row("file", r"^~/\.cache/becalm/(cluster-|\.fetch-|\.build-)", NEW),
    # Directories of connections (hosts/ssh/connection.py), spools of agents (hosts/ssh/install.py), load on a disk
    # (stress/disk.rs), and what programs make that lose TMPDIR. The tests' own homes (tests/conftest.py) and trees of
    # Rust's tests are below TMPDIR, so those in /tmp are of tests that were started without this tool.
    Row("file", r"^(/tmp|/var/tmp|/dev/shm|/run|/run/user)/(?!becalm-tests-home-)[^/]*becalm", NEW),
    # Sets of CPUs (cpuset.rs of becalm-settings), shares of them (weight.rs), groups of observed programs
    # (source/group.rs), limits of memory (stress/group.rs).
    Row("control group", r"/becalm-(isolated|rest|weighted|load-\d+|\d+)$", NEW),
    Row("control group", r"^/sys/fs/cgroup/cpuset/test-(all|last)$", NEW),  # test_real.py
    # Compressed swap (tests/support/compressed.py, tests/support/real.py).
    Row("swap", r"^/dev/zram\d+$", NEW),
    Row("setting", r"^/sys/block/zram\d+/disksize$", CHANGED),
    # Tests mount below their own directories only, and make no interface: guests have QEMU's user network.
    Row("mount", r"becalm", NEW),
    Row("interface", r"becalm", NEW),
)
"""The traces of becalm and its tests, with the place where each is made."""

MAKER = re.compile(r"becalm-(?:[\w-]+-)?(\d+)$")
"""A name that ends with the number of the process that made it."""

AGENT = re.compile("becalm-agent|agent-.*|init")
"""A name of an agent's process, as in source/abandoned.rs."""

SHARED = re.compile("/(tmp|var/tmp|dev/shm|run|var/lib/becalm)/")
"""Directories of files in which every becalm on a machine leaves its own."""

STATE = "/var/lib/becalm"
JOURNAL = "/var/lib/becalm/journal"
NOTE = "/var/lib/becalm/last-restore"
INTERRUPTS = "/run/becalm/interrupts"
"""The list of interrupts that arrive elsewhere than before (away.rs of becalm-settings).

As in the journal, checksums and JSON.
"""

TICKS_PER_S = 100

SAMPLE_RATE = "/proc/sys/kernel/perf_event_max_sample_rate"
SAMPLE_STEP = 50
"""A divisor of all the kernel's possible ticks per second (CONFIG_HZ: 100, 250, 300, 1000)."""


@dataclass
class Journal:
    """The settings of a becalm at work: of each file its value before, and the values that it got."""

    originals: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class Excuses:
    """The values that settings may have at the end: others restore them, or another becalm has applied them."""

    restored: dict[Key, list[str]] = field(default_factory=dict)
    others: Journal = field(default_factory=Journal)

    @classmethod
    def before(cls) -> Excuses:
        """Return what others may restore while tests run."""
        restored = {key: [mask] for key, mask in returning().items()}
        for path, original in journal().originals.items():
            restored.setdefault(("setting", path), []).append(original)
        return cls(restored)

    def after(self) -> Excuses:
        """Return these with what another becalm has applied now. It has its journal open; ours have ended."""
        return Excuses(self.restored, journal() if in_use(JOURNAL) else Journal())

    def cover(self, key: Key, before: str, now: str) -> bool:
        """Return whether others account for the present value of a setting."""
        if any(agree(now, value) for value in self.restored.get(key, ())):
            return True
        path = key[1] if key[0] == "setting" else ""
        original = self.others.originals.get(path)
        untouched = original is not None and agree(before, original)
        return untouched and any(agree(now, value) for value in self.others.values[path])


def agree(text: str, value: str) -> bool:
    """Return whether the text of a setting means a value: this one, or in brackets among all choices."""
    return text == value or f"[{value}]" in text


def returning() -> Snapshot:
    """Return masks that may come back: until an interrupt has fired becalm gives it a narrow one."""
    masks = {}
    for record in records(INTERRUPTS):
        with suppress(KeyError):
            if record["why"] == "waiting":
                masks["setting", f"/proc/irq/{record['irq']}/smp_affinity"] = str(record["mask"])
    return masks


def journal() -> Journal:
    """Return what becalm's journal holds on files; nothing where there is none."""
    paths, content = {}, Journal()
    for record in records(JOURNAL):
        with suppress(KeyError):
            if record["record"] == "place" and "path" in record["place"]:
                path = paths[record["index"]] = str(record["place"]["path"])
                content.originals[path], content.values[path] = str(record["original"]), []
            elif record["record"] == "ours" and record["index"] in paths:
                content.values[paths[record["index"]]].append(str(record["value"]))
    return content


def records(path: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a file of becalm's, without lines that cannot be read."""
    for line in lines(path):
        with suppress(ValueError):
            record = json.loads(line.partition(" ")[2])
            if isinstance(record, dict):
                yield record


def traces(before: Snapshot, after: Snapshot, private: str, excuses: Excuses) -> tuple[list[str], list[str]]:
    """Return a sentence for each trace of ours, and one for each other difference.

    `private`: the tests' temporary directory.
    """
    ours: list[str] = []
    others: list[str] = []
    evidence = "\n".join(lines(JOURNAL) + lines(NOTE))
    for key in sorted(before.keys() | after.keys()):
        was, now = before.get(key), after.get(key)
        kind, name = key
        # Tasks come and go.
        if was == now or (kind in ("task", "service") and None in (was, now)):
            continue
        if was is None:
            difference, sentence = "new", "was not there before"
        elif now is None:
            difference, sentence = "gone", "has gone"
        else:
            difference, sentence = "changed", f"was {was!r}, is {now!r}"
        named = kind == "setting" and difference == "changed" and re.search(rf"{re.escape(name)}(?![\w/])", evidence)
        candidate = named or is_ours(kind, name, difference) or (now is not None and private in f"{name} {now}")
        excused = candidate and (
            excuses.cover(key, was or "", now or "")
            or of_another(kind, name)
            or (not named and lowered_by_kernel(name, was or "", now or ""))
        )
        (ours if candidate and not excused else others).append(f"{kind} {name}: {sentence}")
    return ours, others


def is_ours(kind: str, name: str, difference: str) -> bool:
    """Return whether becalm or a test makes such a difference."""
    return any(row.kind == kind and difference in row.differences and re.search(row.pattern, name) for row in OURS)


def lowered_by_kernel(name: str, was: str, now: str) -> bool:
    """Return whether the kernel may have lowered the rate of perf's samples.

    It does where samples take long, to a multiple of its ticks per second (kernel/events/core.c,
    perf_sample_event_took). Tests set other values.
    """
    digits = name == SAMPLE_RATE and was.isdigit() and now.isdigit()
    return digits and int(now) < int(was) and int(now) % SAMPLE_STEP == 0


def of_another(kind: str, name: str) -> bool:
    """Return whether a control group or a file is of a becalm at work; all processes of ours have ended."""
    if kind != "control group" and not (kind == "file" and SHARED.match(name)):
        return False
    if name.startswith(f"{STATE}/"):
        return in_use(JOURNAL)
    maker = MAKER.search(name)
    return (maker is not None and is_older(int(maker[1]), name)) or in_use(name)


def is_older(pid: int, path: str) -> bool:
    """Return whether a process began before a file was made; numbers are used again. An agent counts as older, since
    the clock may have been set meanwhile."""
    with suppress(OSError, StopIteration, IndexError):
        fields = stat_fields(pid)
        if AGENT.fullmatch("".join(lines(f"/proc/{pid}/comm"))):
            return has_not_ended(fields)
        boot_s = next(int(line.split()[1]) for line in lines("/proc/stat") if line.startswith("btime"))
        return has_not_ended(fields) and boot_s + int(fields[19]) // TICKS_PER_S <= os.stat(path).st_ctime + 1
    return False


def in_use(path: str) -> bool:
    """Return whether a process has a file open, or a directory or something in it."""
    for pid in numbers():
        for descriptor in names(f"/proc/{pid}/fd"):
            with suppress(OSError):
                target = os.readlink(f"/proc/{pid}/fd/{descriptor}")
                if target == path or target.startswith(f"{path}/"):
                    return True
    return False
