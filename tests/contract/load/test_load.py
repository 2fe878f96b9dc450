"""The agent's readings of the machine's load against independent readings of the same files."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.contract.conversation import Agent
from tests.places import ROOT

DATA = ROOT / "tests" / "data/load"
RUN_BACKWARDS = (".idle", ".iowait", ".steal")
"""Columns of /proc/stat of which the kernel does not promise that they only grow."""

SOURCES = [
    "loadavg", "stat", "schedstat", "psi", "vmstat", "meminfo", "diskstats", "netdev", "interrupts", "softirqs", "nfs",
    "frequency", "cgroup",
]  # fmt: skip


def reading(agent, sources=None, **fields):
    done = agent.ask("read", sources=sources, **fields)
    assert done["event"] == "done", done
    return done["sources"]


def words_of(path):
    """Return the lines of a file of the machine as words, by their first word."""
    return {line.split()[0]: line.split()[1:] for line in Path(path).read_text().splitlines() if line.strip()}


def stat():
    """Read /proc/stat, with the names that the agent uses."""
    columns = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
    result = {}
    for key, values in words_of("/proc/stat").items():
        if key.startswith("cpu"):
            result |= {f"{key}.{name}": int(value) for name, value in zip(columns, values, strict=False)}
        elif key in ("ctxt", "processes", "intr", "softirq"):
            result[key] = int(values[0])
    return result


def vmstat():
    return {key: int(values[0]) for key, values in words_of("/proc/vmstat").items()}


def diskstats():
    """Read the first eleven columns of /proc/diskstats."""
    columns = ("reads", "reads_merged", "sectors_read", "read_ms", "writes", "writes_merged", "sectors_written",
               "write_ms", "in_flight", "busy_ms", "weighted_ms")  # fmt: skip
    result = {}
    for line in Path("/proc/diskstats").read_text().splitlines():
        name, *values = line.split()[2:]
        result |= {f"{name}.{column}": int(value) for column, value in zip(columns, values, strict=False)}
    return result


def netdev():
    """Read received and sent bytes in /proc/net/dev."""
    result = {}
    for line in Path("/proc/net/dev").read_text().splitlines()[2:]:
        name, values = line.rsplit(":", 1)
        values = values.split()
        result |= {f"{name.strip()}.received_bytes": int(values[0]), f"{name.strip()}.sent_bytes": int(values[8])}
    return result


def test_every_source_has_counters_or_a_reason(agent):
    sources = reading(agent)
    assert sorted(sources) == sorted(SOURCES)
    for name, source in sources.items():
        assert source["took_ns"] > 0
        if "absent" in source:
            assert source["absent"], name
        else:
            assert source["counters"] or source["states"], name
    for present in ("loadavg", "stat", "vmstat", "meminfo", "softirqs"):
        assert "absent" not in sources[present]


@pytest.mark.parametrize(
    ("source", "own"), [("stat", stat), ("vmstat", vmstat), ("diskstats", diskstats), ("netdev", netdev)]
)
def test_numbers_lie_between_two_independent_readings(agent, source, own):
    """The agent reads after us and before us: what only grows lies in between."""
    before = own()
    read = reading(agent, [source])[source]
    after = own()
    compared = 0
    for name, value in read["counters"].items():
        if name in before and name in after and not name.endswith(RUN_BACKWARDS):
            compared += 1
            assert before[name] <= value <= after[name], name
    assert compared >= 2


@pytest.mark.parametrize(("source", "own"), [("stat", stat), ("vmstat", vmstat), ("diskstats", diskstats)])
def test_differences_agree_with_independent_ones(agent, source, own, tmp_path):
    """An interval of ours that lies within the agent's moves by no more, one that encloses it by no less."""
    outer_begin = own()
    reading(agent, [source])
    inner_begin = own()
    (tmp_path / "x").write_bytes(os.urandom(1 << 20))
    for _ in range(20):
        subprocess.run(["true"], check=True)
    inner_end = own()
    moved = reading(agent, [source], changes=True)[source]
    outer_end = own()
    assert moved["interval_ns"] > 0
    compared = 0
    for name, change in moved["changes"].items():
        points = [reading.get(name) for reading in (outer_begin, inner_begin, inner_end, outer_end)]
        if None not in points and not name.endswith(RUN_BACKWARDS):
            compared += 1
            assert points[2] - points[1] <= change <= points[3] - points[0], name
    assert compared >= 10
    assert moved["changes"].get("processes", 20) >= 20


def test_the_first_reading_has_no_changes_and_states_never_have(agent):
    assert "changes" not in reading(agent, ["stat"], changes=True)["stat"]
    second = reading(agent, ["stat", "meminfo"], changes=True)
    assert "procs_running" not in second["stat"]["changes"]
    assert second["stat"]["states"]["procs_running"] >= 1, "the agent itself runs"
    assert second["meminfo"]["counters"] == {}
    assert second["meminfo"]["states"]["MemTotal"] == int(words_of("/proc/meminfo")["MemTotal:"][0])


def test_another_root_is_another_machine():
    agent = Agent("--root", str(DATA / "server-4.18"))
    try:
        sources = reading(agent)
        assert sources["stat"]["counters"]["cpu3.system"] == 2305037
        assert sources["diskstats"]["counters"]["sda.flushes"] is None, "unknown is not zero"
        assert sources["nfs"]["counters"]["/home:READ.round_trip_ms"] == 5039
        assert "/proc/pressure/cpu does not exist" in sources["psi"]["absent"]
        again = reading(agent, changes=True)
        assert set(again["stat"]["changes"].values()) == {0}
        assert again["diskstats"]["unknown"]["sda.flushes"] == "its place in the file held no number"
    finally:
        agent.close()


def test_changes_below_a_root_are_reported(tmp_path):
    root = tmp_path / "machine"
    shutil.copytree(DATA / "old-2.6.32", root)
    agent = Agent("--root", str(root))
    try:
        reading(agent, ["stat", "netdev"])
        file = root / "proc/stat"
        file.write_text(
            file.read_text().replace("cpu0 4411 0 2211 991122 88 1 12 3", "cpu0 4419 0 2211 991122 88 1 12 2")
        )
        (root / "proc/self/net/dev").unlink()
        now = reading(agent, ["stat", "netdev"], changes=True)
        assert now["stat"]["changes"]["cpu0.user"] == 8
        assert now["stat"]["unknown"]["cpu0.steal"] == "the counter ran backwards"
        assert now["netdev"]["absent"] == "/proc/self/net/dev does not exist"
        assert now["netdev"]["changes"] == {}
        assert now["netdev"]["unknown"]["eth0.collisions"] == "it disappeared during the interval"
    finally:
        agent.close()


def test_unknown_sources_are_refused(agent):
    refused = agent.ask("read", sources=["stat", "nothing"])
    assert (refused["event"], refused["kind"]) == ("error", "usage")
    assert "nothing" in refused["message"]
    assert reading(agent, []) == {}
