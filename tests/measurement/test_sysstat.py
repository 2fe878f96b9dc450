"""The agent's counters next to sysstat's over the same interval, under load of every kind.

Both read the kernel's counters, at moments of their own. The agent reads before a tool's first reading and after its
last one (outer), and after its first and before its last (inner): what only grows must lie between the two, but for the
digits the tool prints. That holds whatever else the machine does.
"""

import contextlib
import json
import os
import statistics
import subprocess
import time
from pathlib import Path

import pytest
from tests.contract.conversation import Agent, children
from tests.support.compressed import available, zram
from tests.waiting import wait_for

from becalm.hosts.load_generator import Loading
from becalm.nouns.demand import Demand

pytestmark = [
    pytest.mark.needs("sadf", "sar", "iostat"),
]

SECONDS = 3
SOURCES = ["stat", "vmstat", "diskstats", "netdev", "loadavg"]
PLAIN = {**os.environ, "LC_ALL": "C", "S_TIME_FORMAT": "ISO"}


@contextlib.contextmanager
def everything():
    """Load of every kind that this machine allows, at once."""
    demand = {"cpu": 1.5, "disk_directory": "/var/tmp", "disk_rate": 8e6, "network_rate": 20e6, "syscalls": 1}
    swaps = os.geteuid() == 0 and available()
    if swaps:
        demand |= {"memory_bytes": 96 << 20, "limit_bytes": 48 << 20}
    with zram(256) if swaps else contextlib.nullcontext(), Loading(Demand(**demand)):
        yield


class Bracket:
    """The agent's counts around and within a tool's interval, and the length of that."""

    def __init__(self, outer, inner):
        self.outer, self.inner = outer, inner

    def holds(self, source, names, amount, slack):
        """Check that a tool's amount, known to within `slack`, lies between the inner and the outer change."""
        low, high = (sum(change[source]["changes"][name] for name in names) for change in (self.inner, self.outer))
        assert low - slack <= amount <= high + slack, (names, low, amount, high, slack)
        return low


def bracketed(command, begun):
    """Run a tool; `begun` tells from the process when its first reading has been made. Answers (bracket, output).

    The end of the inner interval must come before the tool's last reading; on a machine too busy for that, again.
    """
    for _ in range(30):
        wide, narrow = Agent(), Agent()
        try:
            wide.ask("read", sources=SOURCES)
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=PLAIN)
            begun(process)
            since = time.monotonic()
            narrow.ask("read", sources=SOURCES)
            time.sleep(max(0.0, since + SECONDS - 0.8 - time.monotonic()))
            inner = narrow.ask("read", sources=SOURCES, changes=True)["sources"]
            soon_enough = time.monotonic() < since + SECONDS - 0.1
            output = process.communicate()[0]
            outer = wide.ask("read", sources=SOURCES, changes=True)["sources"]
        finally:
            wide.close()
            narrow.close()
        if soon_enough:
            return Bracket(outer, inner), output
    raise AssertionError("this machine is too busy to read twice within three seconds")


def paused(*pids):
    """Return whether one of these processes has made its reading and waits for its alarm (pause(2)), as sadc and iostat
    do."""
    result = False
    for pid in pids:
        with contextlib.suppress(OSError):
            result |= "pause" in Path(f"/proc/{pid}/wchan").read_text()
    return result


def first_line(process):
    """Wait for the first reading of a tool, after which it prints the totals since the start of the machine."""
    while not (line := process.stdout.readline()).strip():
        assert process.poll() is None, line


@pytest.fixture(scope="module")
def sar(tmp_path_factory):
    """The report of sar on one interval under load, as sadf writes it, and the agent's bracket."""
    file = tmp_path_factory.mktemp("sar") / "data"

    def begun(process):
        # sar reads what its child sadc has read, which writes the head of the file before its first reading.
        wait_for(lambda: file.exists() and file.stat().st_size and paused(*children(process.pid)))

    def fresh():
        file.unlink(missing_ok=True)
        return ["sar", "-o", str(file), str(SECONDS), "1"]

    with everything():
        bracket, _ = bracketed(fresh(), begun)
    done = subprocess.run(["sadf", "-j", str(file), "--", "-A"], capture_output=True, text=True, check=True, env=PLAIN)
    result = json.loads(done.stdout)["sysstat"]["hosts"][0]["statistics"]
    assert len(result) == 1
    return bracket, result[0]


RATE = 0.005 * SECONDS
"""Rates are printed with two digits behind the point, of each second."""


def test_sar_utilisation(sar):
    bracket, statistic = sar
    (whole,) = [row for row in statistic["cpu-load"] if row["cpu"] == "all"]
    names = {"usr": "user", "nice": "nice", "sys": "system", "iowait": "iowait", "steal": "steal", "idle": "idle"}
    columns = [*names.values(), "irq", "softirq"]
    ticks = [
        sum(change["stat"]["changes"].get(f"cpu.{name}", 0) for name in columns)
        for change in (bracket.inner, bracket.outer)
    ]
    # sar adds up the lines of the single CPUs, each of which the kernel rounds down to a tick by itself.
    rounding = 100 * (os.cpu_count() or 1) / ticks[0] + 0.01
    compared = 0
    for theirs, ours in names.items():
        # A share of all ticks: between the inner share of the outer total and the other way round.
        low, high = (change["stat"]["changes"].get(f"cpu.{ours}") for change in (bracket.inner, bracket.outer))
        if low is not None and high is not None:
            compared += 1
            assert 100 * low / ticks[1] - rounding <= whole[theirs] <= 100 * high / ticks[0] + rounding, theirs
    assert compared >= 4
    assert whole["usr"] + whole["nice"] > 0


def test_sar_switches_and_forks(sar):
    bracket, statistic = sar
    rates = statistic["process-and-context-switch"]
    assert bracket.holds("stat", ["ctxt"], rates["cswch"] * SECONDS, 0.05 * rates["cswch"] + RATE) > 0
    bracket.holds("stat", ["processes"], rates["proc"] * SECONDS, 0.05 * rates["proc"] * SECONDS + 1)


def test_sar_paging(sar):
    bracket, statistic = sar
    swapped, paged = statistic["swap-pages"], statistic["paging"]
    for name, rate in (
        ("pswpout", swapped["pswpout"]),
        ("pswpin", swapped["pswpin"]),
        ("pgmajfault", paged["majflt"]),
        ("pgfault", paged["fault"]),
        ("pgpgout", paged["pgpgout"]),
    ):
        # Intervals are measured in hundredths of a second.
        bracket.holds("vmstat", [name], rate * SECONDS, 0.01 * rate * SECONDS + RATE + 1)
    if os.geteuid() == 0 and available():
        assert swapped["pswpout"] > 0, "the load swaps"


def whole_disks(bracket):
    """Return the disks whose bytes are not counted again by another device."""
    states = bracket.outer["diskstats"]["states"]
    names = {name.rsplit(".", 1)[0] for name in bracket.outer["diskstats"]["changes"]}
    return [name for name in names if states.get(f"{name}.whole") == 1 and states.get(f"{name}.physical") == 1]


def test_sar_disks(sar):
    bracket, statistic = sar
    disks = {row["disk-device"]: row for row in statistic["disk"]}
    compared = [name for name in whole_disks(bracket) if name in disks]
    assert compared
    written = 0
    for name in compared:
        for theirs, ours in (("rkB", "sectors_read"), ("wkB", "sectors_written")):
            amount = disks[name][theirs] * 2 * SECONDS
            low = bracket.holds("diskstats", [f"{name}.{ours}"], amount, 0.01 * amount + 2 * RATE + 1)
            written += low if theirs == "wkB" else 0
    assert written * 512 >= 4e6, "the load writes 8 MB a second"


def test_sar_network(sar):
    bracket, statistic = sar
    compared = 0
    for row in statistic["network"]["net-dev"]:
        for theirs, ours in (("rxkB", "received_bytes"), ("txkB", "sent_bytes")):
            amount = row[theirs] * 1024 * SECONDS
            low = bracket.holds("netdev", [f"{row['iface']}.{ours}"], amount, 0.01 * amount + 1024 * RATE + 1)
            compared += 1
            if row["iface"] == "lo":
                assert low >= 10e6, "the load sends 20 MB a second"
    assert compared >= 2


def test_iostat():
    with everything():
        bracket, output = bracketed(
            ["iostat", "-d", "-k", "-y", "-o", "JSON", str(SECONDS), "1"],
            lambda process: wait_for(lambda: paused(process.pid)),
        )
    (statistic,) = json.loads(output)["sysstat"]["hosts"][0]["statistics"]
    disks = {row["disk_device"]: row for row in statistic["disk"]}
    compared = [name for name in whole_disks(bracket) if name in disks]
    assert compared
    for name in compared:
        for theirs, ours in (("kB_read", "sectors_read"), ("kB_wrtn", "sectors_written")):
            # Whole KiB of the interval itself.
            bracket.holds("diskstats", [f"{name}.{ours}"], disks[name][theirs] * 2, 2)


@pytest.mark.needs("vmstat")
def test_vmstat():
    with everything():
        bracket, output = bracketed(
            ["stdbuf", "-oL", "vmstat", "-w", str(SECONDS), "2"],
            lambda process: [first_line(process) for _ in range(3)],
        )
    (line,) = output.splitlines()[-1:]
    head = ["r", "b", "swpd", "free", "buff", "cache", "si", "so", "bi", "bo", "in", "cs", "us", "sy", "id", "wa", "st"]
    values = dict(zip(head, map(int, line.split()), strict=False))
    for theirs, source, name, unit in (
        ("so", "vmstat", "pswpout", 4),
        ("si", "vmstat", "pswpin", 4),
        ("bo", "vmstat", "pgpgout", 1),
        ("cs", "stat", "ctxt", 1),
        ("in", "stat", "intr", 1),
    ):
        # Whole numbers a second, over an interval that vmstat takes from the ticks of all processors.
        amount = values[theirs] * SECONDS / unit
        bracket.holds(source, [name], amount, 0.05 * amount + SECONDS)


def test_run_queue():
    """A state, which each tool sees at moments of its own. In four of its eight looks vmstat sees no more, or no less,
    than what the agent sees in all but 2 % of its many: by chance it would in one of 40,000 trials, however heavy the
    tails are, which bursts of other programs make. Means were compared before: one burst in vmstat's eight looks was
    enough that they did not agree.
    """
    with everything():
        agent = Agent()
        process = subprocess.Popen(["vmstat", "-n", "1", "9"], stdout=subprocess.PIPE, text=True, env=PLAIN)
        ours = []
        try:
            while process.poll() is None:
                state = agent.ask("read", sources=["loadavg"])["sources"]["loadavg"]["states"]
                # The agent itself runs while it reads.
                ours.append(state["running"] - 1)
                time.sleep(0.02)
        finally:
            agent.close()
            output = process.communicate()[0]
    # vmstat leaves itself out, as procps has it.
    theirs = [int(line.split()[0]) for line in output.splitlines()[3:]]
    assert len(theirs) == 8
    low, *_, high = statistics.quantiles(ours, n=50)
    assert low - 1 <= statistics.median(theirs) <= high + 1


def test_pidstat(tmp_path):
    """CPU time and run-queue wait of a load's processes: what pidstat saw within, and the generator over all of it."""
    script = (
        f"LC_ALL=C S_TIME_FORMAT=ISO pidstat -u -p $(pgrep -d, -P $PPID becalm-agent) {SECONDS} 1 > {tmp_path}/said"
    )
    loading = Loading(Demand(cpu=2.5), command=["sh", "-c", script])
    load = loading.wait()
    loading.close()
    assert (load.status, load.failure) == (0, None)
    rows = [line.split() for line in (tmp_path / "said").read_text().splitlines()]
    (head,) = {tuple(row[1:]) for row in rows if "%wait" in row and row[0] != "Average:"}
    values = [
        dict(zip(head, row[1:], strict=False))
        for row in rows
        if row and row[-1] == "becalm-agent" and row[0] != "Average:"
    ]
    assert len(values) == len(load.shares) == 3
    outside = load.wall_ns / 1e9 - SECONDS
    assert outside >= 0
    # Two ticks of 10 ms for each: CPU time is counted in them, and so is the interval.
    ticks = 0.02 * len(values) + 0.01 * SECONDS
    # A wait is counted when it ends: at either edge one that is under way may fall outside.
    edges = 0.2 * len(values)
    for column, ours, slack in (("%CPU", "cpu_ns", ticks), ("%wait", "wait_ns", ticks + edges)):
        theirs = sum(float(row[column]) / 100 * SECONDS for row in values)
        whole = sum(getattr(share, ours) for share in load.shares) / 1e9
        assert whole - outside * len(values) - slack <= theirs <= whole + slack, column
