"""becalm is killed, and its virtual machine with it: no finished run is lost, and nothing is left."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from tests.support.account import MARK, begun, kept, nothing_lost
from tests.system.guest.booted import VERSIONS, needed
from tests.waiting import wait_for

from becalm.hosts.guest import qemu
from becalm.hosts.scratch import Scratch
from becalm.store import Store, recover
from becalm.store.spool import read

pytestmark = [pytest.mark.guest, pytest.mark.machine]

# The kernel's console is a file here, which outlives the machine.
STUDY = (
    "import becalm, sys; becalm.run(['sh', '-c', sys.argv[2]], host=sys.argv[1], user='root', warmup=0, budget='300s')"
)
PROGRAM = f"echo {MARK} > /dev/ttyS0"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Nothing of the person's."""
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("BECALM_STORE", str(tmp_path / "runs.db"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def console(place):
    """The file of the machine's console; one that is not there before it is."""
    return next(place.glob("becalm-guest-*/console"), place / "console")


def unheard(process, place, store):
    """Stop becalm; whether the guest then has a run that is not in the store. Otherwise it goes on for a while."""
    process.send_signal(signal.SIGSTOP)
    (spool,) = place.glob("XDG_STATE_HOME/becalm/spool/*")
    end = time.monotonic() + 2
    while time.monotonic() < end:
        with spool.open("rb") as file:
            rows, _ = read(file.fileno())
        if rows and max(rows) >= kept(store):
            return True
        time.sleep(0.02)
    seen = begun(console(place))
    process.send_signal(signal.SIGCONT)
    wait_for(lambda: begun(console(place)) > seen + 1 or process.poll() is not None)
    return False


@pytest.mark.parametrize("version", VERSIONS)
def test_no_finished_run_of_a_guest_is_lost_with_becalm(place, version, monkeypatch):
    needed(version)
    store = os.environ["BECALM_STORE"]
    process = subprocess.Popen([sys.executable, "-c", STUDY, f"guest:{version}", PROGRAM])
    wait_for(lambda: begun(console(place)) > 5 or process.poll() is not None)
    # Some are finished of which becalm has not heard, and never will.
    wait_for(lambda: unheard(process, place, store))
    process.kill()
    assert process.wait() == -signal.SIGKILL
    wait_for(lambda: not machines(place))
    before = kept(store)
    with Store.open(store) as opened:
        (found,) = recover(opened)
    assert found.aside is None
    assert found.runs > 0
    assert kept(store) > before
    nothing_lost(console(place), store)
    monkeypatch.setattr("becalm.hosts.scratch.YOUNG_S", -1.0)
    monkeypatch.setattr("tempfile.tempdir", str(place))
    Scratch("guest").cleanup()
    assert not list(place.glob("becalm-guest-*")), "the next one cleans up"


def machines(place, columns="args"):
    """Virtual machines whose files are there, as ps shows them, however wide the terminal is."""
    words = subprocess.run(["ps", "-ewwo", columns], capture_output=True, text=True, check=True).stdout
    return [line for line in words.splitlines() if f"{qemu.PROGRAM} " in line and str(place) in line]


COUNTING = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done"
SEARCH = (
    *("tune", "--minimize", "time", "--seed", "3", "--budget", "none", "--no-single-out", "--no-load", "--json"),
    *("--confirm-loops", "2", "--confirm-runs", "2"),
)
FACTORS = {
    "6.1": ("--factor", "sched_latency_ns=1..100ms:log", "--most-runs", "12"),
    "6.12": ("--factor", "slice_ns=0.1..100ms:log", "--most-runs", "12"),
}


def becalm(*words):
    return subprocess.run(
        [sys.executable, "-m", "becalm", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_a_search_whose_guest_is_lost_goes_on_with_all_that_was_measured(place, version):
    needed(version)
    words = (*SEARCH, *FACTORS[version], "--host", f"guest:{version}", "--", "sh", "-c", COUNTING)
    said = place / "said"
    with said.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "becalm", *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file
        )
    store = os.environ["BECALM_STORE"]
    wait_for(lambda: process.poll() is not None or stored(store) > 15)
    assert process.poll() is None, said.read_text()
    (line,) = machines(place, "pid,args")
    os.kill(int(line.split()[0]), signal.SIGKILL)
    assert process.wait(timeout=120) == 3
    text = " ".join(said.read_text().split())
    assert "becalm tune --resume 1" in text
    before = runs(store)
    assert len(before) > 15
    again = becalm("tune", "--resume", "1", "--json")
    assert again.returncode == 0, again.stderr
    after = runs(store)
    assert after[: len(before)] == before
    assert [run.seq for run in after] == list(range(len(after)))
    verdict = json.loads(again.stdout)
    assert len(verdict["trials"]) >= 8
    assert verdict["confirm_runs"] > 0 or not verdict["settings"]
    assert not machines(place)


def runs(store):
    """All runs of the only study."""
    with Store.open(store) as opened:
        return list(opened.runs(1))


def stored(store):
    """How many of them there are, also while nothing has begun."""
    if not os.path.exists(store):
        return 0
    with Store.open(store) as opened:
        return len(list(opened.runs(1))) if opened.studies() else 0
