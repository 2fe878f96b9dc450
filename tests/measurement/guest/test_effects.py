"""Settings in guests by what they are for: fewer ticks, a share of the CPU, a program that is disturbed less.

Emulated CPUs run at the speed that others leave them, so that these figures are of a machine that does nothing else.
"""

import json
import shlex
import subprocess
import sys

from tests.measuring import ran, runs_and_texts
from tests.system.guest.kernels import kernel_or_skip, shell

from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload

WITHOUT_TICKS = {
    "isolcpus": "last-core", "nohz_full": "last-core", "rcu_nocbs": "last-core",
    "watchdogs_boot": "off", "idle": "poll", "mitigations": "off",
}  # fmt: skip
SPIN = "i=0; while [ $i -lt {} ]; do i=$((i+1)); done"
SPIN_ON = f"while :; do {SPIN.format(500)}; done"
TICKS = "while read -r line; do case $line in LOC:*) echo ${line%%Local*};; esac; done < /proc/interrupts"


def ticks(text):
    """Return the timer interrupts of each CPU between the first and the last reading in a program's output."""
    first, *_, last = [[int(word) for word in line.split()[1:]] for line in text.splitlines()]
    return [after - before for before, after in zip(first, last, strict=True)]


def test_nice_is_the_share_of_a_cpu_that_others_want_too(guest):
    """Compare with a spinner of nice 0 on the program's CPU: the kernel's weights are 88761, 1024 and 15."""
    rival = ("taskset", "-c", "1", "sh", "-c", f"({SPIN_ON}) &")
    work = Workload.of(["sh", "-c", SPIN.format(8000)], prepare=rival)
    settings = [Settings.of({"cpus": "1", "nice": nice}) for nice in (-20, 19)]
    guest.define([work], settings, dangerous=True)
    runs = ran(guest, (0, 0), (0, 1))
    assert [run.outcome for run in runs] == ["ok", "ok"]
    first, last = ((run.user_ns + run.system_ns) / run.wall_ns for run in runs)
    print(f"share of the CPU: nice -20 {first:.2f}, nice 19 {last:.2f}")
    assert first > 0.8
    assert last < 0.3


def test_an_isolated_cpu_without_ticks_has_hardly_any(guest):
    busy = shell(f"{TICKS}; {SPIN.format(60000)}; {TICKS}")
    guest.define([busy], [Settings.of({"cpus": "1"}), Settings.of(WITHOUT_TICKS)], dangerous=True)
    runs, texts = runs_and_texts(guest, (0, 0), (0, 1))
    assert {run.outcome for run in runs} == {"ok"}, runs
    before, after = (ticks(texts[seq][1])[1] for seq in (0, 1))
    print(f"ticks of the program's CPU: {before} before, {after} with nohz_full")
    assert after < 0.3 * before, "the tick is off while a program runs without others"


# A load that comes and goes: six spinners in every second run, as chance has it.
LOAD = f"read u < /proc/sys/kernel/random/uuid; case $u in [0-7]*) for k in 1 2 3 4 5 6; do ({SPIN_ON}) & done;; esac"
STUDY = (
    "tune", "--host", "guest:6.1?cpus=2", "--seed", "1", "--only", "isolcpus", "--only", "nohz_full", "--no-profiles",
    "--no-single-out", "--budget", "none", "--most-runs", "40", "--confirm-loops", "24",
    "--prepare", shlex.join(["sh", "-c", LOAD]),
)  # fmt: skip


def test_a_study_with_boots_makes_a_disturbed_program_steadier(tmp_path):
    kernel_or_skip("6.1")
    store = str(tmp_path / "store.sqlite")
    done = subprocess.run(
        [sys.executable, "-m", "becalm", *STUDY, "--store", store, "--json", "--", "sh", "-c", SPIN.format(2000)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    print(verdict["sentence"])
    assert "isolcpus" in verdict["settings"], verdict["sentence"]
    (ratio,) = [row["ratio"] for row in verdict["comparisons"] if row["arm"] == "tuned"]
    assert ratio["low"] > 1
