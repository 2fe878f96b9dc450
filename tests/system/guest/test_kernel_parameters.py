"""Settings of the boot in guests with kernels 6.1 and 6.12, by their effect inside, and a parameter that panics."""

import pytest
from tests.measuring import ran, runs_and_texts
from tests.system.guest.kernels import EMULATED_CPUS, outputs, shell

from becalm.errors import BootError
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload

ALL = {
    "isolcpus": "last-core", "nohz_full": "last-core", "rcu_nocbs": "last-core",
    "watchdogs_boot": "off", "idle": "poll", "mitigations": "off",
}  # fmt: skip
LAST = str(EMULATED_CPUS - 1)
SPIN_ON = "while :; do :; done"
SHARED = "cd /proc/sys/kernel; cat watchdog soft_watchdog nmi_watchdog"


def test_all_of_them_by_their_effect_in_one_boot(guest):
    """Have the same programs look, on the boot before and on that with the settings, at what each should change."""
    where = shell("grep Cpus_allowed_list /proc/self/status; cat /sys/devices/system/cpu/isolated")
    threads = shell("cat /proc/[0-9]*/comm | grep -c '^rcuo' || true")
    without_ticks = shell("cat /sys/devices/system/cpu/nohz_full")
    spectre = shell("cat /sys/devices/system/cpu/vulnerabilities/spectre_v1")
    # On an isolated CPU everything but the program stays away: the load is all on the others.
    load = f"for number in 1 2 3; do ({SPIN_ON}) & done"
    crowd = Workload.of(
        ["sh", "-c", "sleep 0.5; for each in /proc/[0-9]*/stat; do read -r line < $each && echo $line; done"],
        prepare=("sh", "-c", load), output="keep",
    )  # fmt: skip
    programs = (where, threads, shell(SHARED), spectre, without_ticks, crowd)
    guest.define(programs, [Settings.of({"cpus": LAST}), Settings.of(ALL)], dangerous=True)
    steps = [(program, settings) for settings in (0, 1) for program in range(len(programs))]
    runs, texts = runs_and_texts(guest, *steps)
    assert {run.outcome for run in runs} == {"ok"}, runs
    written = [texts[seq][1].strip() for seq in range(len(steps))]
    before, after = written[: len(programs)], written[len(programs) :]

    assert after[0].split() == ["Cpus_allowed_list:", LAST, LAST], "bound to the CPU that the kernel isolated"
    assert (int(before[1]) == 0, int(after[1]) > 0) == (True, True), "threads for RCU's callbacks"
    assert before[2].split()[0] == "1"
    assert set(after[2].split()) == {"0"}
    assert before[3].startswith("Mitigation")
    assert after[3].startswith("Vulnerable")
    assert LAST not in before[4]
    assert after[4] == LAST
    spinners = [line.rpartition(")")[2].split() for line in after[5].splitlines() if " (sh) R " in line]
    others = [fields for fields in spinners if fields[36] != LAST]
    assert len(others) >= 3, "the load runs"
    assert len(spinners) - len(others) <= 1, "none of it on the isolated CPU, where the program is"
    effects = {row["knob"]: row for row in guest._effects(Settings.of(ALL), True)}
    assert all(row["taken"] for row in effects.values()), effects
    assert effects["idle"]["how"] == "the kernel's log says: using polling idle threads"
    assert {row.name: row.value for row in guest.knobs()}["nohz_full"] == LAST


def test_a_parameter_that_panics_is_refused_and_the_guest_goes_on(guest, monkeypatch):
    real = guest._effects

    def broken(boot, consent):
        rows = real(boot, consent)
        return [{**row, "parameters": ["rdinit=/none"]} if row["value"] == "halt" else row for row in rows]

    monkeypatch.setattr(guest, "_effects", broken)
    guest.define([shell("true")], [Settings.of({"idle": "halt"})], dangerous=True)
    with pytest.raises(BootError, match=r"The guest does not start with rdinit=/none: .*panicked"):
        ran(guest)
    (line,) = outputs(guest, (shell("cat /proc/cmdline"), 0))
    assert "rdinit=/none" not in line
