"""A directory that looks like the `/` of a laptop, as far as becalm's settings go; the agent takes it with `--root`.

Values are spelled as the kernel spells them (a trailing newline each), so that a tree that was changed and restored
can be compared byte for byte.
"""

from __future__ import annotations

import struct
from pathlib import Path

BOOT_ID = "5f0c1c1e-0000-4000-8000-000000000001"
SWAP_HEADER = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority"
OURS = ("run/becalm", "var/lib/becalm")
"""The files that becalm may leave on a machine: its lock, and its note of the last restore by a guard."""

Snapshot = dict[str, tuple[int, bytes]]


def put(root: Path, path: str, text: str | bytes) -> None:
    """Write one file of the tree with its directories; text gets the newline that the kernel writes."""
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text if isinstance(text, bytes) else f"{text}\n".encode())


def laptop(root: Path, *, cpus: int = 8, cgroup: int = 2, boot: str = BOOT_ID) -> Path:
    """Build the tree below `root` and return it. `cpus`: hardware threads, two a core; `cgroup`: cpuset's version."""
    for directory in ("run", "var/lib"):
        (root / directory).mkdir(parents=True)
    processors(root, cpus)
    system = {
        "proc/sys/kernel/random/boot_id": boot,
        "proc/cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/sda1 quiet",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
        "sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never",
        "sys/kernel/mm/ksm/run": "1",
        "proc/sys/kernel/numa_balancing": "1",
        "proc/sys/vm/swappiness": "60",
        "proc/sys/vm/min_free_kbytes": "50000",
        "proc/sys/vm/stat_interval": "1",
        "proc/sys/kernel/perf_event_max_sample_rate": "100000",
        "proc/sys/kernel/nmi_watchdog": "1",
        "proc/sys/kernel/soft_watchdog": "1",
        "proc/sys/kernel/watchdog": "1",
        "proc/sys/kernel/randomize_va_space": "2",
        "proc/sys/kernel/timer_migration": "1",
        "proc/sys/kernel/task_delayacct": "0",
        "proc/sys/kernel/sched_autogroup_enabled": "1",
        "proc/sys/kernel/sched_cfs_bandwidth_slice_us": "5000",
        "proc/sys/kernel/sched_rt_runtime_us": "950000",
        "proc/sys/kernel/sched_rr_timeslice_ms": "100",
        "sys/devices/virtual/workqueue/cpumask": mask(cpus),
        "proc/irq/default_smp_affinity": mask(cpus),
    }
    for path, text in system.items():
        put(root, path, text)
    interrupts(root, cpus)
    swap(root, {"/swap file": -2, "/dev/dm-1": -3})
    put(root, "dev/cpu_dma_latency", struct.pack("=i", 2_000_000_000))
    cgroups(root, cpus, cgroup)
    for pid, name, allowed in (
        (1, "systemd", f"0-{cpus - 1}"),
        (812, "tuned", f"0-{cpus - 1}"),
        (815, "irqbalance", "0"),
    ):
        process(root, pid, name, allowed)
    if cgroup == 1:
        process(root, 900, "pinned", str(cpus - 1), "/last")
    return root


SCHEDULERS = {
    "5.10": {
        "proc/sys/kernel/sched_latency_ns": "18000000",
        "proc/sys/kernel/sched_min_granularity_ns": "2250000",
        "proc/sys/kernel/sched_wakeup_granularity_ns": "3000000",
        "proc/sys/kernel/sched_migration_cost_ns": "500000",
        "proc/sys/kernel/sched_nr_migrate": "32",
        "proc/sys/kernel/sched_tunable_scaling": "1",
        "proc/sys/kernel/sched_child_runs_first": "0",
        "proc/sys/kernel/numa_balancing_scan_delay_ms": "1000",
        "proc/sys/kernel/numa_balancing_scan_period_min_ms": "1000",
        "proc/sys/kernel/numa_balancing_scan_period_max_ms": "60000",
        "proc/sys/kernel/numa_balancing_scan_size_mb": "256",
        "sys/kernel/debug/sched_features": (
            "GENTLE_FAIR_SLEEPERS START_DEBIT NO_NEXT_BUDDY LAST_BUDDY CACHE_HOT_BUDDY WAKEUP_PREEMPTION NO_HRTICK "
            "NO_DOUBLE_TICK NONTASK_CAPACITY TTWU_QUEUE NO_SIS_AVG_CPU SIS_PROP NO_WARN_DOUBLE_CLOCK RT_PUSH_IPI "
            "NO_RT_RUNTIME_SHARE NO_LB_MIN ATTACH_AGE_LOAD WA_IDLE WA_WEIGHT WA_BIAS UTIL_EST UTIL_EST_FASTUP "
        ),
    },
    "6.1": {
        "sys/kernel/debug/sched/latency_ns": "12000000",
        "sys/kernel/debug/sched/min_granularity_ns": "1500000",
        "sys/kernel/debug/sched/idle_min_granularity_ns": "750000",
        "sys/kernel/debug/sched/wakeup_granularity_ns": "2000000",
        "sys/kernel/debug/sched/features": (
            "GENTLE_FAIR_SLEEPERS START_DEBIT NO_NEXT_BUDDY LAST_BUDDY CACHE_HOT_BUDDY WAKEUP_PREEMPTION NO_HRTICK "
            "NO_HRTICK_DL NO_DOUBLE_TICK NONTASK_CAPACITY TTWU_QUEUE NO_SIS_PROP SIS_UTIL NO_WARN_DOUBLE_CLOCK "
            "NO_RT_PUSH_IPI NO_RT_RUNTIME_SHARE NO_LB_MIN ATTACH_AGE_LOAD WA_IDLE WA_WEIGHT WA_BIAS UTIL_EST "
            "UTIL_EST_FASTUP NO_LATENCY_WARN NI_RANDOM ALT_PERIOD BASE_SLICE "
        ),
        "proc/sys/kernel/sched_child_runs_first": "0",
    },
    "6.12": {
        "sys/kernel/debug/sched/base_slice_ns": "1400000",
        "sys/kernel/debug/sched/features": (
            "PLACE_LAG PLACE_DEADLINE_INITIAL PLACE_REL_DEADLINE RUN_TO_PARITY PREEMPT_SHORT NO_NEXT_BUDDY PICK_BUDDY "
            "CACHE_HOT_BUDDY DELAY_DEQUEUE DELAY_ZERO WAKEUP_PREEMPTION NO_HRTICK NO_HRTICK_DL NO_DOUBLE_TICK "
            "NONTASK_CAPACITY TTWU_QUEUE SIS_UTIL NO_WARN_DOUBLE_CLOCK NO_RT_PUSH_IPI NO_RT_RUNTIME_SHARE NO_LB_MIN "
            "ATTACH_AGE_LOAD WA_IDLE WA_WEIGHT WA_BIAS UTIL_EST NO_LATENCY_WARN NI_RANDOM "
        ),
    },
}
"""Files of schedulers by kernel, as machines with these kernels (5.10 on 8 CPUs, the others on 2) show them."""

SINCE_5_13 = {
    "sys/kernel/debug/sched/migration_cost_ns": "500000",
    "sys/kernel/debug/sched/nr_migrate": "32",
    "sys/kernel/debug/sched/tunable_scaling": "1",
    "sys/kernel/debug/sched/preempt": "none (voluntary) full",
    "sys/kernel/debug/sched/numa_balancing/scan_delay_ms": "1000",
    "sys/kernel/debug/sched/numa_balancing/scan_period_min_ms": "1000",
    "sys/kernel/debug/sched/numa_balancing/scan_period_max_ms": "60000",
    "sys/kernel/debug/sched/numa_balancing/scan_size_mb": "256",
}


def scheduler(root: Path, kernel: str) -> None:
    """Write the files of a kernel's scheduler."""
    for path, text in {**SCHEDULERS[kernel], **({} if kernel == "5.10" else SINCE_5_13)}.items():
        put(root, path, text)


def mask(cpus: int) -> str:
    """Return the mask of the first CPUs, as smp_affinity shows it up to 32 of them."""
    return f"{(1 << cpus) - 1:x}"


def processors(root: Path, cpus: int) -> None:
    """Write CPUs 0 to n-1, of which i and i + n/2 share a core, under intel_pstate."""
    cpu = "sys/devices/system/cpu"
    put(root, f"{cpu}/intel_pstate/no_turbo", "0")
    put(root, f"{cpu}/smt/control", "on")
    put(root, f"{cpu}/online", f"0-{cpus - 1}")
    cores = cpus // 2
    for number in range(cpus):
        here = f"{cpu}/cpu{number}"
        if number:
            put(root, f"{here}/online", "1")
        put(root, f"{here}/topology/thread_siblings_list", f"{number % cores},{number % cores + cores}")
        put(root, f"{here}/cpufreq/scaling_available_governors", "performance powersave")
        put(root, f"{here}/cpufreq/scaling_governor", "powersave")
        put(root, f"{here}/cpufreq/energy_performance_preference", "balance_performance")
        put(root, f"{here}/cpufreq/scaling_min_freq", "400000")
        # Efficient cores have another highest frequency than fast ones.
        highest = "4700000" if number % cores < cores / 2 else "3600000"
        put(root, f"{here}/cpufreq/scaling_max_freq", highest)
        put(root, f"{here}/cpufreq/cpuinfo_max_freq", highest)
        put(root, f"{here}/cpufreq/cpuinfo_min_freq", "400000")


def interrupts(root: Path, cpus: int) -> None:
    """Write interrupts that may arrive anywhere, each at a CPU of its own, and some bound to one; all fire now and
    then.

    Number 130, which arrives at the first CPU, the kernel spreads itself: it lets nobody move it.
    """
    lines = []
    for irq in (0, 1, 9, 16, 120, 121, 122, 130):
        bound = 120 <= irq < 130
        at = irq % 4 if bound else 0 if irq == 130 else irq % cpus
        put(root, f"proc/irq/{irq}/smp_affinity", f"{1 << at:x}" if bound else mask(cpus))
        put(root, f"proc/irq/{irq}/effective_affinity_list", str(at))
        (root / f"proc/irq/{irq}/device{irq}").mkdir()
        lines.append(f"{irq:4}: {' '.join(['7'] * cpus)} PCI-MSIX device{irq}")
    (root / "proc/irq/130/smp_affinity").chmod(0o444)
    put(root, "proc/interrupts", "\n".join(lines))


def swap(root: Path, areas: dict[str, int]) -> None:
    """Write `/proc/swaps` with these areas and priorities, in that order, and a file for each."""
    lines = [SWAP_HEADER]
    for area, priority in areas.items():
        put(root, area, "")
        spelled = area.replace(" ", "\\040")
        lines.append(f"{spelled}\tpartition\t1048572\t0\t{priority}")
    put(root, "proc/swaps", "\n".join(lines))


def cgroups(root: Path, cpus: int, version: int) -> None:
    """Write the cpuset controller on v2 (not handed to children yet), or on v1 with two sets of other people."""
    base = "sys/fs/cgroup"
    put(root, "sys/kernel/rcu_expedited", "0")
    if version == 2:
        put(root, f"{base}/cgroup.controllers", "cpuset cpu io memory pids")
        put(root, f"{base}/cgroup.subtree_control", "cpu io memory pids")
        put(root, f"{base}/cgroup.procs", "1\n812\n815")
        put(root, f"{base}/cpuset.mems.effective", "0")
        return
    put(root, f"{base}/cpu/cpu.shares", "1024")
    put(root, f"{base}/cpu/tasks", "1\n812\n815")
    put(root, f"{base}/cpuset/cpuset.cpus", f"0-{cpus - 1}")
    put(root, f"{base}/cpuset/cpuset.mems", "0")
    put(root, f"{base}/cpuset/cpuset.sched_load_balance", "1")
    put(root, f"{base}/cpuset/tasks", "1\n812\n815")
    for name, held in (("docker", f"0-{cpus - 1}"), ("docker/one", f"0-{cpus // 2 - 1}")):
        put(root, f"{base}/cpuset/{name}/cpuset.cpus", held)
        put(root, f"{base}/cpuset/{name}/tasks", b"")
    put(root, f"{base}/cpuset/last/cpuset.cpus", str(cpus - 1))
    put(root, f"{base}/cpuset/last/tasks", "900")


def process(root: Path, pid: int, name: str, allowed: str, cpuset: str = "/") -> None:
    """Write a process with one thread, started at a time of its own, that may use these CPUs and is in this cpuset of
    v1."""
    after = " ".join(["S", "1", *["0"] * 17, str(pid * 100), *["0"] * 30])
    for here in (f"proc/{pid}", f"proc/{pid}/task/{pid}"):
        put(root, f"{here}/stat", f"{pid} ({name}) {after}")
        put(root, f"{here}/status", f"Name:\t{name}\nPPid:\t1\nCpus_allowed_list:\t{allowed}")
        put(root, f"{here}/comm", name)
        put(root, f"{here}/cgroup", f"1:cpuset:{cpuset}")
        put(root, f"{here}/cmdline", f"/usr/bin/{name}\0".encode())


def snapshot(root: Path) -> Snapshot:
    """Return every file and directory but becalm's own: mode, and contents."""
    files = {}
    for path in root.rglob("*"):
        name = str(path.relative_to(root))
        if any(own == name or name.startswith(own + "/") for own in OURS):
            continue
        held = path.read_bytes() if path.is_file() else b""
        files[name] = (path.lstat().st_mode, held)
    # Parents of ours come with them.
    for own in OURS:
        for parent in Path(own).parents:
            files.pop(str(parent), None)
    return files


def changed(before: Snapshot, after: Snapshot) -> dict[str, tuple[bytes | None, bytes | None]]:
    """Return the differences between two snapshots, for a failing test to show."""
    names = sorted(before.keys() | after.keys())
    held = lambda snap, name: snap[name][1] if name in snap else None  # noqa: E731
    return {name: (held(before, name), held(after, name)) for name in names if before.get(name) != after.get(name)}


def strays(root: Path) -> list[str]:
    """Return files of becalm that should not be there when nothing is applied."""
    allowed = ("lock", "holder", "last-restore", "write-", "interrupts.lock")
    return [str(path) for own in OURS for path in (root / own).glob("*") if not path.name.startswith(allowed)]
