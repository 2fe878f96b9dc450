"""The waits of programs for disks and who is named, of their runs, loads and the readings of others."""

import json

import numpy as np
import pytest

from becalm.load.disk_culprits import disk_waiting
from becalm.load.others import Mover, Others, OthersReading
from becalm.load.record import Load
from becalm.nouns.codec import plain_dict
from becalm.nouns.run import Run
from becalm.stats.culprits import Basis

MS = 1_000_000
MB = 1 << 20


def run(seq, voluntary=2):
    """Return a run of a second with this number of voluntary switches."""
    return Run(
        seq, 0, 0, seq, 0, 10**18 + seq, 1000 * MS, 100 * MS, 0, 0, None, None, None, voluntary, None, "ok", 0, 0
    )


def load(seq, wait=500, busy=900, moved=100 * MB, **more):
    """Return the load of one run: its wait for disks and how long these were busy, in ms, and what they moved."""
    fields = {"level": 3, "scope": "tree", "tasks": 1, "cpus": 2, "wait_ns": 0, "exec_ns": 100 * MS, **more}
    disk = {
        "disk_read_bytes": 0,
        "disk_write_bytes": moved,
        "disk_busy_ns": busy * MS,
        "disk_transfers": moved // 65536,
    }
    return Load(seq, seq, 10**18, 1000 * MS, block_ns=wait * MS, **disk, **fields)


def others(seq, *movers, own=4096, disks=1, unread=0):
    """Return one reading around one run: pid, name, group and bytes of each."""
    movers = tuple(Mover(pid, name, group, 0, moved) for pid, name, group, moved in movers)
    return Others(seq, seq, (OthersReading(1000 * MS, (), movers=movers, unread=unread),), (), (0, own), disks)


def test_the_one_that_moved_nearly_all_bytes_is_named():
    record = others(0, (7, "rsync", "backup.service", 99 * MB), (8, "small", "", 8192))
    waits = disk_waiting([run(0)], [load(0)], [record])
    assert (waits.material, waits.lost_ns, waits.own_bytes, waits.disk_bytes) == (True, 500 * MS, 4096, 100 * MB)
    (culprit,) = waits.culprits
    assert (culprit.name, culprit.pid, culprit.group, culprit.basis) == ("rsync", 7, "backup.service", Basis.ACCOUNTING)
    json.dumps(plain_dict(waits))
    assert Others.from_json(json.loads(json.dumps(record.to_json()))) == record


@pytest.mark.parametrize(
    ("loads", "record", "voluntary"),
    [
        pytest.param({}, others(0, (7, "rsync", "", 99 * MB), own=60 * MB), 2, id="the program moved most"),
        pytest.param(
            {}, others(0, (7, "rsync", "", 99 * MB), own=20 * MB), 400, id="its own requests may take as long"
        ),
        pytest.param({}, others(0, (7, "rsync", "", 40 * MB)), 2, id="others moved bytes that nobody is charged with"),
        pytest.param({}, others(0, (7, "rsync", "", 99 * MB), disks=2), 2, id="another disk"),
        pytest.param({"wait": 10}, others(0, (7, "rsync", "", 99 * MB)), 2, id="no wait"),
        pytest.param({"moved": 8192}, others(0, (7, "rsync", "", 99 * MB)), 2, id="its bytes reached no disk"),
        pytest.param({}, others(0, (7, "rsync", "", 99 * MB), (8, "cp", "", 99 * MB)), 2, id="two may have done it"),
    ],
)
def test_nobody_is_named_without_a_cause(loads, record, voluntary):
    waits = disk_waiting([run(0, voluntary)], [load(0, **loads)], [record])
    assert waits.culprits == ()


def test_unknown_counts_give_no_answer():
    record = others(0, (7, "rsync", "", 99 * MB))
    assert disk_waiting([run(0)], [load(0)._replace(block_ns=None)], [record]) is None
    assert disk_waiting([run(0)], [load(0)._replace(disk_busy_ns=None)], [record]) is None
    assert disk_waiting([run(0)], [load(0)], [Others(0, 0, record.readings)]) is None
    assert disk_waiting([run(0)], [load(1)], [record]) is None
    assert disk_waiting([run(1)], [load(0)], [record]) is None


def campaign(rng, culprit, blocks=40):
    """Simulate a program that reads pages one at a time, next to three processes that write in bursts: `culprit` to the
    disk of the program, which serves requests in turn, and the others to another disk.
    """
    records, loads, runs = [], [], []
    for seq in range(blocks):
        bursts = rng.random(3) < 0.4
        moved = (bursts * rng.uniform(20, 60, 3) * MB).astype(int)
        own = int(rng.uniform(50, 80))
        alone = own * rng.gamma(20.0, 0.2) * MS
        busy = moved.sum() / MB * 8 * MS
        queued = 0.0 if culprit is None else moved[culprit] / MB * 8 * MS * rng.uniform(0.6, 1.0)
        total = own * 4096 + int(moved.sum())
        uses = [(pid, f"candidate{pid}", "", int(amount)) for pid, amount in enumerate(moved) if amount]
        records.append(others(seq, *uses, own=own * 4096, disks=2))
        loads.append(load(seq, wait=(alone + queued) / MS, busy=(busy + alone) / MS, moved=total))
        runs.append(run(seq, voluntary=own))
    waits = disk_waiting(runs, loads, records)
    return {culprit.name for culprit in waits.culprits}


def test_only_a_process_that_comes_and_goes_with_the_waits_is_named():
    rng = np.random.default_rng(7)
    assert campaign(rng, 1) == {"candidate1"}
    assert campaign(rng, None) == set()
