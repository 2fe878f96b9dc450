"""A search that is killed, wherever that is, goes on to the same answer."""

import json
import os
import signal
import subprocess
import sys

import pytest

from becalm.store import Store

SEARCH = [
    "tune", "--minimize", "time", "--host", "sim:cfs?jitter=0.02", "--seed", "3", "--budget", "none",
    "--factor", "sched_latency_ns=1..100ms:log", "--factor", "sched_min_granularity_ns=0.1..10ms:log",
    "--most-runs", "24", "--confirm-loops", "2", "--confirm-runs", "2", "--no-single-out", "--json",
    "--", "hackbench", "-g", "1", "-l", "5",
]  # fmt: skip
PATIENCE_S = 300
KILLED = """
import os, signal, sys
from becalm.study.session import StudySession

keep, at, after = StudySession._keep, int(sys.argv.pop(1)), sys.argv.pop(1) == "after"

def killed(self, rows):
    reached = bool(rows) and rows[-1].seq >= at
    if not reached or after:
        keep(self, rows)
    if reached:
        os.kill(os.getpid(), signal.SIGKILL)

StudySession._keep = killed
from becalm.cli.main import main
main()
"""
"""becalm, killed when it has a run of this number, before or after that is kept."""


def becalm(store, *words):
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "BECALM_STORE": str(store)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def ended(ran):
    assert ran.returncode == 0, ran.stderr
    return {
        name: each for name, each in json.loads(ran.stdout).items() if name not in ("study", "elapsed_ns", "sentence")
    }


@pytest.fixture
def store(tmp_path, monkeypatch):
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return tmp_path / "killed.db"


def test_a_search_that_is_killed_twice_goes_on_to_the_same_answer(store, tmp_path):
    whole = ended(becalm(tmp_path / "whole.db", "-m", "becalm", *SEARCH))
    words, resume = SEARCH, ["tune", "--resume", "last", "--json"]
    for seq, when in ((12, "after"), (25, "before")):
        ran = becalm(store, "-c", KILLED, str(seq), when, *words)
        assert ran.returncode == -signal.SIGKILL, ran.stderr
        with Store.open(str(store)) as opened:
            kept = [run.seq for run in opened.runs(opened.studies(limit=1, kind="tune")[0].number)]
        assert kept == list(range(seq + (when == "after")))
        words = resume
    assert ended(becalm(store, "-m", "becalm", *resume)) == whole
