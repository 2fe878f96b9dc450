"""An answer of the agent's request `read` as a Load: what is summed, what is left out, what is not known."""

import pytest

from becalm.load import interval
from becalm.load.metrics import MEASURES, find, total_ns
from becalm.load.record import Load

SECOND = 1_000_000_000


def source(changes=None, states=None, unknown=None):
    return {
        "at_ns": 5, "took_ns": 1, "interval_ns": SECOND, "counters": {}, "missing": [],
        "changes": changes or {}, "states": states or {}, "unknown": unknown or {},
    }  # fmt: skip


def answer(**changes):
    stat = {
        f"cpu.{name}": 0 for name in ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest")
    }
    stat |= {"cpu.user": 90, "cpu.guest": 50, "cpu.idle": 60, "cpu.iowait": 10, "cpu.softirq": 10, "cpu.steal": 30}
    stat |= {f"cpu{cpu}.user": 45 for cpu in range(2)} | {"ctxt": 700, "intr": 300}
    disks = {
        f"{disk}.{column}": 8
        for disk in ("vda", "vda1", "dm-0")
        for column in ("sectors_read", "sectors_written", "busy_ms")
    }
    states = {
        "vda.whole": 1,
        "vda.physical": 1,
        "vda1.whole": 0,
        "vda1.physical": 1,
        "dm-0.whole": 1,
        "dm-0.physical": 0,
    }
    net = {
        f"{row}.{column}": 100
        for row in ("eth0", "lo")
        for column in (
            "received_bytes", "sent_bytes", "received_packets", "sent_packets", "receive_errors", "receive_drops",
            "send_errors", "send_drops", "collisions",
        )
    }  # fmt: skip
    sources = {
        "loadavg": source(states={"running": 4}),
        "stat": source(stat),
        "psi": source({"cpu.some.total_us": 250_000, "io.some.total_us": 0, "memory.some.total_us": 7}),
        "vmstat": source({"pswpout": 3, "zswpout": 1, "pswpin": 2, "pgpgout": 99_999, "pgmajfault": 5,
                          "workingset_refault_file": 6, "workingset_refault_anon": 1, "allocstall_normal": 2,
                          "allocstall_dma": 1}),
        "diskstats": source(disks, states),
        "netdev": source(net),
        "nfs": {"at_ns": 1, "took_ns": 1, "absent": "/proc/self/net/rpc/nfs does not exist"},
        "frequency": source({"cpu0.core_throttles": 1},
                            {"cpu0.frequency_khz": 2_000_000, "cpu1.frequency_khz": 3_000_000}),
    }  # fmt: skip
    return {**sources, **changes}


def test_what_an_interval_is_made_of():
    found = interval.of(answer(), 4096, number=3, started_ns=11)
    assert (found.first, found.last, found.started_ns, found.interval_ns, found.cpus) == (3, 3, 11, SECOND, 2)
    assert found.busy_ns == 900_000_000, "guest time is in user time"
    assert found.idle_ns == 700_000_000
    assert found.queue == 3, "the agent is running while it reads"
    assert (found.swap_out_bytes, found.swap_in_bytes) == (4 * 4096, 2 * 4096), "pgpgout is no paging"
    assert (found.refaults, found.direct_reclaims, found.major_faults) == (7, 3, 5)
    assert found.disk_read_bytes == 8 * 512, "neither partitions nor stacked devices"
    assert (found.net_in_bytes, found.net_packets, found.net_errors, found.loopback_bytes) == (100, 200, 500, 100)
    assert (found.nfs_calls, found.frequency_khz, found.throttled) == (None, 2_500_000, 1)
    assert (found.pressure_cpu_ns, found.switches) == (250_000_000, 700)
    assert interval.absent(answer()) == {"nfs": "/proc/self/net/rpc/nfs does not exist"}


def test_the_first_reading_ends_no_interval():
    first = {name: {**each, "interval_ns": None} for name, each in answer().items()}
    assert interval.of(first, 4096) is None
    assert interval.of({}, 4096) is None


def test_what_ran_backwards_is_unknown_and_never_zero():
    stat = source({"cpu.user": 1, "cpu.nice": 0, "cpu.system": 0, "cpu.idle": 5, "cpu.iowait": 0, "cpu.irq": 0,
                   "cpu.softirq": 0}, unknown={"cpu.steal": "the counter ran backwards"})  # fmt: skip
    vmstat = source({"pswpout": 1}, unknown={"zswpout": "it appeared during the interval"})
    found = interval.of(answer(stat=stat, vmstat=vmstat), 4096)
    assert (found.steal_ns, found.swap_out_bytes) == (None, None)
    assert total_ns(found) is None
    assert find("cpu").of(found) is None


def test_a_kernel_without_zswap_pages_out_all_the_same():
    assert interval.of(answer(vmstat=source({"pswpout": 2})), 4096).swap_out_bytes == 8192


def test_every_source_may_be_missing():
    for name in interval.SOURCES:
        sources = answer()
        del sources[name]
        assert interval.of(sources, 4096) is not None, name


def test_measures_of_an_interval():
    found = interval.of(answer(), 4096)
    values = {each.name: each.of(found) for each in MEASURES}
    assert values["cpu"] == pytest.approx(100 / 200)
    assert values["steal"] == pytest.approx(30 / 200)
    assert values["interrupts"] == pytest.approx(10 / 200)
    assert values["pressure_cpu"] == pytest.approx(0.25)
    assert values["page_out"] == pytest.approx(4 * 4096)
    assert values["frequency"] == pytest.approx(2.5e9)
    assert values["nfs"] is None


def test_nothing_known_is_nothing_said():
    empty = Load(0, 0, 0, SECOND)
    assert {each.of(empty) for each in MEASURES} == {None}


def test_names_of_measures_are_distinct():
    assert len({each.name for each in MEASURES}) == len(MEASURES)
    with pytest.raises(KeyError):
        find("no such")
