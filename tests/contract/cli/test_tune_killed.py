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
from tests.samples import samples
from tests.waiting import HANG_LIMIT_S

from becalm.store import Store

# One worker, in which all is imported once.
pytestmark = pytest.mark.xdist_group("tune-killed")

CFS = ("--host", "sim:cfs?jitter=0.02", "--factor", "sched_latency_ns=1..100ms:log")
GRANULARITY = ("--factor", "sched_min_granularity_ns=0.1..10ms:log")
LITTLE = ("--confirm-loops", "2", "--confirm-runs", "2", "--no-single-out", "--budget", "none")
SWARM = ("--swarm", "evaluations=12")
HACKBENCH = ("--", "hackbench", "-g", "1", "-l", "5")
SCHEDULER = ("--host", "sim:scheduler:5", "--factor", "sched_latency_ns", "--factor", "sched_min_granularity_ns")
SEARCHES = {
    "surface": (samples(1, 6), (*CFS, *GRANULARITY, "--most-runs", "24", *LITTLE, *HACKBENCH)),
    "composite": (samples(1, 2), (*CFS, "--design", "composite", *LITTLE, *HACKBENCH)),
    "golden": (samples(1, 2), (*CFS, "--method", "golden", *LITTLE, *HACKBENCH)),
    "swarm": (
        samples(1, 2),
        (*CFS, *GRANULARITY, "--method", "swarm", "--swarm", "evaluations=12", *LITTLE, *HACKBENCH),
    ),
    "budget": (samples(1, 4), (*SCHEDULER, "--budget", "2min", "--", "p")),
}
"""The searches, and the number of studies of each, every one of which is killed twice."""


class Becalm:
    """A becalm with a process of its own for each command (`killed_at_calls`)."""

    def __init__(self, home):
        own = {name: str(home / name) for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("killed_at_calls.py"))],
            env={**os.environ, **own, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, store, *words, call=None):
        """Run a command: kill it at a call, count all calls for 0, or do neither."""
        self.process.stdin.write(json.dumps({"words": words, "store": str(store), "call": call}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(HANG_LIMIT_S)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def becalm(tmp_path_factory):
    with closing(Becalm(tmp_path_factory.mktemp("home"))) as program:
        yield program


def stored(store):
    """Return all runs of the only study, and its verdict; None where none began, or there is no answer yet."""
    with Store.open(str(store)) as opened:
        studies = opened.studies()
        if not studies:
            return None, None
        (study,) = studies
        return list(opened.runs(study.number)), opened.verdict(study.number)


def command(store, search):
    """Return the words that a person would type now."""
    runs, verdict = stored(store) if store.exists() else (None, None)
    if runs is None:
        return ("tune", "--minimize", "time", "--seed", "3", "--json", *search)
    return ("tune", "--resume", "last", "--json") if verdict is None else ("show", "last", "--json")


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_that_is_killed_anywhere_goes_on_to_the_same_answer(becalm, tmp_path, name):
    studies, search = SEARCHES[name]
    whole = becalm(tmp_path / "whole.db", *command(tmp_path / "whole.db", search), call=0)
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
        assert stored(store) == stored(tmp_path / "whole.db"), killed
        # `show` prints the runs, too.
        assert json.loads(ended["out"]) == json.loads(ended["out"]) | json.loads(whole["out"]), killed
    assert -signal.SIGKILL in {code for _, code in killed}


def test_a_search_begins_with_its_pilot_runs_or_not_at_all(becalm, tmp_path):
    search, stores = SEARCHES["golden"][1], (tmp_path / "whole.db", tmp_path / "killed.db")
    assert becalm(stores[1], *command(stores[1], search), call="append")["code"] == -signal.SIGKILL
    assert stored(stores[1]) == (None, None)
    for store in stores:
        assert becalm(store, *command(store, search))["code"] == 0
    assert stored(stores[1]) == stored(stores[0])
