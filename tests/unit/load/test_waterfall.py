"""The bars of one run: an identity, nothing twice, nothing hidden."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from becalm.load.record import Load
from becalm.load.time_accounting import Times, middle, of
from becalm.load.waterfall import IO, MEMORY, NAMES, QUEUE, REFERENCE, SLOWER, STEAL, UNEXPLAINED, waterfall
from becalm.nouns.codec import plain_dict
from becalm.nouns.run import Run

MS = 1e6


def times(wall, cpu=100, **more):
    scaled = {name: value * MS if name.endswith("_ns") else value for name, value in more.items()}
    scaled.setdefault("exec_ns", cpu * MS)
    return Times(1, wall * MS, cpu_ns=cpu * MS, **scaled)


def a_run(seq=0, workload=0, wall=100, user=60, system=40, wait=None):
    ns = [None if value is None else int(value * MS) for value in (wall, user, system, wait)]
    return Run(seq, workload, 0, 0, 0, 0, *ns, None, None, None, None, None, "ok", 0, 0)


def test_k_spinners_on_one_cpu_are_run_queue_wait():
    bars = waterfall(times(400, wait_ns=299))
    assert [bar.name for bar in bars.bars] == list(NAMES)
    assert bars[QUEUE].share == pytest.approx(299 / 400)
    assert bars[QUEUE].exact
    assert bars[UNEXPLAINED].ns == pytest.approx(1 * MS)
    assert bars.largest.name == QUEUE
    assert bars[SLOWER].ns is None
    assert "unloaded run" in bars[SLOWER].note


def test_normal_waits_of_the_unloaded_run_are_no_delay():
    reference = times(150, wait_ns=5, block_ns=40)
    bars = waterfall(times(260, wait_ns=105, block_ns=50), reference)
    assert bars[REFERENCE].ns == 150 * MS
    assert bars.delay_ns == 110 * MS
    assert bars[QUEUE].ns == pytest.approx(100 * MS)
    assert bars[IO].ns == pytest.approx(10 * MS)
    assert bars[SLOWER].ns == 0
    assert bars[UNEXPLAINED].ns == pytest.approx(0)


def test_an_unknown_wait_for_devices_says_why():
    assert "task_delayacct" in waterfall(times(150, wait_ns=5, level=2))[IO].note
    assert "longer wait than the run took" in waterfall(times(150, wait_ns=5, level=3))[IO].note


def test_slower_execution_is_split_by_the_clock():
    reference = times(100, frequency_khz=3_000_000)
    bars = waterfall(times(150, 150, frequency_khz=2_400_000), reference)
    assert bars[SLOWER].ns == pytest.approx(50 * MS)
    assert [part.name for part in bars[SLOWER].parts] == [
        "lower clock frequency",
        "slower per CPU second (instructions not counted)",
    ]
    assert sum(part.ns for part in bars[SLOWER].parts) == pytest.approx(bars[SLOWER].ns)
    assert bars[SLOWER].parts[0].ns == pytest.approx(30 * MS)


def counted(wall, cycles, instructions, running=1.0, kind="all", cpu=None, **more):
    spent = wall if cpu is None else cpu
    return times(
        wall, spent, cycles=cycles, instructions=instructions, counters_enabled_ns=spent,
        counters_running_ns=running * spent, counters_scope=kind, **more,
    )  # fmt: skip


def parts(shown):
    return {part.name: part.ns / MS for part in shown[SLOWER].parts}


def test_counts_tell_fewer_instructions_per_cycle_from_more_of_them_and_from_the_clock():
    before = counted(100, 300e6, 600e6)
    assert parts(waterfall(counted(150, 450e6, 600e6), before)) == {"fewer instructions per cycle": pytest.approx(50)}
    assert parts(waterfall(counted(150, 450e6, 900e6), before)) == {"more instructions": pytest.approx(50)}
    assert parts(waterfall(counted(150, 300e6, 600e6), before)) == {"lower clock frequency": pytest.approx(50)}
    mixed = waterfall(counted(200, 420e6, 630e6), before)
    assert sum(parts(mixed).values()) == pytest.approx(100)
    assert parts(mixed)["more instructions"] == pytest.approx(5)
    assert parts(mixed)["fewer instructions per cycle"] == pytest.approx(35)


def test_a_run_that_did_less_has_a_negative_part():
    bars = waterfall(counted(150, 450e6, 300e6), counted(100, 300e6, 600e6))
    assert parts(bars) == {"fewer instructions per cycle": pytest.approx(100), "more instructions": pytest.approx(-50)}


@pytest.mark.parametrize(
    "now",
    [
        counted(150, 450e6, 600e6, running=0.5),
        counted(150, 450e6, 600e6, kind="user"),
        counted(150, None, None, running=0.0),
        counted(150, 0, 0),
        times(150, 150),
    ],
)
def test_without_whole_counts_of_one_kind_nothing_is_reported_of_instructions(now):
    bars = waterfall(now, counted(100, 300e6, 600e6))
    assert bars[SLOWER].ns == pytest.approx(50 * MS)
    assert parts(bars) == {}, "and nothing is scaled"


def test_without_the_kernels_own_work_a_cycle_may_be_longer_by_it():
    bars = waterfall(counted(150, 300e6, 600e6, kind="user"), counted(100, 300e6, 600e6, kind="user"))
    assert list(parts(bars)) == ["lower clock frequency, or more time in the kernel"]


def test_counts_of_several_threads_add_up_to_the_bar():
    before = counted(100, 600e6, 600e6, cpu=200, tasks=2, scope="group")
    now = counted(200, 900e6, 600e6, cpu=300, tasks=2, scope="group")
    bars = waterfall(now, before)
    assert bars[SLOWER].ns == pytest.approx(100 * MS)
    assert sum(parts(bars).values()) == pytest.approx(100)
    assert parts(bars)["fewer instructions per cycle"] == pytest.approx(50)
    assert parts(bars)["fewer tasks at a time"] == pytest.approx(50)


def test_swapping_from_a_disk_is_not_counted_as_io_too():
    bars = waterfall(times(300, wait_ns=0, block_ns=200, swapin_ns=150, thrashing_ns=160))
    assert (bars[IO].ns, bars[MEMORY].ns) == (pytest.approx(40 * MS), pytest.approx(160 * MS))
    assert not bars[MEMORY].exact
    assert bars[UNEXPLAINED].ns == pytest.approx(0)


def test_swapping_to_memory_is_work_on_the_cpu():
    reference = times(100, wait_ns=0, block_ns=0, swapin_ns=0, reclaim_ns=0)
    bars = waterfall(times(180, 180, wait_ns=0, block_ns=0, swapin_ns=50, reclaim_ns=20), reference)
    assert bars[MEMORY].ns == pytest.approx(70 * MS)
    assert bars[SLOWER].ns == pytest.approx(10 * MS)
    assert bars[UNEXPLAINED].ns == pytest.approx(0)
    alone = waterfall(times(180, 180, wait_ns=0, block_ns=0, swapin_ns=50, reclaim_ns=20))
    assert alone[MEMORY].ns == 0
    assert alone[REFERENCE].parts[0].ns == pytest.approx(70 * MS)


def test_a_reference_without_delay_accounting_leaves_these_bars_unknown():
    bars = waterfall(times(300, wait_ns=0, block_ns=200, swapin_ns=150), times(100, wait_ns=0))
    assert (bars[IO].ns, bars[MEMORY].ns) == (None, None)
    assert bars[UNEXPLAINED].ns == pytest.approx(200 * MS)


def test_steal_is_looked_for_in_the_rest_then_in_cpu_time():
    common = {"steal_ns": 0, "busy_ns": 100, "wait_ns": 0}
    reference = times(100, **common)
    outside = waterfall(times(150, steal_ns=48, busy_ns=100, wait_ns=0), reference)
    assert outside[STEAL].ns == pytest.approx(48 * MS)
    assert outside[UNEXPLAINED].ns == pytest.approx(2 * MS)
    inside = waterfall(times(150, 150, steal_ns=48, busy_ns=150, wait_ns=0), reference)
    assert inside[STEAL].ns == pytest.approx(48 * MS)
    assert inside[SLOWER].ns == pytest.approx(2 * MS)
    assert not inside[STEAL].exact
    # Half of the machine's busy time was the program's: so was half of the stolen time.
    other = waterfall(times(150, steal_ns=48, busy_ns=200, wait_ns=0))
    assert other[STEAL].ns == pytest.approx(24 * MS)


def test_quota_is_a_part_of_the_wait():
    bars = waterfall(times(200, wait_ns=100, quota_ns=80))
    assert (bars[QUEUE].parts[0].name, bars[QUEUE].parts[0].ns) == ("quota", 80 * MS)


def test_counting_too_much_refuses():
    bars = waterfall(times(200, wait_ns=150))
    assert "25.0 % more" in bars.refused
    assert bars.largest is None
    assert not waterfall(times(200, wait_ns=101)).refused
    # A run that slept less than the unloaded one is no error; one that would have slept less than nothing is.
    reference = times(130, wait_ns=0, block_ns=0)
    assert not waterfall(times(110, wait_ns=0, block_ns=0), reference).refused
    assert "9.1 % more" in waterfall(times(110, wait_ns=10, block_ns=10), reference).refused


def test_several_threads_do_not_add_up_and_are_bounded_by_the_whole_of_their_waits():
    """Pressure is an average over CPUs: 20 ms of it do not mean that no more than 20 ms were waited."""
    bars = waterfall(times(200, 400, wait_ns=160, tasks=4, scope="group", own_cpu_pressure_ns=20))
    assert bars.parallel == pytest.approx(2.8)
    wait = bars[QUEUE]
    assert (wait.ns, wait.low, wait.high) == (pytest.approx(160 / 2.8 * MS), 0, pytest.approx(160 * MS))
    assert not wait.exact
    assert not bars[UNEXPLAINED].exact
    assert sum(bar.ns or 0 for bar in bars.bars) == pytest.approx(200 * MS)


def test_threads_that_wait_for_each_other_are_not_delayed():
    """Eight threads on two CPUs that nobody else wants: half of their CPU time is what they take, and no delay."""
    alone = times(200, 400, wait_ns=1200, tasks=8, scope="tree")
    assert alone.alone_ns(2) == pytest.approx(200 * MS)
    bars = waterfall(alone, None, 2)
    assert (bars.reference, bars.parallel) == ("own CPU time in parallel", pytest.approx(8))
    assert (bars[REFERENCE].ns, bars[QUEUE].ns) == (pytest.approx(200 * MS), pytest.approx(0))
    # Next to others they get half as much: the other half they wait for these.
    slow = times(400, 400, wait_ns=2800, tasks=8, scope="tree")
    bars = waterfall(slow, None, 2)
    assert (bars[REFERENCE].ns, bars[QUEUE].ns) == (pytest.approx(200 * MS), pytest.approx(200 * MS))
    assert bars.largest.name == QUEUE
    assert sum(bar.ns or 0 for bar in bars.bars) == pytest.approx(400 * MS)


def test_threads_that_mostly_sleep_take_no_more_than_they_were_ready():
    asleep = times(200, 60, wait_ns=20, block_ns=1120, tasks=6, scope="tree")
    bars = waterfall(asleep, None, 2)
    assert bars[REFERENCE].ns == pytest.approx((60 + 20) / 6 * MS)
    assert bars[QUEUE].ns == pytest.approx(0)
    assert sum(bar.ns or 0 for bar in bars.bars) == pytest.approx(200 * MS)
    assert asleep.alone_ns(None) == pytest.approx(10 * MS), "CPUs not known"
    assert times(400, 400, wait_ns=0, tasks=2, scope="tree").alone_ns(2) == 400 * MS, "one after the other"


def test_children_that_only_rusage_saw_make_it_not_exact():
    bars = waterfall(times(200, 180, exec_ns=20, wait_ns=5))
    assert not bars[QUEUE].exact
    assert bars[REFERENCE].ns == pytest.approx(180 * MS)


def test_without_cpu_time_and_reference_nothing_is_reported():
    assert waterfall(Times(1, 100 * MS)) is None
    assert waterfall(Times(1, 150 * MS), Times(1, 100 * MS))[UNEXPLAINED].ns == 50 * MS


known = st.one_of(st.none(), st.floats(0, 1e12))


@given(
    st.floats(1, 1e12),
    st.floats(1, 1e12),
    st.lists(known, min_size=12, max_size=12),
    st.one_of(st.none(), st.lists(known, min_size=12, max_size=12)),
    st.booleans(),
)
def test_the_bars_add_up_whatever_is_known(wall, cpu, values, before, several):
    names = ("exec_ns", "wait_ns", "block_ns", "swapin_ns", "thrashing_ns", "reclaim_ns", "compact_ns", "copy_ns")
    names += ("irq_delay_ns", "quota_ns", "steal_ns", "busy_ns")
    more = {"tasks": 3, "scope": "tree"} if several else {}
    mine = Times(1, wall, cpu_ns=cpu, **dict(zip(names, values, strict=True)), **more)
    reference = None if before is None else Times(1, 0.5 * wall, cpu_ns=cpu, **dict(zip(names, before, strict=True)))
    bars = waterfall(mine, reference)
    assert sum(bar.ns or 0.0 for bar in bars.bars) == pytest.approx(wall, rel=1e-6, abs=1e-3)
    assert [bar.name for bar in bars.bars] == list(NAMES)
    if reference is None:
        assert bool(bars.refused) == (bars[UNEXPLAINED].ns < -0.01 * wall)
    json.dumps(plain_dict(bars), allow_nan=False)


def test_times_of_several_runs_are_their_mean():
    load = Load(0, 1, 0, int(400 * MS), wait_ns=int(60 * MS), exec_ns=int(200 * MS), steal_ns=int(40 * MS), level=2)
    pooled = of([a_run(0, wall=120), a_run(1, wall=140)], load)
    assert (pooled.runs, pooled.wall_ns, pooled.cpu_ns, pooled.wait_ns) == (2, 130 * MS, 100 * MS, 30 * MS)
    assert pooled.steal_ns == pytest.approx(40 * MS * 130 / 400)
    assert (pooled.block_ns, pooled.level) == (None, 2)


def test_sums_over_two_programs_belong_to_neither():
    load = Load(0, 1, 0, int(400 * MS), wait_ns=int(60 * MS), exec_ns=int(200 * MS), level=2)
    pooled = of([a_run(1, 1, wait=7)], load, whole=False)
    assert (pooled.runs, pooled.wait_ns, pooled.exec_ns) == (1, 7 * MS, None)


def test_the_middle_of_several_times():
    middle_run = middle([times(w, wait_ns=w / 10, level=level) for w, level in ((100, 3), (300, 2), (110, 3))])
    assert (middle_run.wall_ns, middle_run.wait_ns, middle_run.level, middle_run.block_ns) == (
        110 * MS,
        11 * MS,
        2,
        None,
    )
    assert middle([]) is None
    assert middle([times(1, wait_ns=1), times(2)]).wait_ns is None


@pytest.mark.parametrize(("wall_ms", "refused"), [(0.9, False), (0.5, True), (100, True)])
def test_a_short_run_is_not_refused_for_the_time_that_reading_its_accounts_takes(wall_ms, refused):
    """In a run of 0.9 ms, 15 µs more than it took are 1.7 %."""
    counted_ms = wall_ms * 1.05 if refused else wall_ms + 0.015
    assert bool(waterfall(times(wall_ms, cpu=counted_ms, wait_ns=0)).refused) == refused
