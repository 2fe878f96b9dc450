"""becalm or its virtual machine is killed: no finished run is lost, nothing is left, and a search goes on."""

import json
import os
import signal
import subprocess
import sys

import pytest
from tests.support.account import MARK, begun, count_stored_runs, nothing_lost
from tests.system.guest.kernels import EMULATED_CPUS, LIMIT, VERSIONS, kernel_or_skip, machines_of
from tests.waiting import wait_ended, wait_for

import becalm
from becalm.errors import MachineError
from becalm.hosts.guest import qemu
from becalm.hosts.scratch import Scratch
from becalm.results.progress import Quiet
from becalm.store import Store, recover
from becalm.store.spool import read

# The kernel's console is a file here, which outlives the machine.
STUDY = (
    "import becalm, sys; becalm.run(['sh', '-c', sys.argv[2]], host=sys.argv[1], user='root', warmup=0, budget='300s')"
)
PROGRAM = f"echo {MARK} > /dev/ttyS0"


@pytest.fixture
def place(store, tmp_path, monkeypatch):
    """The directory of all that a killed becalm leaves: its store, its spool, its guest's files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def console(place):
    """Return the file of the machine's console; one that is not there before it is."""
    return next(place.glob("becalm-guest-*/console"), place / "console")


def stop_with_unheard_runs(process, place, store):
    """Stop becalm; return whether its guest then finishes a run that is not in the store. Otherwise let it go on."""
    process.send_signal(signal.SIGSTOP)
    (spool,) = place.glob("XDG_STATE_HOME/becalm/spool/*")
    stored_runs, begun_runs = count_stored_runs(store), begun(console(place))

    def unheard():
        with spool.open("rb") as file:
            rows, _ = read(file.fileno())
        return rows and max(rows) >= stored_runs

    if begun_runs > stored_runs:
        # The run after those that are stored has begun, and will be finished by the guest.
        return wait_for(unheard, "the end of a run")
    process.send_signal(signal.SIGCONT)
    wait_for(lambda: begun(console(place)) > begun_runs + 1 or process.poll() is not None)
    return False


@pytest.mark.parametrize("version", VERSIONS)
def test_no_finished_run_of_a_guest_is_lost_with_becalm(place, version, monkeypatch):
    kernel_or_skip(version)
    store = os.environ["BECALM_STORE"]
    process = subprocess.Popen([sys.executable, "-c", STUDY, f"guest:{version}?{LIMIT}", PROGRAM])
    wait_for(lambda: begun(console(place)) > 5 or process.poll() is not None)
    # Some are finished of which becalm has not heard, and never will.
    wait_for(lambda: stop_with_unheard_runs(process, place, store))
    started = machines_of(process.pid)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    for pid in started:
        wait_ended(pid)
    before = count_stored_runs(store)
    with Store.open(store) as opened:
        (recovered,) = recover(opened)
    assert recovered.aside is None
    assert recovered.runs > 0
    assert count_stored_runs(store) > before
    nothing_lost(console(place), store)
    monkeypatch.setattr("becalm.hosts.scratch.YOUNG_S", -1.0)
    Scratch("guest").cleanup()
    assert not list(place.glob("becalm-guest-*")), "the next one cleans up"


def machines(place, columns="args"):
    """Return the virtual machines whose files are there, as ps shows them, however wide the terminal is."""
    words = subprocess.run(["ps", "-ewwo", columns], capture_output=True, text=True, check=True).stdout
    return [line for line in words.splitlines() if f"{qemu.PROGRAM} " in line and str(place) in line]


COUNTING = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done"
SEARCH = {
    "minimize": "time",
    "seed": 3,
    "budget": "none",
    "single_out": False,
    "load": False,
    "most_runs": 12,
    "confirm_loops": 2,
    "confirm_runs": 2,
}
FACTORS = {"6.1": "sched_latency_ns=1..100ms:log", "6.12": "slice_ns=0.1..100ms:log"}


def becalm_ends(*words):
    """Run becalm to its end, and return that."""
    return subprocess.run(
        [sys.executable, "-m", "becalm", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


class Killing(Quiet):
    """A listener that kills the guest when nine runs are stored, while becalm waits for it to return."""

    def __init__(self, place):
        self.place, self.killed = place, False

    def running(self, done):
        if done > 8 and not self.killed:
            (line,) = machines(self.place, "pid,args")
            os.kill(int(line.split()[0]), signal.SIGKILL)
            self.killed = True


@pytest.mark.parametrize("version", VERSIONS)
def test_a_search_whose_guest_is_lost_goes_on_with_all_that_was_measured(place, version):
    kernel_or_skip(version)
    killing, store = Killing(place), os.environ["BECALM_STORE"]
    with pytest.raises(MachineError, match="becalm tune --resume 1"):
        becalm.tune(
            [["sh", "-c", COUNTING]],
            host=f"guest:{version}?{LIMIT}",
            factors=[FACTORS[version]],
            listener=killing,
            **SEARCH,
        )
    before = runs(store)
    assert len(before) > 8
    verdict = becalm.tune(resume=1)
    after = runs(store)
    assert after[: len(before)] == before
    assert [run.seq for run in after] == list(range(len(after)))
    assert verdict.trials
    assert verdict.confirm_runs > 0 or not verdict.settings
    assert not machines(place)


def runs(store):
    """Return all runs of the only study."""
    with Store.open(store) as opened:
        return list(opened.runs(1))


def stored(store):
    """Return the number of its runs, also while nothing has begun."""
    if not os.path.exists(store):
        return 0
    with Store.open(store) as opened:
        return len(list(opened.runs(1))) if opened.studies() else 0


BOOTS = (
    "tune", "--host", f"guest:6.1?cpus={EMULATED_CPUS}&{LIMIT}", "--seed", "1", "--only", "isolcpus",
    "--only", "nohz_full", "--no-profiles", "--no-single-out", "--budget", "none", "--most-runs", "12",
    "--confirm-loops", "2", "--confirm-runs", "2",
)  # fmt: skip


def test_a_study_with_boots_goes_on_after_becalm_was_killed_in_the_middle_of_one(place):
    kernel_or_skip("6.1")
    store = os.environ["BECALM_STORE"]
    words = (*BOOTS, "--json", "--", "true")
    process = subprocess.Popen([sys.executable, "-m", "becalm", *words], stdout=subprocess.DEVNULL)
    machines_seen = set()

    def in_the_middle():
        """Return whether a machine was just started, after one on which runs of the study were made."""
        new = set(machines_of(process.pid)) - machines_seen
        machines_seen.update(new)
        return process.poll() is not None or (new and stored(store) > 0)

    wait_for(in_the_middle, "a boot in the middle of the study")
    assert process.poll() is None
    process.kill()
    assert process.wait() == -signal.SIGKILL
    # The machine ends with becalm.
    for pid in machines_seen:
        wait_ended(pid)
    shown = json.loads(becalm_ends("show", "1", "--json").stdout or "{}")
    assert "settings" not in shown, "it was not finished"
    before = runs(store)

    done = becalm_ends("tune", "--resume", "last", "--json")
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    (boots,) = [row for row in verdict["findings"] if row["kind"] == "boots"]
    assert boots["numbers"]["boots"] > 0, verdict["sentence"]
    after = runs(store)
    assert len(before) > 0
    assert after[: len(before)] == before
    assert [run.seq for run in after] == list(range(len(after)))
