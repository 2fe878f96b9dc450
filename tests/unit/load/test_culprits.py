"""The waits of programs and who caused them, of their runs, loads and the readings of others."""

import json

import pytest

from becalm.load.cpu_competition import undisturbed
from becalm.load.culprits import waiting
from becalm.load.others import Others, OthersReading, ProcessUse, QuotaCounts
from becalm.load.record import Load
from becalm.load.waits import Level
from becalm.nouns.codec import plain_dict
from becalm.nouns.run import Run
from becalm.stats.culprits import Basis

MS = 1_000_000


def run(seq, wall=1000, cpu=600, wait=400):
    """Return a run, times in ms."""
    return Run(
        seq, 0, 0, seq, 0, 10**18 + seq, wall * MS, cpu * MS, 0, None, None, None, None, wait * MS, None, "ok", 0, 0
    )


def load(seq, cpu=600, wait=400, busy=1000, **more):
    """Return the load of one run."""
    fields = {"level": 3, "scope": "tree", "tasks": 1, "cpus": 2, "steal_ns": 0, "quota_ns": 0, **more}
    return Load(seq, seq, 10**18, 1000 * MS, busy_ns=busy * MS, exec_ns=cpu * MS, wait_ns=wait * MS, **fields)


def others(seq, *taken, rest=0):
    """Return one reading around one run: pid, name, group and ms of each."""
    uses = tuple(ProcessUse(pid, name, group, ms * MS) for pid, name, group, ms in taken)
    return Others(seq, seq, (OthersReading(1000 * MS, uses, rest * MS),))


def shares(waits):
    return [
        round(part / MS)
        for part in (waits.others_ns, waits.own_ns, waits.quota_ns, waits.hypervisor_ns, waits.unknown_ns)
    ]


def test_one_thread_waits_for_others_and_the_one_that_ran_is_named():
    waits = waiting([run(0)], [load(0)], [others(0, (7, "hog", "a.service", 390), (8, "small", "", 10))])
    assert (shares(waits), waits.material, waits.lost_ns) == ([400, 0, 0, 0, 0], True, 400 * MS)
    (culprit,) = waits.culprits
    assert (culprit.name, culprit.pid, culprit.group, culprit.level) == ("hog", 7, "a.service", Level.PROCESS)
    assert culprit.basis == Basis.ACCOUNTING
    assert 0.9 < culprit.low <= culprit.share <= culprit.high <= 1.0
    json.dumps(plain_dict(waits))


def test_a_quota_and_the_hypervisor_have_their_own_parts():
    waits = waiting([run(0)], [load(0, quota_ns=300 * MS, steal_ns=100 * MS)], [], 0.5)
    # The program ran 600 of 1000 ms of CPU time that everybody had, and as much of the stolen time is its own.
    assert (shares(waits), waits.quota_cpus, waits.cpus) == ([100, 0, 300, 60, 0], 0.5, 2)
    assert (waits.culprits, waits.blocks) == ((), 0)


def test_periods_of_quotas_are_summed_by_group():
    box, pod = QuotaCounts("/pod/box", 0.5, 10, 3, 7 * MS), QuotaCounts("/pod", 2.0, 10, 0, 0)
    records = [Others(seq, seq, (OthersReading(1000 * MS, ()),), (box, pod)) for seq in range(3)]
    assert [Others.from_json(json.loads(json.dumps(record.to_json()))) for record in records] == records
    waits = waiting([run(0), run(1)], [load(0), load(1)], records)
    assert waits.quotas == (QuotaCounts("/pod/box", 0.5, 20, 6, 14 * MS), QuotaCounts("/pod", 2.0, 20, 0, 0))
    with pytest.raises(ValueError, match="quota"):
        Others.from_json({**records[0].to_json(), "quotas": [["/pod", 1]]})


def test_tasks_that_wait_for_each_other_name_nobody():
    # Four threads on two CPUs: each runs half of the time, and nobody else does.
    waits = waiting(
        [run(0, cpu=2000, wait=2000)],
        [load(0, cpu=2000, wait=2000, busy=2000, tasks=4)],
        [others(0, (7, "small", "", 10))],
    )
    assert shares(waits) == [0, 1990, 0, 0, 10]
    assert (waits.culprits, waits.suspects, waits.several) == ((), None, True)
    assert waits.wall_ns == pytest.approx(4000 * MS)


def test_a_first_threads_waits_may_be_caused_by_its_siblings():
    waits = waiting([run(0, cpu=900)], [load(0, cpu=600, scope="leader", tasks=None, level=1)], [])
    assert (waits.scope, waits.several, shares(waits)) == ("leader", True, [100, 0, 0, 0, 300])


def test_nobody_is_named_while_somebody_unseen_may_have_done_it():
    # 400 ms of CPU time that no process of the readings took: processes that began and ended in between.
    quiet = [others(0, (7, "hog", "", 390))]
    assert waiting([run(0)], [load(0, busy=1000)], quiet).culprits
    assert not waiting([run(0)], [load(0, busy=1390)], quiet).culprits
    assert not waiting([run(0)], [load(0)], [others(0, (7, "hog", "", 390), rest=390)]).culprits


def test_processes_of_one_name_are_named_together_and_else_their_group():
    workers = [(pid, "cc1", "build.service", 50) for pid in range(1, 9)]
    waits = waiting([run(0)], [load(0)], [others(0, *workers)])
    (culprit,) = waits.culprits
    assert (culprit.level, culprit.name, culprit.count, culprit.pid) == (Level.NAME, "cc1", 8, None)
    mixed = [(pid, f"tool{pid}", "build.service", 50) for pid in range(1, 9)]
    (culprit,) = waiting([run(0)], [load(0)], [others(0, *mixed)]).culprits
    assert (culprit.level, culprit.name, culprit.count) == (Level.GROUP, "build.service", 8)


def test_readings_within_a_long_run_tell_when_it_waited():
    hog, idle = ProcessUse(7, "hog", "", 300 * MS), ProcessUse(8, "idle", "", 300 * MS)
    readings = (
        OthersReading(500 * MS, (idle,), exec_ns=500 * MS, wait_ns=0),
        OthersReading(500 * MS, (hog,)),
    )
    waits = waiting([run(0, cpu=700, wait=300)], [load(0, cpu=700, wait=300, busy=1300)], [Others(0, 0, readings)])
    assert ([culprit.name for culprit in waits.culprits], waits.blocks) == (["hog"], 2)


def test_readings_within_runs_of_several_tasks_count_as_one():
    hog, idle = ProcessUse(7, "hog", "", 300 * MS), ProcessUse(8, "idle", "", 300 * MS)
    readings = (OthersReading(500 * MS, (idle,), exec_ns=500 * MS, wait_ns=0), OthersReading(500 * MS, (hog,)))
    tree = load(0, cpu=700, wait=300, busy=1300, tasks=3)
    # Waits of tasks that have ended are missing in the first reading.
    waits = waiting([run(0, cpu=700, wait=300)], [tree], [Others(0, 0, readings)])
    assert (waits.culprits, waits.blocks) == ((), 1)


def test_ended_processes_may_have_run_at_any_time_of_a_long_run():
    hog, ended = ProcessUse(7, "hog", "", 300 * MS), ProcessUse(None, "sh", "", 290 * MS, 40)
    readings = (OthersReading(500 * MS, (hog,), exec_ns=200 * MS, wait_ns=300 * MS), OthersReading(500 * MS, (ended,)))
    single = load(0, cpu=700, wait=300, busy=1290)
    assert waiting([run(0, cpu=700, wait=300)], [single], [Others(0, 0, readings)]).culprits == ()


def test_nobody_is_named_where_the_use_of_the_cpus_is_not_known():
    unknown = load(0)._replace(busy_ns=None)
    assert waiting([run(0)], [unknown], [others(0, (7, "hog", "", 390))]).culprits == ()


def test_runs_without_a_whole_record_are_left_out():
    assert waiting([run(0)], [load(1)], []) is None
    assert waiting([], [load(0)], []) is None
    assert waiting([run(0)], [load(0)._replace(wait_ns=None)], []) is None
    # A record that others do not cover counts with its waits.
    waits = waiting([run(0), run(1)], [load(0), load(1)], [others(1, (7, "hog", "", 390))])
    assert (waits.runs, waits.blocks, len(waits.culprits)) == (2, 1, 1)


def test_runs_that_nobody_disturbed_are_not_worth_a_word():
    calm = [load(seq, cpu=995, wait=5, busy=1000) for seq in range(3)]
    assert undisturbed(calm)
    assert not undisturbed([load(0)])
    waits = waiting([run(seq, cpu=995, wait=5) for seq in range(3)], calm, [others(0, (7, "x", "", 5))])
    assert not waits.material
    assert waits.culprits == ()
