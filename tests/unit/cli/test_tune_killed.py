"""A search that is killed, wherever that is, goes on to the same answer."""

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from becalm.store import Store

CFS = ("--host", "sim:cfs?jitter=0.02", "--factor", "sched_latency_ns=1..100ms:log")
GRANULARITY = ("--factor", "sched_min_granularity_ns=0.1..10ms:log")
LITTLE = ("--confirm-loops", "2", "--confirm-runs", "2", "--no-single-out", "--budget", "none")
HACKBENCH = ("--", "hackbench", "-g", "1", "-l", "5")
SCHEDULER = ("--host", "sim:scheduler:5", "--factor", "sched_latency_ns", "--factor", "sched_min_granularity_ns")
SEARCHES = {
    "surface": (6, (*CFS, *GRANULARITY, "--most-runs", "24", *LITTLE, *HACKBENCH)),
    "composite": (2, (*CFS, "--design", "composite", *LITTLE, *HACKBENCH)),
    "golden": (2, (*CFS, "--method", "golden", *LITTLE, *HACKBENCH)),
    "swarm": (2, (*CFS, *GRANULARITY, "--method", "swarm", "--swarm", "evaluations=12", *LITTLE, *HACKBENCH)),
    "budget": (4, (*SCHEDULER, "--budget", "2min", "--", "p")),
}
"""What is searched, and in how many studies, each of which is killed twice."""

LIMIT_S = 600
"""Of what hangs."""


class Becalm:
    """becalm in a process of its own for each command (`killed_at_calls`)."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("killed_at_calls.py"))],
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, store, *words, call=None):
        """Type a command; it is killed at a call, if one is given."""
        self.process.stdin.write(json.dumps({"words": words, "store": str(store), "call": call}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(LIMIT_S)
        self.process.stdout.close()


@pytest.fixture
def becalm(tmp_path, monkeypatch):
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    with closing(Becalm()) as found:
        yield found


def kept(store):
    """All runs of the only study, and what it came to; None where none began, or there is no answer yet."""
    with Store.open(str(store)) as opened:
        studies = opened.studies()
        if not studies:
            return None, None
        (study,) = studies
        return list(opened.runs(study.number)), opened.verdict(study.number)


def command(store, search):
    """What a person would type now."""
    runs, verdict = kept(store) if store.exists() else (None, None)
    if runs is None:
        return ("tune", "--minimize", "time", "--seed", "3", "--json", *search)
    return ("tune", "--resume", "last", "--json") if verdict is None else ("show", "last", "--json")


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_that_is_killed_anywhere_goes_on_to_the_same_answer(becalm, tmp_path, name):
    studies, search = SEARCHES[name]
    whole = becalm(tmp_path / "whole.db", *command(tmp_path / "whole.db", search))
    assert whole["code"] == 0, whole["err"]
    rng, killed = np.random.default_rng(len(search)), []
    for number in range(studies):
        store = tmp_path / f"{number}.db"
        for _ in range(2):
            call = int(rng.integers(1, whole["calls"]))
            ended = becalm(store, *command(store, search), call=call)
            assert ended["code"] in (0, -signal.SIGKILL), (call, ended["err"])
            killed.append((call, ended["code"]))
        ended = becalm(store, *command(store, search))
        assert ended["code"] == 0, (killed, ended["err"])
        assert kept(store) == kept(tmp_path / "whole.db"), killed
        # `show` prints the runs, too.
        assert json.loads(ended["out"]) == json.loads(ended["out"]) | json.loads(whole["out"]), killed
    assert -signal.SIGKILL in {code for _, code in killed}


def test_a_search_begins_with_its_pilot_runs_or_not_at_all(becalm, tmp_path):
    search, stores = SEARCHES["golden"][1], (tmp_path / "whole.db", tmp_path / "killed.db")
    assert becalm(stores[1], *command(stores[1], search), call="append")["code"] == -signal.SIGKILL
    assert kept(stores[1]) == (None, None)
    for store in stores:
        assert becalm(store, *command(store, search))["code"] == 0
    assert kept(stores[1]) == kept(stores[0])
