"""Load of a known kind, and what becalm says of a program next to it.

Who else computes on the machine changes how long things take, but not how the kernel shares a processor between a
program and a load on it: so shares are compared, and sums that must hold whatever happens.
"""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.compressed import available, zram

from becalm.load.delay import weight_of_nice
from becalm.load.waterfall import IO, QUEUE, REFUSED_BELOW

CPU = max(os.sched_getaffinity(0))
SPIN = "import time\nwhile time.process_time() < 1.0: pass"
AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")
DELAYS = Path("/proc/sys/kernel/task_delayacct")

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: run the tests as root")


SHARES = """
import sys, time
def spent(*processes):
    return sum(int(open(f"/proc/{each}/schedstat").read().split()[0]) for each in processes)
load = sys.argv[1].split()
before = spent("self"), spent(*load)
while time.process_time() < 2.0: pass
after = spent("self"), spent(*load)
print(*(now - then for now, then in zip(after, before)))
"""
"""A program that prints its own CPU time and that of the load meanwhile, ns. It asks on the processor that they share,
where the load does not run at that moment: so both are exact, and the load's work while the program was started is not
included."""

BEFORE_ITS_START = 100e6
"""ns, for which a program waits at most between the fork and its own start."""


@contextlib.contextmanager
def holding(file, value):
    """Give a file another value within the block."""
    before = file.read_text()
    file.write_text(value)
    try:
        yield
    finally:
        file.write_text(before)


@pytest.fixture(autouse=True)
def delays():
    """Have the kernel count disk waits, where we may switch that on."""
    with holding(DELAYS, "1") if os.access(DELAYS, os.W_OK) else contextlib.nullcontext():
        yield


def alongside(demand, *argv, **request):
    """Return the figures of one run, in a session of its own, bound to one processor as the load is."""
    request = {"demand": demand, "argv": argv, "settings": {"cpus": str(CPU)}, **request}
    here = Path(__file__).with_name("one_program.py")
    done = subprocess.run(
        [sys.executable, str(here), json.dumps(request)],
        stdout=subprocess.PIPE, check=True, start_new_session=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def shares(observation):
    """Return the CPU time of the program and of the load in the same interval, ns."""
    own, load = map(int, observation["stdout"].split())
    return own, load


def bar(observation, name):
    return next(bar for bar in observation["waterfall"]["bars"] if bar["name"] == name)


def spinners(count, **more):
    return {"cpu": float(count), "cpus": [CPU], **more}


def shared_fairly():
    """Return whether sessions share processors first: autogroup is on and we are in the root group of the CPU
    controller."""
    own = Path("/proc/self/cgroup").read_text().splitlines()
    nested = [line for line in own if "cpu" in line.split(":")[1].split(",") and line.split(":")[2] != "/"]
    return AUTOGROUP.exists() and AUTOGROUP.read_text().strip() == "1" and not nested


def check_wait(observation):
    """Check that CPU time and run-queue wait are the whole of the wall time, within 2 %, apart from stolen time and
    waits for a disk that others use, too.

    They count from the fork, the wall time from the program's own start: where it waits for its processor in between,
    as it does when others want that, too, they are more.
    """
    times = observation["times"]
    known = times["exec_ns"] + times["wait_ns"]
    elsewhere = (times["steal_ns"] or 0) + (times["block_ns"] or 0)
    assert times["wall_ns"] * 0.98 - elsewhere <= known <= times["wall_ns"] * 1.02 + BEFORE_ITS_START
    wait = bar(observation, QUEUE)
    assert wait["exact"]
    assert wait["ns"] == pytest.approx(times["wait_ns"], rel=0.02)
    # Rightly refused when the run waited long for its processor between the fork and its own start.
    if known <= times["wall_ns"] * (1 - REFUSED_BELOW / 2):
        assert observation["waterfall"]["refused"] == ""


@pytest.mark.parametrize("count", [1, 3])
def test_spinners_of_the_same_session_give_a_delay_of_one_more_than_their_number(count):
    observation = alongside(spinners(count), sys.executable, "-c", SHARES, "{load}")
    check_wait(observation)
    own, load = shares(observation)
    # The delay there would be if nobody else had been on that processor: wall time = own + theirs.
    assert (own + load) / own == pytest.approx(count + 1, rel=0.05)
    # With whoever else was there it can only be more.
    assert observation["times"]["wall_ns"] / observation["times"]["exec_ns"] >= (count + 1) * 0.95
    assert bar(observation, QUEUE)["ns"] == max(bar["ns"] or 0 for bar in observation["waterfall"]["bars"][1:])


@pytest.mark.skipif(not shared_fairly(), reason="sessions share nothing here: autogroup is off or we are in a group")
def test_spinners_of_another_session_take_half_however_many_they_are():
    observation = alongside(spinners(3, session="new"), sys.executable, "-c", SHARES, "{load}")
    check_wait(observation)
    own, load = shares(observation)
    assert (own + load) / own == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize("less", [3, 5])
def test_nice_weighs_as_the_kernels_table_says(less):
    own_nice = os.getpriority(os.PRIO_PROCESS, 0)
    nice = min(own_nice + less, 19)
    observation = alongside(spinners(1, nice=nice), sys.executable, "-c", SHARES, "{load}")
    check_wait(observation)
    own, load = shares(observation)
    assert own / load == pytest.approx(weight_of_nice(own_nice) / weight_of_nice(nice), rel=0.05)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor: the traffic would share it")
def test_loopback_traffic_on_another_processor_gives_no_delay():
    """Time off the run queue is what it is without traffic, in the middle of five pairs."""
    other = min(os.sched_getaffinity(0))
    traffic = {"network_rate": 50e6, "cpus": [other]}
    busy, idle = [], []
    for _ in range(5):
        for demand, times in ((traffic, busy), (None, idle)):
            observation = alongside(demand, sys.executable, "-c", SPIN.replace("1.0", "0.3"))
            check_wait(observation)
            # Waiting for the processor, of which others take their part, is not the traffic's.
            times.append(observation["run"]["wall_ns"] - observation["times"]["wait_ns"])
            if demand is not None:
                assert observation["load"]["loopback_bytes"] > 1e6, "however busy that processor is"
                assert observation["made"]["failure"] is None
            assert observation["load"]["net_in_bytes"] is not None, "loopback is no network, and is counted by itself"
    ratios = sorted(with_traffic / without for with_traffic, without in zip(busy, idle, strict=True))
    assert ratios[2] == pytest.approx(1, abs=0.1)


READ = """
import mmap, os, sys
ticks, most = map(int, sys.argv[2:])
file, buffer = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 65536)
def waited():
    return int(open("/proc/self/stat").read().rpartition(")")[2].split()[39])
reads = 0
while waited() < ticks and reads < most:
    for _ in range(100): os.preadv(file, [buffer], 0)
    reads += 100
print(reads, waited())
"""
"""A program whose reads wait for the disk and for nothing else: a write may wait for the file system's journal, too,
where others write, and the kernel does not count that as a wait for the disk. It ends when the kernel has counted the
given hundredths of a second of waiting (field 42 in proc(5)), and prints these and the number of its reads."""

TICK_NS = 10_000_000


def reading(directory, ticks, most):
    """Return the figures of a program that reads from the disk."""
    path = directory / "read"
    path.write_bytes(os.urandom(65536))
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return alongside(None, sys.executable, "-c", READ, str(path), str(ticks), str(most), settings={})


def nearly_all_of_it(observation):
    """Return whether the disk was what the program slept for, and held it up most, as it is where others leave the
    machine alone."""
    times = observation["times"]
    asleep = times["wall_ns"] - times["exec_ns"] - times["wait_ns"] - (times["steal_ns"] or 0)
    others = [bar["ns"] or 0 for bar in observation["waterfall"]["bars"][1:] if bar["name"] != QUEUE]
    return times["block_ns"] >= 0.8 * asleep and bar(observation, IO)["ns"] == max(others)


@root
def test_a_program_that_waits_for_the_disk_shows_the_disk(tmp_path):
    """The kernel's count of the program's waits is all of its sleep, where nothing else disturbed it."""
    for _ in range(5):
        observation = reading(tmp_path, 30, 100_000)
        reads, ticks = map(int, observation["stdout"].split())
        assert ticks >= 30, "the disk answers without a wait"
        assert observation["load"]["level"] == 3
        times = observation["times"]
        # It has its own count in whole ticks, and may wait once more while it ends.
        assert (ticks - 0.01) * TICK_NS <= times["block_ns"] <= (ticks + 3) * TICK_NS
        assert bar(observation, IO)["ns"] == pytest.approx(times["block_ns"], rel=0.02)
        assert observation["load"]["disk_read_bytes"] >= reads * 65536
        if nearly_all_of_it(observation):
            return
    pytest.fail(
        f"In none of five trials the disk is what it slept for: {observation['times']} {observation['waterfall']}"
    )


@root
def test_without_delay_accounting_the_disk_is_unknown_and_not_zero(tmp_path):
    with holding(DELAYS, "0"):
        observation = reading(tmp_path, 1, 2000)
    assert observation["stdout"].split() == ["2000", "0"], "the kernel tells the program nothing, either"
    assert observation["load"]["level"] < 3
    assert observation["load"]["block_ns"] is None
    assert observation["times"]["block_ns"] is None
    assert bar(observation, IO)["ns"] is None


@root
@pytest.mark.skipif(not available(), reason="no zram device that nobody uses")
def test_memory_above_its_limit_is_paged_out_and_counted():
    demand = {"memory_bytes": 96 << 20, "limit_bytes": 48 << 20}
    with zram(256):
        observation = alongside(demand, sys.executable, "-c", SPIN.replace("1.0", "0.5"))
    # By what the generator read of /proc/vmstat over a longer interval, and by what the agent recorded around the run.
    assert observation["made"]["failure"] is None
    assert observation["made"]["swapped_out_bytes"] >= observation["load"]["swap_out_bytes"] > 0
    assert observation["load"]["swap_in_bytes"] > 0
    assert "swapped out" in observation["made"]["sentence"]
    # Every pass over the memory swaps at least what is above the limit.
    (share,) = observation["made"]["shares"]
    passes = share["done"] / demand["memory_bytes"]
    assert observation["made"]["swapped_out_bytes"] >= 0.5 * (passes - 1) * (
        demand["memory_bytes"] - demand["limit_bytes"]
    )
