"""The waits of programs for memory and whose memory grew, of their runs, loads and the readings of others."""

import json

import pytest

from becalm.load.memory_waits import memory_waiting
from becalm.load.others import MemoryChange, Others, OthersReading
from becalm.load.record import Load
from becalm.load.time_accounting import shortage_ns
from becalm.nouns.codec import plain_dict
from becalm.nouns.run import Run

MS = 1_000_000
MB = 1 << 20


def run(seq, rss=200 * MB):
    """Return a run of a second that held this memory."""
    return Run(seq, 0, 0, seq, 0, 10**18 + seq, 1000 * MS, 100 * MS, 0, 0, rss, None, None, 2, None, "ok", 0, 0)


def load(seq, **waits):
    """Return the load of one run with its waits in ms."""
    waits = {name: value * MS for name, value in ({"swapin_ns": 300, "reclaim_ns": 100} | waits).items()}
    return Load(seq, seq, 10**18, 1000 * MS, level=3, scope="tree", tasks=1, swap_out_bytes=50 * MB, **waits)


def others(seq, *changes):
    """Return one reading around one run: pid, name, group and growth of each."""
    return Others(
        seq, seq, (OthersReading(1000 * MS, (), memory_changes=tuple(MemoryChange(*change) for change in changes)),)
    )


def test_growth_of_others_is_reported_next_to_the_waits():
    records = [others(0, (7, "java", "app", 900 * MB), (8, "cron", "", MB)), others(1, (7, "java", "app", 100 * MB))]
    waits = memory_waiting([run(0), run(1)], [load(0), load(1)], records)
    assert (waits.material, waits.runs, waits.wall_ns, waits.lost_ns) == (True, 2, 2000 * MS, 800 * MS)
    assert (waits.own_bytes, waits.grown_bytes, waits.swapped_bytes) == (200 * MB, 1001 * MB, 100 * MB)
    (grower,) = waits.growers
    assert (grower.name, grower.pid, grower.group, grower.size_bytes) == ("java", 7, "app", 1000 * MB)
    assert grower.share == pytest.approx(1000 / 1201)
    json.dumps(plain_dict(waits))
    assert [Others.from_json(json.loads(json.dumps(record.to_json()))) for record in records] == records


def test_growth_and_shrinking_of_a_process_cancel_out():
    swings = [others(seq, (7, "browser", "", 500 * MB if seq % 2 else -480 * MB)) for seq in range(4)]
    waits = memory_waiting([run(seq) for seq in range(4)], [load(seq) for seq in range(4)], swings)
    assert (waits.grown_bytes, waits.material, waits.growers) == (40 * MB, False, ())


@pytest.mark.parametrize(
    ("rss", "waits", "grown"),
    [
        pytest.param(900 * MB, {}, 800 * MB, id="the program holds more"),
        pytest.param(200 * MB, {"swapin_ns": 5, "reclaim_ns": 5}, 800 * MB, id="short waits"),
    ],
)
def test_nothing_is_reported_without_a_reason(rss, waits, grown):
    waiting = memory_waiting([run(0, rss)], [load(0, **waits)], [others(0, (7, "java", "", grown))])
    assert not waiting.material


def test_unknown_counts_give_no_answer():
    record = others(0, (7, "java", "", 900 * MB))
    bare = Load(0, 0, 10**18, 1000 * MS)
    assert memory_waiting([run(0)], [bare], [record]) is None
    assert memory_waiting([run(0)], [], [record]) is None
    assert memory_waiting([run(1)], [load(0)], [record]) is None
    assert memory_waiting([run(0)], [load(0)._replace(swap_out_bytes=None)], [record]).swapped_bytes is None


def test_a_wait_inside_another_counts_once():
    assert shortage_ns(Load(0, 0, 0, 1, swapin_ns=5, thrashing_ns=7, reclaim_ns=2, compact_ns=1)) == 10
    assert shortage_ns(Load(0, 0, 0, 1, reclaim_ns=2)) == 2
    assert shortage_ns(Load(0, 0, 0, 1)) is None
