"""Requested load, as people write it and as the agent takes it."""

import pytest
from click.testing import CliRunner

from becalm.cli.load import command_load
from becalm.errors import UsageError
from becalm.nouns.demand import Demand, LoadResult
from becalm.units import size_bytes
from becalm.verbs.load import make_load


@pytest.mark.parametrize(
    ("text", "number"),
    [("512M", 512 << 20), ("512MiB", 512 << 20), ("512MB", 512 * 10**6), ("1.5k", 1536), ("4096", 4096), ("7B", 7)],
)
def test_sizes(text, number):
    assert size_bytes(text) == size_bytes(f"{text}/s") == number


@pytest.mark.parametrize("text", ["", "M", "-5M", "0", "5X", "5 M M", float("inf")])
def test_invalid_sizes_are_refused(text):
    with pytest.raises(UsageError, match=r"size|bytes"):
        size_bytes(text)


def test_a_demand_travels_as_what_differs_from_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    demand = Demand.of(cpu=2.5, cpus=(0, 1), memory="2M", limit="1M", disk=".", rate="50M", network=100, session="new")
    value = demand.to_json()
    assert value == {
        "cpu": 2.5,
        "cpus": (0, 1),
        "memory_bytes": 2 << 20,
        "limit_bytes": 1 << 20,
        "disk_directory": str(tmp_path),
        "disk_rate": 50 << 20,
        "network_rate": 100,
        "session": "new",
    }
    assert Demand.from_json({**value, "cpus": [0, 1]}) == demand
    assert Demand().to_json() == {}
    assert Demand(nice=5, session="new").empty
    assert not Demand(syscalls=1).empty


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"memory": "512M"}, "--limit"),
        ({"cpu": 1, "limit": "512M"}, "--memory"),
        ({"cpu": 1, "rate": "5M"}, "--disk"),
        ({"nice": 5}, "Which load"),
    ],
)
def test_contradictory_demands_are_refused_before_anything_starts(options, word):
    with pytest.raises(UsageError, match=word):
        make_load(**options, duration="1s")


def test_a_time_and_a_command_contradict_each_other():
    with pytest.raises(UsageError, match="not both"):
        make_load(cpu=1, duration=1, command=["true"])


@pytest.mark.parametrize(
    "words", [["--cpus", "a"], ["--cpus", "2-1"], ["--cpus", "9999"], ["--memory", "lots"], ["--x"]]
)
def test_wrong_options_are_named(words):
    done = CliRunner().invoke(command_load, [*words, "--cpu", "1"])
    assert done.exit_code == 2
    assert words[-1] in done.output


def test_made_load_is_summed_by_kind_and_unknown_is_not_zero():
    share = {"unit": "ns", "asked": 1.0, "done": 4, "cpu_ns": 5, "wait_ns": None}
    value = {
        "reason": "command",
        "wall_ns": 9,
        "shares": [{"kind": "cpu", **share}, {"kind": "cpu", **share}, {"kind": "disk", **share, "cpu_ns": None}],
        "swapped_out_bytes": None,
        "failure": None,
        "sentence": "…",
        "command": {"status": -9, "wall_ns": 8},
    }
    load = LoadResult.from_json(value)
    assert (load.cpu_ns("cpu"), load.cpu_ns("disk"), load.done("cpu")) == (10, None, 8)
    assert (load.status, load.command_ns) == (-9, 8)
    assert LoadResult.from_json({**value, "command": None}).status is None
