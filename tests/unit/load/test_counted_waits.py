"""Waits of programs that the kernel counted by who ran meanwhile."""

import json

import pytest
from tests.unit.load.test_culprits import MS, load, others, run, shares

from becalm.load.culprits import waiting
from becalm.load.others import CountedWaits, Others, ProcessUse
from becalm.load.waits import Level
from becalm.nouns.codec import plain_dict
from becalm.stats.culprits import Basis
from becalm.wording.culprits import charged


def counted(seq, *taken, rest=0, own=0, idle=0, unknown=0):
    """Return the others around one run, with counted waits: pid, name, group and ms of each."""
    uses = tuple(ProcessUse(pid, name, group, ms * MS) for pid, name, group, ms in taken)
    counts = (part * MS for part in (rest, own, idle, unknown))
    # By CPU time alone another process would be the culprit.
    reading = others(seq, (99, "bystander", "", 400)).readings
    return Others(seq, seq, reading, waits=CountedWaits(uses, *counts))


def test_parts_are_those_that_were_counted_and_the_sum_is_the_kernels():
    # 200 ms were counted of the 400 ms that the kernel has.
    waits = waiting(
        [run(0)], [load(0)], [counted(0, (7, "hog", "a.service", 90), rest=10, idle=300, own=80, unknown=20)]
    )
    assert shares(waits) == [200, 160, 0, 0, 40]
    (culprit,) = waits.culprits
    assert (culprit.name, culprit.pid, culprit.group, culprit.level) == ("hog", 7, "a.service", Level.PROCESS)
    assert (culprit.basis, culprit.low, culprit.high) == (Basis.COUNTED, culprit.share, pytest.approx(0.45))
    assert charged(plain_dict(culprit)) == "hog (7) 45 %"


def test_a_name_and_a_group_are_named_where_no_process_is_large_enough():
    workers = [(pid, "cc1", f"build{pid}", 20) for pid in range(1, 11)]
    (culprit,) = waiting([run(0)], [load(0)], [counted(0, *workers)]).culprits
    assert (culprit.level, culprit.name, culprit.pid, culprit.count) == (Level.NAME, "cc1", None, 10)
    tools = [(pid, f"tool{pid}", "build.service", 20) for pid in range(1, 11)]
    (culprit,) = waiting([run(0)], [load(0)], [counted(0, *tools)]).culprits
    assert (culprit.level, culprit.group, culprit.share) == (Level.GROUP, "build.service", 1.0)


def test_waits_too_short_to_matter_name_nobody():
    # 10 of 1000 ms, of which one process had all.
    waits = waiting([run(0, wait=10)], [load(0, wait=10)], [counted(0, (7, "hog", "", 10))])
    assert (waits.culprits, shares(waits)) == ((), [10, 0, 0, 0, 0])


def test_records_without_counts_are_estimated():
    some = [counted(0, (7, "hog", "", 390)), others(1, (8, "other", "", 390))]
    estimated = waiting([run(0), run(1)], [load(0), load(1)], some)
    assert all(culprit.basis != Basis.COUNTED for culprit in estimated.culprits)
    assert waiting([run(1)], [load(1)], some[1:]).culprits


def test_a_record_with_a_warm_up_counts_in_proportion():
    record = counted(0, (7, "hog", "", 390), own=390)
    both = Others(0, 1, record.readings, waits=record.waits)
    assert shares(waiting([run(1)], [load(1)], [both])) == [200, 200, 0, 0, 0]


def test_short_runs_at_the_end_of_a_block_have_the_parts_of_the_others():
    waits = waiting([run(0), run(1)], [load(0), load(1)], [counted(0, (7, "hog", "", 100), own=300)])
    assert shares(waits) == [200, 600, 0, 0, 0]


def test_nothing_counted_leaves_the_estimate():
    waits = waiting([run(0)], [load(0)], [counted(0)])
    assert shares(waits) == [400, 0, 0, 0, 0]


def test_counts_survive_json():
    record = counted(0, (7, "hog", "a.service", 90), rest=4, own=80)
    assert Others.from_json(json.loads(json.dumps(record.to_json()))) == record
    with pytest.raises(ValueError, match="a process cannot be"):
        Others.from_json({**record.to_json(), "waits": {**record.waits.to_json(), "taken": [[7, 1, "", 1]]}})
