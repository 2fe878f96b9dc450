"""Services of simulated hosts, and their refusals of the rest."""

from itertools import groupby

import pytest

import becalm
from becalm import hosts
from becalm.errors import UsageError, WorkloadError
from becalm.hosts import MeasureRequest, runs_of
from becalm.nouns.run import Block, Step
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload


def test_programs_are_measured_watched_and_surveyed(store):
    options = {"seed": 1, "store": store}
    assert becalm.run("spin 20ms", host="sim:calm", runs=5, **options).summaries[0].runs == 5
    assert becalm.watch("spin 20ms", host="sim:calm", **options).run.outcome == "ok"
    verdict = becalm.survey(["sim:laptop-a", "sim:b"], "spin 20ms", kernels=(), loops=5, runs=5, store=store)
    assert not verdict.lost


def test_verbs_that_need_a_real_machine_refuse_a_simulated_one(store):
    with pytest.raises(UsageError, match="It is simulated"):
        becalm.apply(becalm.profile(settings={"aslr": "off"}), host="sim:calm")
    with pytest.raises(UsageError, match="It is simulated"):
        becalm.status("sim:calm")
    with pytest.raises(WorkloadError, match="--no-kernels"):
        becalm.survey(["sim:calm"], loops=5, runs=5, store=store)


def test_a_run_ends_with_its_time_limit(store):
    options = {"host": "sim:calm", "seed": 1, "store": store, "runs": 3}
    assert becalm.run("spin 20ms", timeout="40ms", **options).summaries[0].runs == 3
    with pytest.raises(WorkloadError, match="did not end within its time limit and was killed after 10"):
        becalm.run("spin 20ms", timeout="10ms", **options)


BOOTING = """
what = "a machine that starts anew, and whose programs fail"
[time]
base = "20ms"
[[noise]]
name = "others"
kind = "bursts"
size = 0.05
[boot]
takes = "30s"
spread = 0.02
[[failing]]
set = { swap = "off" }
share = 0.3
"""
ARMS = [Settings(), Settings.of({"swap": "off"}), Settings.of({"watchdogs_boot": "off"})]
STEPS = [(0, False)] * 3 + [(1, False)] * 6 + [(2, False)] * 3 + [(2, True)] + [(2, False)] * 3 + [(1, False)] * 4


def measured(host, steps, first=0):
    """Run one by one in blocks of up to three: the arm of each, and whether the machine starts anew before it."""
    host.define([Workload.of(["spin", "20ms"])], ARMS)
    rows = []
    while len(rows) < len(steps):
        (arm, fresh), alike = next(groupby(steps[len(rows) :]))
        count = 1 if fresh else min(3, len(list(alike)))
        block = Block((Step(0, arm, 0, 0),) * count, fresh_boot=fresh)
        rows += runs_of(host.measure(MeasureRequest(first + len(rows), block)))
    return rows


@pytest.mark.parametrize("machine", ["drift:3", "bursts", "FILE:4"])
def test_a_study_goes_on_where_it_was_left(tmp_path, machine):
    path = tmp_path / "machine.toml"
    path.write_text(BOOTING)
    name, steps = f"sim:{machine.replace('FILE', str(path))}", STEPS
    if "FILE" not in machine:
        steps = [(0, False) for _ in STEPS]
    with hosts.open(name) as host:
        whole = measured(host, steps)
    assert {run.outcome for run in whole} == ({"ok", "failed"} if "FILE" in machine else {"ok"})
    for end in range(len(whole)):
        with hosts.open(name) as host:
            host.go_on(whole[:end], ARMS)
            assert measured(host, steps[end:], end) == whole[end:], end
