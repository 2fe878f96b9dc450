"""Records made up by hand: a run of 2 s on two CPUs that waited for one of them, with its samples."""

from becalm.load.record import Load, Series
from becalm.nouns.run import Run

SECOND = 1_000_000_000


def run(**changes):
    """Return a run of two seconds that had 1.2 s of CPU time."""
    values = {
        "seq": 0,
        "workload": 0,
        "settings": 0,
        "round": 0,
        "padding": 0,
        "started_ns": 1_795_000_000 * SECOND,
        "wall_ns": 2 * SECOND,
        "user_ns": 1_100_000_000,
        "system_ns": 100_000_000,
        "wait_ns": 700_000_000,
        "max_rss_bytes": 1 << 20,
        "minor_faults": 10,
        "major_faults": 0,
        "voluntary": 3,
        "involuntary": 40,
        "outcome": "ok",
        "status": 0,
        "left_behind": 0,
    }
    return Run(**{**values, **changes})


def load(**changes):
    """Return the load of the machine during the run: both CPUs busy, three runnable tasks, some disk and network."""
    values = {
        "first": 0,
        "last": 0,
        "started_ns": 1_795_000_000 * SECOND,
        "interval_ns": 2 * SECOND,
        "cpus": 2,
        "busy_ns": 3_600_000_000,
        "idle_ns": 200_000_000,
        "iowait_ns": 100_000_000,
        "irq_ns": 0,
        "softirq_ns": 40_000_000,
        "steal_ns": 160_000_000,
        "queue": 3.1,
        "queue_peak": 5,
        "samples": 20,
        "swap_out_bytes": 0,
        "swap_in_bytes": 0,
        "refaults": 0,
        "direct_reclaims": 0,
        "major_faults": 2,
        "disk_read_bytes": 4 << 20,
        "disk_write_bytes": 12 << 20,
        "disk_busy_ns": 300_000_000,
        "net_in_bytes": 2048,
        "net_out_bytes": 1024,
        "net_packets": 6,
        "net_errors": 0,
        "loopback_bytes": 0,
        "nfs_calls": None,
        "nfs_retransmissions": None,
        "pressure_cpu_ns": 1_700_000_000,
        "pressure_io_ns": 90_000_000,
        "pressure_memory_ns": 0,
        "interrupts": 900,
        "switches": 3000,
        "frequency_khz": None,
        "throttled": None,
        "level": 2,
        "scope": "tree",
        "exec_ns": 1_200_000_000,
        "wait_ns": 700_000_000,
        "tasks": 1,
        "lost": 0,
        "cost_ns": 1_500_000,
    }
    return Load(**{**values, **changes})


NAMES = ("queue", "frequency_khz", "busy_ns", "idle_ns", "irq_ns", "softirq_ns", "steal_ns", "disk_write_bytes")


def series(count=20, **changes):
    """Return `count` samples of equal length. The disk is written to only in the eleventh; the queue peaks in the
    fifth."""
    step = 2 * SECOND // count
    rows = [(0.0, None, None, *[None] * 6)]
    for index in range(1, count + 1):
        queue = None if index == count else 5.0 if index == 5 else 3.0
        written = 12 << 20 if index == 11 else 0
        rows.append((float(index * step), queue, None, 1.8 * step, 0.1 * step, 0.0, 0.02 * step, 0.08 * step, written))
    values = {
        "first": 0,
        "last": 0,
        "names": NAMES,
        "rows": tuple(rows),
        "dropped": 0,
        "skipped": 1,
        "consumers": ({"pid": 41, "name": "cc1", "cpu_ns": 1_900_000_000}, {"pid": 9, "name": "kswapd0", "cpu_ns": 0}),
    }
    return Series(**{**values, **changes})
