"""A whole search for settings of the boot on another machine: killed in the middle, power cut once, to its verdict.

The machine is a Debian that GRUB starts, emulated. Some twelve restarts take a quarter of an hour, so that this runs by
itself, by `make boots`; what each of its parts does is tested in seconds (`tests/unit/hosts/test_rebooting.py`) and in
one restart or two (`test_debian.py`).
"""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys

import pytest
from tests.system.guest.debian import ENTRY, files, line_of
from tests.waiting import wait_for

import becalm
from becalm.store import Store

BOOTS = "BECALM_BOOTS"
"""Set by `make boots`."""

pytestmark = [
    pytest.mark.xdist_group("debian"),
    pytest.mark.skipif(BOOTS not in os.environ, reason="a dozen restarts take a quarter of an hour: make boots"),
]

# Sleeps for 0.2 s on a boot without watchdogs, and on any other one for anything up to 0.5 s.
PROGRAM = (
    "grep -q nowatchdog /proc/cmdline && exec sleep 0.2; "
    "exec sleep 0.$(printf %03d $(($(od -An -N2 -tu2 /dev/urandom) % 500)))"
)
OPTIONS = (
    *("--host", "bench", "--sudo", "--dangerous", "--allow-reboot", "--seed", "4", "--no-load", "--no-profiles"),
    *("--only", "watchdogs_boot", "--only", "stat_interval"),
    # With a budget it would go on while it is undecided, a restart or two at a time.
    *("--budget", "none", "--most-runs", "60", "--confirm-loops", "4"),
)


class Started:
    """A becalm in the background; what it prints and writes is in files beginning with `path`."""

    def __init__(self, bench, path, *words):
        self.bench = bench
        self.printed, self.errors = path.with_suffix(".json"), path.with_suffix(".err")
        with self.printed.open("wb") as printed, self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "becalm", "tune", "--json", *words],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=errors,
            )

    def wait(self, condition):
        """Wait for a condition while it runs. It hangs when neither runs nor starts of the machine are added."""
        while not condition():
            before = self._progress()
            wait_for(lambda before=before: condition() or self._progress() != before, self.errors.read_text())
            assert self.process.poll() is None or condition(), self.errors.read_text()

    def _progress(self):
        return stored(), self.bench.starts(), self.process.poll()

    def end(self):
        """Wait for its end; return its exit code."""
        self.wait(lambda: self.process.poll() is not None)
        return self.process.returncode

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def stored():
    """Return the number of runs in the store."""
    with contextlib.suppress(sqlite3.OperationalError):
        db = sqlite3.connect(f"file:{os.environ['BECALM_STORE']}?mode=ro", uri=True)
        with contextlib.closing(db):
            return db.execute("select count(*) from run").fetchone()[0]
    return 0


def test_a_search_through_restarts_survives_a_kill_and_a_power_cut(bench, tmp_path):
    before, line = files(bench), line_of(bench)
    entries = bench.console().count(ENTRY)

    def on_entry():
        """Return whether the machine is up with its watchdogs off."""
        return bench.is_up() and "nowatchdog" in bench.ssh("root", "cat /proc/cmdline").stdout

    first = Started(bench, tmp_path / "first", *OPTIONS, "--", "sh", "-c", PROGRAM)
    first.wait(lambda: stored() > 8 and on_entry())
    first.kill()
    killed = stored()

    second = Started(bench, tmp_path / "second", "--resume", "last", "--sudo")
    second.wait(lambda: stored() > killed + 12 and on_entry())
    bench.cut_power()
    bench.switch_on()
    # It may have waited for the machine, or reported that it was lost and how to go on.
    code, tries = second.end(), 0
    while code == 3 and tries < 3:
        tries += 1
        second = Started(bench, tmp_path / f"again-{tries}", "--resume", "last", "--sudo")
        code = second.end()
    assert code == 0, second.errors.read_text()

    verdict = json.loads(second.printed.read_text())
    assert verdict["settings"] == {"watchdogs_boot": "off"}, verdict["sentence"]
    with Store.open() as store:
        (study,) = store.studies()
        rows = list(store.runs(study.number))
    assert [run.seq for run in rows] == list(range(len(rows))), "every finished run is there, and once"
    assert {run.outcome for run in rows} == {"ok"}
    assert bench.console().count(ENTRY) - entries >= 4
    # The machine starts as before, now and the next time.
    assert line_of(bench) == line
    assert files(bench) == before
    assert becalm.status("bench").anything is False
