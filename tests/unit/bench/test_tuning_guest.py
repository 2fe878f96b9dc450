"""The figures that the bench of searches on real kernels keeps of a verdict, and its report."""

import pytest
from tests.unit.bench.test_place import MACHINE

import tuning_guest


def verdict(gain, trials):
    ratio = {"value": 1 / (1 - gain), "low": 1 / (1 - gain + 0.05), "high": 1 / (1 - gain - 0.05)}
    return {
        "sentence": "Found.",
        "comparisons": [{"arm": "tuned", "ratio": ratio, "deviation": {"value": 1.5, "low": 0.9, "high": 2.5}}],
        "trials": [{"settings": trial} for trial in trials],
        "settings": {"a": 1},
        "chosen": {"a": 1},
        "search_runs": len(trials),
        "confirm_runs": 20,
        "elapsed_ns": 61_000_000_000,
    }


def row(method, gain, trials, *, again=True):
    record = tuning_guest.figures(verdict(gain, trials))
    return {
        "kernel": "6.1", "load": "hackbench -g 20 -l 10", "method": method, "seed": 1, "machine": MACHINE,
        "first": record, "again": record if again else None,
    }  # fmt: skip


TRIALS = [{}, *({"a": value} for value in (1, 2, 2, 3))]


def test_of_a_verdict_its_numbers_are_kept():
    record = tuning_guest.figures(verdict(0.3, TRIALS))
    assert record["gain"] == pytest.approx([0.3, 0.25, 0.35])
    assert (record["search_runs"], record["places"], record["seconds"]) == (5, 3, 61)
    nothing = {**verdict(0.3, TRIALS), "comparisons": [], "settings": {}, "chosen": {}}
    assert tuning_guest.figures(nothing)["gain"] is None


def test_a_goal_is_met_only_on_a_boot_of_its_own():
    rows = [row("surface", 0.3, TRIALS), row("golden", 0.16, TRIALS), row("swarm", 0.31, TRIALS)]
    assert [line.rpartition(": ")[2] for line in tuning_guest.judged(rows)] == ["met"] * 4
    assert "golden: 16.0 % (11.0 to 21.0) in 3 places, wanted 15.0 % in at most 8" in tuning_guest.judged(rows)[2]
    missed = [row("surface", 0.12, TRIALS), row("golden", 0.2, TRIALS * 3 + [{"a": n} for n in range(9, 18)])]
    assert [line.rpartition(": ")[2] for line in tuning_guest.judged(missed)] == ["not met", "met", "not met"]
    assert tuning_guest.judged([row("surface", 0.3, TRIALS, again=False)])[0].endswith("not met")


def test_a_search_takes_the_place_of_the_same_one(monkeypatch, tmp_path):
    monkeypatch.setattr(tuning_guest, "KEPT", tmp_path / "kept.json")
    for gain in (0.1, 0.3):
        tuning_guest.keep(row("surface", gain, TRIALS), {"command": "c", "machine": MACHINE})
    tuning_guest.keep(row("swarm", 0.2, TRIALS, again=False), {"command": "c", "machine": MACHINE})
    result = tuning_guest.saved(tuning_guest.KEPT)
    assert [row["method"] for row in result["rows"]] == ["surface", "swarm"]
    text = tuning_guest.report(result)
    assert "| 6.1 | `hackbench -g 20 -l 10` | surface | 5 | 3 | 30.0 % (25.0 to 35.0) | 30.0 % (25.0 to 35.0) |" in text
    assert "| swarm | 5 | 3 | 20.0 % (15.0 to 25.0) |  |" in text


def test_searches_of_another_machine_stay_and_are_told_apart(monkeypatch, tmp_path):
    monkeypatch.setattr(tuning_guest, "KEPT", tmp_path / "kept.json")
    other = {**row("surface", 0.1, TRIALS), "machine": {**MACHINE, "kernel": "another"}}
    for search in (row("surface", 0.3, TRIALS), other, row("surface", 0.3, TRIALS), row("golden", 0.1, TRIALS)):
        tuning_guest.keep(search, {"command": "c", "machine": MACHINE})
    result = tuning_guest.saved(tuning_guest.KEPT)
    assert [tuning_guest.machine(row).endswith("another") for row in result["rows"]] == [True, False, False]
    text = tuning_guest.report(result)
    assert all(name in text for name in ("Machine 1: ", "kernel another", "Machine 2: "))
    lines = tuning_guest.judged(result["rows"])
    # Half of what surface gains on the same machine: 0.3, not 0.1.
    assert lines[-1].startswith("machine 2, ")
    assert "golden: 10.0 % (5.0 to 15.0) in 3 places, wanted 15.0 %" in lines[-1]
