"""Records of sysstat: what they say as Loads, and which runs they belong to."""

import json
from datetime import UTC, datetime

import pytest
from tests.places import ROOT

from becalm.errors import UsageError
from becalm.load import sadf
from becalm.load.record import Load
from becalm.nouns.run import Run
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.store import Store
from becalm.verbs.records import import_load

DATA = ROOT / "tests" / "data/sadf"
S = 10**9


@pytest.fixture
def text():
    return (DATA / "sysstat-12.6.json").read_text()


def run(seq, started_ns, wall_ns):
    return Run(seq, 0, 0, seq, 0, started_ns, wall_ns, *[None] * 8, "ok", 0, 0)


def test_the_numbers_are_those_of_the_file(text):
    raw = json.loads(text)["sysstat"]["hosts"][0]["statistics"]
    found = sadf.read(text)
    assert len(found) == len(raw) == 5
    for interval, said in zip(found, raw, strict=True):
        whole = said["cpu-load"][0]
        stamp = datetime.fromisoformat(f"{said['timestamp']['date']} {said['timestamp']['time']}").replace(tzinfo=UTC)
        assert interval.end_ns == stamp.timestamp() * 1e9
        assert interval.length_ns == S
        amounts = interval.amounts
        assert amounts["busy_ns"] == pytest.approx((whole["usr"] + whole["nice"] + whole["sys"]) / 100 * 2 * S)
        assert amounts["disk_write_bytes"] == said["disk"][0]["wkB"] * 1024
        assert amounts["loopback_bytes"] == said["network"]["net-dev"][0]["rxkB"] * 1024
        real = [each for each in said["network"]["net-dev"] if each["iface"] != "lo"]
        assert amounts["net_in_bytes"] == pytest.approx(sum(each["rxkB"] for each in real) * 1024)
        assert amounts["switches"] == said["process-and-context-switch"]["cswch"]
        assert (interval.queue, interval.cpus) == (said["queue"]["runq-sz"], 2)
        parts = ("busy_ns", "idle_ns", "irq_ns", "softirq_ns", "steal_ns")
        assert sum(amounts[name] for name in parts) == pytest.approx(2 * S, rel=0.001)
    # The load that was made meanwhile: 20 MB/s over loopback, 8 MB/s to the disk, in the intervals in between.
    assert found[2].amounts["loopback_bytes"] == pytest.approx(20e6, rel=0.15)
    assert found[2].amounts["disk_write_bytes"] >= 7e6


def test_the_older_layout_says_the_same_but_for_what_it_has_not(text):
    old = sadf.read((DATA / "layout-11.json").read_text())
    for then, now in zip(old, sadf.read(text), strict=True):
        assert (then.amounts["irq_ns"], then.amounts["softirq_ns"]) == (None, None), "unknown is not zero"
        interrupts = now.amounts["irq_ns"] + now.amounts["softirq_ns"]
        assert then.amounts["busy_ns"] == pytest.approx(now.amounts["busy_ns"] + interrupts, abs=1e6)
        for name in ("disk_read_bytes", "disk_write_bytes"):
            assert then.amounts[name] == pytest.approx(now.amounts[name], abs=10)
        assert then.amounts["interrupts"] == now.amounts["interrupts"]


def test_runs_get_the_intervals_that_they_touched(text):
    intervals = sadf.read(text)
    begin = intervals[0].begin_ns
    runs = [
        run(0, begin - S // 2, S),  # begins before the record
        run(1, begin + 1000, 1000),
        run(2, begin + 2000, 1000),  # the same interval as the one before
        run(3, begin + S // 2, S),  # over the edge of two
        run(4, begin + 4 * S, S),
        run(5, begin + 5 * S - 1000, 2000),  # ends after the record
        run(6, begin + 60 * S, 1000),
    ]
    found = sadf.loads(intervals, runs)
    assert [(load.first, load.last) for load in found] == [(1, 2), (3, 3), (4, 4)]
    assert [load.interval_ns for load in found] == [S, 2 * S, S]
    two = found[1]
    for name in ("busy_ns", "disk_write_bytes", "loopback_bytes", "switches"):
        assert getattr(two, name) == round(sum(each.amounts[name] for each in intervals[:2]))
    assert two.queue == (intervals[0].queue + intervals[1].queue) / 2
    assert two.queue_peak == max(each.queue for each in intervals[:2])
    assert (two.samples, two.cpus, two.level, two.exec_ns) == (2, 2, 0, None)


def test_a_gap_in_the_record_covers_no_run(text):
    value = json.loads(text)
    del value["sysstat"]["hosts"][0]["statistics"][1:3]
    intervals = sadf.read(json.dumps(value))
    begin = intervals[0].begin_ns
    assert sadf.loads(intervals, [run(0, begin + S // 2, 3 * S)]) == []
    assert len(sadf.loads(intervals, [run(0, begin + 3 * S + S // 2, S)])) == 1


def test_a_record_that_holds_little_leaves_the_rest_unknown(text):
    value = json.loads(text)
    for each in value["sysstat"]["hosts"][0]["statistics"]:
        for key in set(each) - {"timestamp", "swap-pages"}:
            del each[key]
    intervals = sadf.read(json.dumps(value))
    (load,) = sadf.loads(intervals, [run(0, intervals[0].begin_ns, 10)])
    assert (load.swap_out_bytes, load.samples) == (0, 0)
    assert (load.busy_ns, load.queue, load.disk_read_bytes) == (None, None, None)


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        ("", "sadf -j"),
        ("[]", "sadf -j"),
        ('{"sysstat": {}}', "sadf -j"),
        ('{"sysstat": {"hosts": []}}', "no machine"),
        ('{"sysstat": {"hosts": [{"nodename": "x", "statistics": [{"timestamp": {"interval": "x"}}]}]}}', "sadf -j"),
    ],
)
def test_what_is_no_record(bad, word):
    with pytest.raises(UsageError, match=word):
        sadf.read(bad)


def test_local_time_and_other_machines_are_refused(text):
    with pytest.raises(UsageError, match="local time"):
        sadf.read(text.replace('"utc": 1', '"utc": 0'))
    with pytest.raises(UsageError, match="it is of vm"):
        sadf.read(text, "elsewhere")
    assert len(sadf.read(text, "vm.example.org")) == 5


@pytest.fixture
def stored(tmp_path, text):
    """A study without load, in the time of the record."""
    place = str(tmp_path / "store.db")
    begin = sadf.read(text)[0].begin_ns
    with Store.open(place) as store:
        study = Study(kind="run", workloads=(Workload.of("true"),))
        number = store.begin(study, {"host": {"hostname": "vm"}}, created_ns=begin)
        store.append(number, [run(seq, begin + seq * S, 1000) for seq in range(7)], {})
    return place, number


def test_runs_of_the_store_get_the_load_of_their_time(stored):
    place, number = stored
    assert import_load(DATA / "sysstat-12.6.json", number, place) == (number, 5, 7)
    with Store.open(place) as store:
        found = store.loads(number)
    assert [(load.first, load.last) for load in found] == [(seq, seq) for seq in range(5)]
    assert isinstance(found[0], Load)
    with pytest.raises(UsageError, match="its own record"):
        import_load(DATA / "sysstat-12.6.json", number, place)


def test_a_record_of_another_time_is_refused(stored, tmp_path, text):
    place, number = stored
    other = tmp_path / "other.json"
    other.write_text(text.replace('"date": "2026-', '"date": "2025-'))
    with pytest.raises(UsageError, match="no run of study"):
        import_load(other, number, place)
    with pytest.raises(UsageError, match="cannot be read"):
        import_load(tmp_path / "none.json", number, place)
