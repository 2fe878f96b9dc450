"""Settings of the running machine in guests with kernels 6.1 and 6.12: watchdogs, the scheduler, priorities."""

import pytest
from tests.system.guest.kernels import outputs, shell

from becalm.errors import RefusedError
from becalm.nouns.settings import Settings

SHARED = "cd /proc/sys/kernel; cat watchdog soft_watchdog nmi_watchdog"


def test_the_watchdogs_of_the_running_machine_come_back(guest):
    """Read none of the other files while they are off, which would make the kernel forget that they were on."""
    with guest.hold(Settings.of({"watchdogs": "off"}), dangerous=True):
        assert {row.name: row.value for row in guest.knobs()}["watchdogs"] == "off"
    assert outputs(guest, (shell(SHARED), 0))[0].split()[:2] == ["1", "1"]


DEBUG = "/sys/kernel/debug/sched"
SCHEDULER = {
    **dict.fromkeys(
        ("sched_rt_runtime_us", "sched_rr_timeslice_ms", "sched_cfs_bandwidth_slice_us"), "/proc/sys/kernel"),
    **dict.fromkeys(
        ("sched_latency_ns", "sched_min_granularity_ns", "sched_wakeup_granularity_ns", "sched_base_slice_ns",
         "sched_idle_min_granularity_ns", "sched_migration_cost_ns", "sched_nr_migrate"), DEBUG),
    **dict.fromkeys(
        ("numa_scan_delay_ms", "numa_scan_period_min_ms", "numa_scan_period_max_ms", "numa_scan_size_mb"),
        f"{DEBUG}/numa_balancing"),
}  # fmt: skip
"""Numbers of the scheduler, and the directories of their files."""


def file_of(name):
    """Return the file in which a guest's kernel shows a number."""
    where, own = SCHEDULER[name], name
    if where != "/proc/sys/kernel":
        own = name.removeprefix("sched_").removeprefix("numa_")
    return f"{where}/{own}"


def test_settings_of_the_scheduler_are_set_and_come_back(guest):
    """Check also what the kernel computes anew when a CPU goes offline, and its basis for the next time."""
    rows = {row.name: row for row in guest.knobs()}
    eevdf = rows["sched_base_slice_ns"].supported
    assert eevdf is not rows["sched_latency_ns"].supported, "EEVDF or CFS"
    assert "6.6" in rows["sched_latency_ns" if eevdf else "sched_base_slice_ns"].reason
    own = {name for name, row in rows.items() if row.elsewhere == ("guest:6.12" if eevdf else "guest:6.1")}
    assert len(own) > 8
    assert all(rows[name].supported for name in own), "hosts at which a row points have it"
    numbers = {name: file_of(name) for name in SCHEDULER if rows[name].supported}
    assert {"sched_migration_cost_ns", "sched_nr_migrate", "numa_scan_size_mb"} <= numbers.keys()
    switches = {"sched_feature_run_to_parity" if eevdf else "sched_feature_gentle_fair_sleepers": "off"}
    switches |= {"sched_feature_next_buddy": "on", "sched_preempt": "full", "sched_tunable_scaling": "none"}
    look = shell(f"cat {' '.join(numbers.values())} {DEBUG}/features {DEBUG}/preempt")

    def inside():
        return outputs(guest, (look, 0))[0]

    def alone():
        """Return what the kernel makes of the times for a single CPU."""
        with guest.hold(Settings.of({"online_cpus": "first"}), dangerous=True):
            return {row.name: row.value for row in guest.knobs() if row.name in numbers}

    guest.define([shell("cat grep")], [Settings()])
    before, single = inside(), alone()
    assert before.split()[: len(numbers)] == [rows[name].value for name in numbers]
    wanted = {name: rows[name].domain.range.natural(0.5) for name in numbers}
    # Leaving raises when something is not as it was.
    with guest.hold(Settings.of({**wanted, **switches, "online_cpus": "first"}), dangerous=True) as held:
        assert not any("took" in remark for remark in held.remarks), held.remarks
        now = {row.name: row.value for row in guest.knobs()}
        assert {name: now[name] for name in wanted} == {name: str(value) for name, value in wanted.items()}
        assert {name: now[name] for name in switches} == switches
        assert now["online_cpus"] == "0"
    assert inside() == before
    assert alone() == single, "from which the kernel computes is as before, too"


def test_settings_below_debugfs_need_no_mount(guest):
    """Unmount debugfs: the agent opens it for itself, and no other process sees it."""
    look = shell("cat /proc/mounts; echo /sys/kernel/debug/*")
    place = "debugfs /sys/kernel/debug"
    assert place in outputs(guest, (look, 0))[0]
    outputs(guest, (shell("umount /sys/kernel/debug"), 0))
    try:
        rows = {row.name: row.value for row in guest.knobs()}
        wanted = str(int(rows["sched_migration_cost_ns"]) + 1)
        with guest.hold(Settings.of({"sched_migration_cost_ns": wanted, "sched_preempt": "full"}), dangerous=True):
            assert {row.name: row.value for row in guest.knobs()}["sched_migration_cost_ns"] == wanted
            (seen,) = outputs(guest, (look, 0))
        assert place not in seen
        assert seen.endswith("/sys/kernel/debug/*"), "the directory is empty"
        assert {row.name: row.value for row in guest.knobs()} == rows
    finally:
        outputs(guest, (shell(f"mount -t debugfs {place}"), 0))


def test_the_slice_of_the_program_only(guest):
    """Read it back in the program; a kernel without slices is told from one that has them."""
    work = shell("grep -s slice /proc/self/sched; true")
    here = next(row for row in guest.knobs() if row.name == "slice_ns")
    own = {"slice_ns": 3_000_000}
    if not here.supported:
        assert here.reason == "it needs Linux 6.12 or later; in reach on --host guest:6.12"
        with pytest.raises(RefusedError, match=r"it needs Linux 6\.12 or later; in reach on --host guest:6\.12"):
            outputs(guest, (work, 0), settings=(own,))
        return
    (line,) = outputs(guest, (work, 0), settings=(own,))
    assert line.split()[-1:] in ([], ["3000000"]), "kernels since 6.15 show it"


def test_nice_is_the_priority_of_the_program(guest):
    work = shell("cat /proc/self/stat")
    highest, lowest = outputs(guest, (work, 0), (work, 1), settings=({"nice": -20}, {"nice": 19}))
    assert [text.rpartition(")")[2].split()[16] for text in (highest, lowest)] == ["-20", "19"]
