"""Records of sysstat: what they say as Loads, and which runs they belong to."""

import json
import random
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from tests.places import ROOT

from becalm.errors import UsageError
from becalm.load import sadf
from becalm.load.record import Load
from becalm.nouns.run import Run
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.store import Store
from becalm.verbs.records import ImportedLoad, import_load

DATA = ROOT / "tests" / "data/sadf"
S = 10**9


@pytest.fixture
def text():
    return (DATA / "sysstat-12.6.json").read_text()


def run(seq, started_ns, wall_ns):
    return Run(seq, 0, 0, seq, 0, started_ns, wall_ns, *[None] * 8, "ok", 0, 0)


def test_the_numbers_are_those_of_the_file(text):
    raw = json.loads(text)["sysstat"]["hosts"][0]["statistics"]
    intervals = sadf.read(text).intervals
    assert len(intervals) == len(raw) == 5
    for interval, statistic in zip(intervals, raw, strict=True):
        whole = statistic["cpu-load"][0]
        stamp = datetime.fromisoformat(f"{statistic['timestamp']['date']} {statistic['timestamp']['time']}").replace(
            tzinfo=UTC
        )
        assert interval.end_ns == stamp.timestamp() * 1e9
        assert interval.length_ns == S
        amounts = interval.amounts
        assert amounts["busy_ns"] == pytest.approx((whole["usr"] + whole["nice"] + whole["sys"]) / 100 * 2 * S)
        assert amounts["disk_write_bytes"] == statistic["disk"][0]["wkB"] * 1024
        assert amounts["loopback_bytes"] == statistic["network"]["net-dev"][0]["rxkB"] * 1024
        real = [interface for interface in statistic["network"]["net-dev"] if interface["iface"] != "lo"]
        assert amounts["net_in_bytes"] == pytest.approx(sum(item["rxkB"] for item in real) * 1024)
        assert amounts["switches"] == statistic["process-and-context-switch"]["cswch"]
        assert (interval.queue, interval.cpus) == (statistic["queue"]["runq-sz"], 2)
        parts = ("busy_ns", "idle_ns", "irq_ns", "softirq_ns", "steal_ns")
        assert sum(amounts[name] for name in parts) == pytest.approx(2 * S, rel=0.001)
    # The load that was made meanwhile: 20 MB/s over loopback, 8 MB/s to the disk, in the intervals in between.
    assert intervals[2].amounts["loopback_bytes"] == pytest.approx(20e6, rel=0.15)
    assert intervals[2].amounts["disk_write_bytes"] >= 7e6


def test_the_older_layout_says_the_same_but_for_what_it_has_not(text):
    old = sadf.read((DATA / "layout-11.json").read_text()).intervals
    for then, now in zip(old, sadf.read(text).intervals, strict=True):
        assert (then.amounts["irq_ns"], then.amounts["softirq_ns"]) == (None, None), "unknown is not zero"
        interrupts = now.amounts["irq_ns"] + now.amounts["softirq_ns"]
        assert then.amounts["busy_ns"] == pytest.approx(now.amounts["busy_ns"] + interrupts, abs=1e6)
        for name in ("disk_read_bytes", "disk_write_bytes"):
            assert then.amounts[name] == pytest.approx(now.amounts[name], abs=10)
        assert then.amounts["interrupts"] == now.amounts["interrupts"]


def test_runs_get_the_intervals_that_they_touched(text):
    intervals = sadf.read(text).intervals
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
    document = sadf.loads(intervals, runs)
    assert [(load.first, load.last) for load in document] == [(1, 2), (3, 3), (4, 4)]
    assert [load.interval_ns for load in document] == [S, 2 * S, S]
    two = document[1]
    for name in ("busy_ns", "disk_write_bytes", "loopback_bytes", "switches"):
        assert getattr(two, name) == round(sum(interval.amounts[name] for interval in intervals[:2]))
    assert two.queue == (intervals[0].queue + intervals[1].queue) / 2
    assert two.queue_peak == max(interval.queue for interval in intervals[:2])
    assert (two.samples, two.cpus, two.level, two.exec_ns) == (2, 2, 0, None)


@pytest.mark.parametrize("seed", range(5))
def test_a_run_has_a_load_where_intervals_cover_all_of_it(seed):
    """The answer is that of looking at every interval for every run."""
    draw = random.Random(seed)
    intervals, end = [], 0
    for _ in range(40):
        begin = end + draw.choice([-1, 0, 0, 1, 5]) * sadf.ROUNDING_NS
        end = begin + draw.randint(1, 3) * sadf.ROUNDING_NS
        intervals.append(sadf.SarInterval(max(begin, 0), end, {}, 1, None))
    starts = sorted(draw.randrange(end + 10**9) for _ in range(200))
    runs = [run(seq, start, draw.randrange(1, 8 * 10**9)) for seq, start in enumerate(starts)]

    def covers(own):
        part = [i for i in intervals if i.begin_ns < own.started_ns + own.wall_ns and i.end_ns > own.started_ns]
        gaps = any(b.begin_ns - a.end_ns > sadf.ROUNDING_NS for a, b in pairwise(part))
        return (
            bool(part)
            and not gaps
            and part[0].begin_ns <= own.started_ns
            and part[-1].end_ns >= own.started_ns + own.wall_ns
        )

    loads = sadf.loads(intervals, iter(runs))
    covered = {seq for load in loads for seq in range(load.first, load.last + 1)}
    assert covered == {own.seq for own in runs if covers(own)}
    assert covered
    assert len(covered) < len(runs)


def test_a_gap_in_the_record_covers_no_run(text):
    value = json.loads(text)
    del value["sysstat"]["hosts"][0]["statistics"][1:3]
    intervals = sadf.read(json.dumps(value)).intervals
    begin = intervals[0].begin_ns
    assert sadf.loads(intervals, [run(0, begin + S // 2, 3 * S)]) == []
    assert len(sadf.loads(intervals, [run(0, begin + 3 * S + S // 2, S)])) == 1


def test_a_record_that_holds_little_leaves_the_rest_unknown(text):
    value = json.loads(text)
    for statistic in value["sysstat"]["hosts"][0]["statistics"]:
        for key in set(statistic) - {"timestamp", "swap-pages"}:
            del statistic[key]
    intervals = sadf.read(json.dumps(value)).intervals
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
        (
            '{"sysstat": {"hosts": [{"nodename": "x", "statistics": [{"timestamp": {"utc": 1, "interval": "x"}}]}]}}',
            "interval of 'x' s is none",
        ),
    ],
)
def test_invalid_records_are_refused(bad, word):
    with pytest.raises(UsageError, match=word):
        sadf.read(bad)


def test_local_time_and_other_machines_are_refused(text):
    with pytest.raises(UsageError, match="local time"):
        sadf.read(text.replace('"utc": 1', '"utc": 0'))
    with pytest.raises(UsageError, match="it is of vm"):
        sadf.read(text, "elsewhere")
    assert len(sadf.read(text, "vm.example.org").intervals) == 5


@pytest.fixture
def stored(tmp_path, text):
    """A study without load, in the time of the record."""
    place = str(tmp_path / "store.db")
    begin = sadf.read(text).intervals[0].begin_ns
    with Store.open(place) as store:
        study = Study(kind="run", workloads=(Workload.of("true"),))
        number = store.begin(study, {"host": {"hostname": "vm"}}, created_ns=begin)
        store.append(number, [run(seq, begin + seq * S, 1000) for seq in range(7)], {})
    return place, number


def test_runs_of_the_store_get_the_load_of_their_time(stored):
    place, number = stored
    assert import_load(DATA / "sysstat-12.6.json", number, place) == ImportedLoad(number, 5, 7, "vm")
    with Store.open(place) as store:
        document = store.loads(number)
    assert [(load.first, load.last) for load in document] == [(seq, seq) for seq in range(5)]
    assert isinstance(document[0], Load)
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


def row(stamp="10:00:00", interval=60, **parts):
    """Return an interval of one minute on 2026-11-20 that is busy for 5 %."""
    shares = dict.fromkeys(("nice", "iowait", "steal", "irq", "soft", "guest", "gnice"), 0.0)
    return {
        "timestamp": {"date": "2026-11-20", "time": stamp, "utc": 1, "interval": interval},
        "cpu-load": [{"cpu": "all", "usr": 4.0, "sys": 1.0, **shares, "idle": 95.0}],
        "disk": [{"disk-device": "sda", "rkB": 1.0, "wkB": 2.0, "util-percent": 0.5}],
        **parts,
    }


def record(*rows, host="bench", more=()):
    hosts = [{"nodename": host, "number-of-cpus": 2, "statistics": list(rows)}, *more]
    return json.dumps({"sysstat": {"hosts": hosts}})


def cpu(**shares):
    return {"cpu-load": [{**row()["cpu-load"][0], **shares}]}


NO_TIMES = [184467440737095516, -3540, 10**400, float("nan"), float("inf"), "60", None, True, 0.5]


@pytest.mark.parametrize("interval", NO_TIMES)
def test_intervals_that_are_no_time_are_left_out_and_reported(interval):
    recording = sadf.read(record(row("09:59:00"), row(interval=interval)))
    assert [interval.length_ns for interval in recording.intervals] == [60 * S]
    assert len(recording.left_out) == 1
    assert recording.left_out[0].startswith("2026-11-20 10:00:00: an interval of ")


def test_an_interval_that_overlaps_others_is_left_out():
    recording = sadf.read(record(row("10:00:00"), row("10:01:00"), row("10:01:30", 3600), row("10:02:00")))
    assert [interval.length_ns // S for interval in recording.intervals] == [60, 60, 60]
    assert "overlaps an earlier one" in recording.left_out[0]


@pytest.mark.parametrize(
    ("parts", "unknown", "reason"),
    [
        (cpu(**dict.fromkeys(("usr", "sys", "idle"), 0.0)), "busy_ns", "add up to 0 %"),
        (cpu(usr=400.0), "busy_ns", "usr of 400 cannot be"),
        (cpu(idle=float("nan")), "idle_ns", "idle of nan cannot be"),
        (cpu(idle="95,0"), "idle_ns", "idle of '95,0' cannot be"),
        (cpu(usr=50.0, sys=60.0), "busy_ns", "add up to 205 %"),
        ({"disk": [{"disk-device": "sdb", "rkB": 858993457.6, "wkB": 0.0, "util-percent": 85899345.76}]},
         "disk_read_bytes", "util-percent of 85,899,345.76 cannot be"),
        ({"disk": [{"disk-device": "sdb", "rkB": 858993457.6, "wkB": 0.0, "util-percent": 4.0}]},
         "disk_read_bytes", "rkB of 858,993,457.6 cannot be"),
        ({"process-and-context-switch": {"cswch": 3.6893488147419105e18}}, "switches", "cswch of 3.689348815e+18"),
        ({"swap-pages": {"pswpin": -1.0, "pswpout": 0.0}}, "swap_in_bytes", "pswpin of -1 cannot be"),
        ({"network": {"net-dev": [{"iface": "eth0", "rxkB": float("inf"), "txkB": 1, "rxpck": 1, "txpck": 1}]}},
         "net_in_bytes", "rxkB of inf cannot be"),
        ({"paging": {"majflt": True}}, "major_faults", "majflt of True cannot be"),
    ],
)  # fmt: skip
def test_values_that_cannot_be_are_unknown_and_reported(parts, unknown, reason):
    recording = sadf.read(record(row(**parts)))
    assert recording.intervals[0].amounts.get(unknown) is None
    assert reason in recording.left_out[0]
    (load,) = sadf.loads(recording.intervals, [run(0, recording.intervals[0].begin_ns, S)])
    assert getattr(load, unknown) is None


def test_a_share_above_a_hundred_by_rounding_is_a_hundred():
    recording = sadf.read(record(row(**cpu(usr=0.0, sys=0.0, idle=104.53))))
    assert recording.intervals[0].amounts["idle_ns"] == 2 * 60 * S
    assert recording.left_out == []


def test_a_queue_that_cannot_be_is_unknown():
    recording = sadf.read(record(row(queue={"runq-sz": 1e30})))
    assert recording.intervals[0].queue is None
    assert "runq-sz" in recording.left_out[0]


def test_many_reasons_are_counted_by_kind():
    rows = [row(f"10:{minute:02}:00", **cpu(usr=400.0 + minute)) for minute in range(30)]
    (sentence,) = sadf.read(record(*rows)).left_out
    assert sentence == "2026-11-20 10:00:00: usr of 400 cannot be, and is unknown; 29 more like it."


def test_rows_of_other_types_are_never_a_crash():
    for odd in ({"cpu-load": 5}, {"disk": [7]}, {"network": []}, {"queue": None}, {"interrupts": {"a": 1}}):
        assert len(sadf.read(record(row(**odd))).intervals) == 1


def test_hosts_are_never_added_together():
    other = {"nodename": "elsewhere", "number-of-cpus": 64, "statistics": [row()]}
    both = record(row(), more=[other])
    assert sadf.read(both, "bench").intervals[0].cpus == 2
    assert sadf.read(both, "elsewhere").intervals[0].cpus == 64
    with pytest.raises(UsageError, match=r"several machines, bench, elsewhere.* --machine bench"):
        sadf.read(both)
    assert sadf.read(record(row())).host == "bench"
    # The record of one machine in two parts, and twice.
    two = record(row(), more=[{"nodename": "bench", "statistics": [row(), row("10:01:00")]}])
    assert len(sadf.read(two).intervals) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"sysstat": {"hosts": [{"nodename": "x" "statistics": []}]}}', "line 1, column 41.*"),
        ('{"sysstat": {"hosts": [{"a": 1,5}]}}', "sysstat record that is not valid JSON.*LC_ALL=C"),
        ('{"sysstat": {"hosts": [{"statistics": [{"avg-cpu": {"user": 1}}]}]}}', "an iostat report.*LC_ALL=C sadf -j"),
        ("# hostname;interval;timestamp;CPU\n", "output of `sadf -d`"),
        ('{"results": [{"command": "a", "times": [1]}]}', "results of hyperfine.* becalm import f"),
        ("[1]", "f is not a sysstat record"),
    ],
)
def test_the_reason_for_an_invalid_record_is_named(text, words):
    with pytest.raises(UsageError, match=words) as error:
        sadf.read(text, path="f")
    assert "Error" not in str(error.value)


def test_runs_without_time_stamps_and_other_machines_are_refused(tmp_path):
    place, file = str(tmp_path / "store.db"), tmp_path / "sa.json"
    file.write_bytes(record(row()).encode("utf-16"))
    with Store.open(place) as store:
        study = Study(kind="run", workloads=(Workload.of("true"),))
        unplaced = store.begin(study, {})
        store.append(unplaced, [run(0, 0, 1000)], {})
        elsewhere = store.begin(study, {"host": {"hostname": "elsewhere"}})
        store.append(elsewhere, [run(0, 10**18, 1000)], {})
    with pytest.raises(UsageError, match="no time stamps"):
        import_load(file, unplaced, place)
    with pytest.raises(UsageError, match="nothing about elsewhere: it is of bench"):
        import_load(file, elsewhere, place)
    with pytest.raises(UsageError, match="measured on elsewhere, not on bench"):
        import_load(file, elsewhere, place, machine="bench")


def test_impossible_values_never_reach_the_store(tmp_path):
    place, file = str(tmp_path / "store.db"), tmp_path / "sa.json"
    file.write_text(record(row("09:59:00", 184467440737095516), row(**cpu(usr=1e300))))
    begin = sadf.read(file.read_text()).intervals[0].begin_ns
    with Store.open(place) as store:
        number = store.begin(Study(kind="run", workloads=(Workload.of("true"),)), {})
        store.append(number, [run(0, begin + S, S)], {})
    imported_load = import_load(file, number, place)
    assert (imported_load.covered, imported_load.machine, len(imported_load.left_out)) == (1, "bench", 2)
    with Store.open(place) as store:
        (load,) = store.loads(number)
    assert (load.busy_ns, load.disk_read_bytes) == (None, 60 * 1024)
