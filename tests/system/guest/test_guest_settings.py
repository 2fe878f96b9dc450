"""Settings of the boot in real guests: by their effect inside, with a load that disturbs, and with becalm killed."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.measuring import ran, ran_and_said
from tests.system.guest.booted import VERSIONS, needed, said, shell
from tests.system.guest.test_guest_boots import becalm

from becalm import hosts
from becalm.errors import BootError, RefusedError
from becalm.hosts.guest import qemu
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload

pytestmark = [pytest.mark.guest, pytest.mark.machine]

ALL = {
    "isolcpus": "last-core", "nohz_full": "last-core", "rcu_nocbs": "last-core",
    "watchdogs_boot": "off", "idle": "poll", "mitigations": "off",
}  # fmt: skip
SPIN = "i=0; while [ $i -lt {} ]; do i=$((i+1)); done"
SPIN_ON = f"while :; do {SPIN.format(500)}; done"
TICKS = "while read -r line; do case $line in LOC:*) echo ${line%%Local*};; esac; done < /proc/interrupts"
SHARED = "cd /proc/sys/kernel; cat watchdog soft_watchdog nmi_watchdog"


@pytest.fixture(scope="module", params=VERSIONS)
def guest(request):
    """One guest a kernel; the first test boots it a second time, and all others are made on these two boots."""
    needed(request.param)
    with hosts.open(f"guest:{request.param}?cpus=2") as opened:
        opened.define([shell("cat grep taskset sleep sh true")], [Settings()])
        yield opened


def measured(host, *steps, settings):
    """Rows of workloads, as `said` makes them."""
    host.define([work for work, _ in steps], [Settings.of(each) for each in settings], dangerous=True)
    return ran(host, *((index, which) for index, (_, which) in enumerate(steps)))


def ticks(text):
    """Of each CPU, timer interrupts between the first and the last reading in a program's output."""
    first, *_, last = [[int(word) for word in line.split()[1:]] for line in text.splitlines()]
    return [after - before for before, after in zip(first, last, strict=True)]


def test_the_watchdogs_of_the_running_machine_come_back(guest):
    """While they are off, reading one of the other files would make the kernel forget that they were on."""
    with guest.hold(Settings.of({"watchdogs": "off"}), dangerous=True):
        assert {row.name: row.value for row in guest.knobs()}["watchdogs"] == "off"
    assert said(guest, (shell(SHARED), 0))[0].split()[:2] == ["1", "1"]


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
    """The file in which a guest's kernel shows a number."""
    where, own = SCHEDULER[name], name
    if where != "/proc/sys/kernel":
        own = name.removeprefix("sched_").removeprefix("numa_")
    return f"{where}/{own}"


def test_settings_of_the_scheduler_are_set_and_come_back(guest):
    """Also what taking a CPU offline makes the kernel compute anew, and from what it computes that the next time."""
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
        return said(guest, (look, 0))[0]

    def alone():
        """What the kernel makes of the times for a single CPU."""
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


def test_the_slice_of_the_program_alone(guest):
    """Set in the child and read back there; a kernel without slices is told from one that has them."""
    work = shell("grep -s slice /proc/self/sched; true")
    here = next(row for row in guest.knobs() if row.name == "slice_ns")
    own = {"slice_ns": 3_000_000}
    if not here.supported:
        assert here.reason == "it needs Linux 6.12 or later; in reach on --host guest:6.12"
        with pytest.raises(RefusedError, match=r"it needs Linux 6\.12 or later; in reach on --host guest:6\.12"):
            said(guest, (work, 0), settings=(own,))
        return
    (line,) = said(guest, (work, 0), settings=(own,))
    assert line.split()[-1:] in ([], ["3000000"]), "kernels since 6.15 show it"


def test_all_of_them_by_their_effect_in_one_boot(guest):
    """On the boot before and after: the same program looks at what each setting should have changed."""
    busy = shell(f"{TICKS}; {SPIN.format(60000)}; {TICKS}")
    where = shell("grep Cpus_allowed_list /proc/self/status; cat /sys/devices/system/cpu/isolated")
    threads = shell("cat /proc/[0-9]*/comm | grep -c '^rcuo' || true")
    spectre = shell("cat /sys/devices/system/cpu/vulnerabilities/spectre_v1")
    # On an isolated CPU everything but the program stays away: the load is all on the other one.
    load = f"for k in 1 2 3; do ({SPIN_ON}) & done"
    crowd = Workload.of(
        ["sh", "-c", "sleep 0.5; for each in /proc/[0-9]*/stat; do read -r line < $each; echo $line; done"],
        prepare=("sh", "-c", load), output="keep",
    )  # fmt: skip
    guest.define([busy, where], [Settings(), Settings.of(ALL)], dangerous=True)
    programs = (busy, where, threads, shell(SHARED), spectre, crowd)
    settings = ({"cpus": "1"}, ALL)
    texts = {}
    guest.define(programs, [Settings.of(each) for each in settings], dangerous=True)
    rows, texts = ran_and_said(guest, *((program, which) for which in (0, 1) for program in range(len(programs))))
    assert {run.outcome for run in rows} == {"ok"}, rows
    outputs = [texts[seq][1].strip() for seq in range(2 * len(programs))]
    before, after = outputs[: len(programs)], outputs[len(programs) :]

    assert ticks(after[0])[1] < 0.3 * ticks(before[0])[1], "the tick is off while one program runs alone"
    assert after[1].split() == ["Cpus_allowed_list:", "1", "1"], "bound to the CPU that the kernel isolated"
    assert (int(before[2]) == 0, int(after[2]) > 0) == (True, True), "threads for RCU's callbacks"
    assert before[3].split()[0] == "1"
    assert set(after[3].split()) == {"0"}
    assert before[4].startswith("Mitigation")
    assert after[4].startswith("Vulnerable")
    spinners = [line.rpartition(")")[2].split() for line in after[5].splitlines() if " (sh) R " in line]
    mine = [fields for fields in spinners if fields[36] != "1"]
    assert len(mine) >= 3, "the load runs"
    assert {fields[36] for fields in mine} == {"0"}, "and none of it on the isolated CPU"
    told = {each["knob"]: each for each in guest._effects(Settings.of(ALL), True)}
    assert all(each["taken"] for each in told.values()), told
    assert told["idle"]["how"] == "the kernel's log says: using polling idle threads"


def test_nice_is_the_share_of_a_cpu_that_others_want_too(guest):
    """A spinner of nice 0 on the program's CPU: the kernel's weights are 88761 to 1024 for -20, 15 to 1024 for 19."""
    rival = ("taskset", "-c", "1", "sh", "-c", f"({SPIN_ON}) &")
    work = Workload.of(["sh", "-c", SPIN.format(8000)], prepare=rival)
    # On the boot that is there.
    own = ALL if guest.inner.parameters else {"cpus": "1"}
    rows = measured(guest, (work, 0), (work, 1), settings=({**own, "nice": -20}, {**own, "nice": 19}))
    assert [run.outcome for run in rows] == ["ok", "ok"]
    first, last = ((run.user_ns + run.system_ns) / run.wall_ns for run in rows)
    assert first > 0.8
    assert last < 0.3


def test_a_parameter_that_panics_is_refused_and_the_guest_goes_on(guest, monkeypatch):
    real = guest._effects

    def broken(boot, consent):
        found = real(boot, consent)
        return [{**each, "parameters": ["rdinit=/none"]} if each["value"] == "halt" else each for each in found]

    monkeypatch.setattr(guest, "_effects", broken)
    with pytest.raises(BootError, match=r"With rdinit=/none it does not start: .*panicked"):
        measured(guest, (shell("true"), 0), settings=({"idle": "halt"},))
    (line,) = said(guest, (shell("cat /proc/cmdline"), 0))
    assert "rdinit=/none" not in line


# A load that comes and goes: six spinners in every second run, as chance has it.
LOAD = f"read u < /proc/sys/kernel/random/uuid; case $u in [0-7]*) for k in 1 2 3 4 5 6; do ({SPIN_ON}) & done;; esac"
STUDY = (
    "tune", "--host", "guest:6.1?cpus=2", "--seed", "1", "--only", "isolcpus", "--only", "nohz_full", "--no-profiles",
    "--no-single-out", "--budget", "none", "--most-runs", "40", "--confirm-loops", "24",
    "--prepare", shlex.join(["sh", "-c", LOAD]),
)  # fmt: skip


def machines_of(pid):
    """The virtual machines that a process has started."""
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                parent = int((each / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == pid and qemu.PROGRAM.encode() in (each / "cmdline").read_bytes():
                    found.append(int(each.name))
            except OSError:
                continue
    return found


def test_a_study_with_boots_goes_on_after_becalm_was_killed_in_the_middle_of_one(tmp_path, monkeypatch):
    """And in a guest whose load disturbs everybody, what it finds makes the program steadier."""
    needed("6.1")
    # What a killed becalm leaves is the test's: its guest's directory, and its spool until the store is opened.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    store = str(tmp_path / "store.sqlite")
    arguments = (*STUDY, "--store", store, "--json", "--", "sh", "-c", SPIN.format(2000))
    begun = subprocess.Popen([sys.executable, "-m", "becalm", *arguments], stdout=subprocess.DEVNULL)
    seen = set()
    end = time.monotonic() + 900
    # The first boot defines, two more look what the kernel takes and take it off again; the study's own come then.
    while len(seen) < 6 and begun.poll() is None and time.monotonic() < end:
        seen |= set(machines_of(begun.pid))
        time.sleep(0.05)
    assert begun.poll() is None
    begun.send_signal(signal.SIGKILL)
    assert begun.wait() == -signal.SIGKILL
    deadline = time.monotonic() + 30
    while any(os.path.exists(f"/proc/{pid}") for pid in seen) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in seen), "the machine ends with becalm"
    before = json.loads(becalm("show", "1", "--store", store, "--json").stdout or "{}")
    assert "settings" not in before, "it was not finished"

    done = becalm("tune", "--resume", "last", "--store", store, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (boots,) = [each for each in found["findings"] if each["kind"] == "boots"]
    assert boots["numbers"]["boots"] >= 4, found["sentence"]
    assert "isolcpus" in found["settings"], found["sentence"]
    (ratio,) = [each["ratio"] for each in found["comparisons"] if each["arm"] == "tuned"]
    assert ratio["low"] > 1
