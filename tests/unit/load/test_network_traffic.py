"""Use of the network while programs ran, of their runs, loads and what the kernel counted."""

import json

import pytest

from becalm.load.network_traffic import network_use
from becalm.load.others import Mover, NetworkTraffic, Others, OthersReading
from becalm.load.record import Load
from becalm.nouns.run import Run

MS = 1_000_000
MB = 1 << 20


def run(seq, cpu=100):
    """Return a run of a second with this CPU time in ms."""
    return Run(seq, 0, 0, seq, 0, 10**18 + seq, 1000 * MS, cpu * MS, 0, 0, None, None, None, 2, None, "ok", 0, 0)


def load(seq, cpu=100):
    """Return the load of one run with this CPU time in ms."""
    more = {"level": 3, "scope": "tree", "tasks": 1, "wait_ns": 50 * MS, "block_ns": 50 * MS}
    return Load(seq, seq, 10**18, 1000 * MS, exec_ns=cpu * MS, **more)


def others(seq, *movers, own=(5 * MB, 0), rest=0):
    """Return what was counted around one run: pid, name, group, bytes received and sent of each."""
    traffic = NetworkTraffic(tuple(Mover(*mover) for mover in movers), rest, own)
    return Others(seq, seq, (OthersReading(1000 * MS, ()),), network=traffic)


def test_the_process_that_moved_most_bytes_is_reported():
    record = others(0, (7, "rsync", "backup", 0, 90 * MB), (8, "sshd", "", MB, MB), rest=3 * MB)
    use = network_use([run(0)], [load(0)], [record])
    assert (use.material, use.runs, use.wall_ns, use.slept_ns) == (True, 1, 1000 * MS, 800 * MS)
    assert (use.own_bytes, use.others_bytes, use.interval_ns) == (5 * MB, 95 * MB, 1000 * MS)
    (mover,) = use.movers
    assert (mover.name, mover.pid, mover.size_bytes, mover.share) == ("rsync", 7, 90 * MB, pytest.approx(0.9))
    assert Others.from_json(json.loads(json.dumps(record.to_json()))) == record


@pytest.mark.parametrize(
    ("cpu", "record"),
    [
        pytest.param(100, others(0, (7, "rsync", "", 0, 90 * MB), own=(0, 0)), id="the program did not use it"),
        pytest.param(100, others(0, (7, "rsync", "", 0, 90 * MB), own=(99 * MB, 0)), id="the program moved most"),
        pytest.param(890, others(0, (7, "rsync", "", 0, 90 * MB)), id="the program did not sleep"),
        pytest.param(100, others(0, (7, "rsync", "", 0, 900_000), own=(9, 0)), id="a hundredth of a slow link"),
    ],
)
def test_nothing_is_reported_without_a_reason(cpu, record):
    assert not network_use([run(0, cpu)], [load(0, cpu)], [record]).material


def test_traffic_that_was_not_counted_gives_no_answer():
    assert network_use([run(0)], [load(0)], [Others(0, 0, (OthersReading(1000 * MS, ()),))]) is None
    assert network_use([run(1)], [load(1)], [others(0)]) is None
    unknown = load(0)._replace(wait_ns=None)
    assert network_use([run(0)], [unknown], [others(0, (7, "rsync", "", 0, 90 * MB))]) is None
