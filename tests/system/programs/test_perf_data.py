"""Files of perf: one that this machine's perf writes now, and large ones in bounded memory."""

import os
import subprocess
import sys

import pytest
from tests.needs import need

import becalm
import perf_data
from becalm.errors import UsageError
from becalm.verbs.sweetspots import MOST_OF_ALL

EVENTS = "{context-switches,page-faults,minor-faults}:S"
"""The layout of the last-level cache's counters, on machines that have none."""

GROWS = "import time\nkept = []\nfor _ in range(30):\n    kept.append(b'x' * (1 << 20)); time.sleep(.005)"


def test_a_file_of_the_installed_perf_is_read(tmp_path):
    """The kept file is of one version of perf; this one is of the one that is here."""
    path, pid_file = tmp_path / "perf.data", tmp_path / "pid"
    program = [sys.executable, "-c", f"import os; open({str(pid_file)!r}, 'w').write(str(os.getpid()))\n{GROWS}"]
    # Without its cache of programs, which is in the home of whoever records.
    command = [need("perf"), "record", "-q", "-N", "-a", "-c", "1", "-e", EVENTS, "--switch-events", "-o", str(path)]
    done = subprocess.run([*command, "--", *program], capture_output=True, text=True, check=False)
    if done.returncode and not path.exists() and os.geteuid() != 0:
        pytest.skip(f"perf may not record what whole CPUs do here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    pid = int(pid_file.read_text())
    spotted = becalm.sweetspots(path, pid=pid, rules="published")
    assert spotted.source == "perf"
    assert "page-faults" in spotted.events
    assert not spotted.miss_ratio
    (of_it,) = [program for program in spotted.programs if program["task"] == pid]
    windows = [window for window in spotted.windows() if window["known"]]
    assert of_it
    assert len(windows) >= 10
    # 30 MiB, a fault for each page of 4 KiB, and none is made up.
    assert 30 * 200 < sum(window["references"] for window in windows) < 30 * 1000


def test_a_large_file_takes_no_more_memory_than_a_small_one(tmp_path):
    """Six times the records, whose windows may take some of it. 1 GB: bench/perf_data.py."""
    peaks = []
    for size in (8 << 20, 48 << 20):
        perf_data.write(tmp_path / "perf.data", size)
        content = perf_data.read(tmp_path / "perf.data")
        assert content["records"] > size // 200
        assert content["windows"] > size // 20_000
        peaks.append(content["peak_kib"])
    assert peaks[1] < peaks[0] * 1.25, peaks


def test_of_a_large_file_a_process_is_asked_for_with_how_to_find_it(tmp_path):
    perf_data.write(tmp_path / "perf.data", MOST_OF_ALL + 1)
    with pytest.raises(UsageError, match=r"Name a process: --pid N \(perf report --sort pid"):
        becalm.sweetspots(tmp_path / "perf.data")
    spotted = becalm.sweetspots(tmp_path / "perf.data", pid=perf_data.PROCESS)
    assert [program["task"] for program in spotted.programs] == [perf_data.PROCESS]
    # Its misses come in phases of a second, of a tenth and of half of what it references.
    assert spotted.spots
