"""Sweet spots in simulated workloads: the thesis's counts where they come out, and what cannot be simulated."""

import pytest

import becalm
from becalm.errors import UsageError
from becalm.migration import RULES
from becalm.migration.engine import ask
from becalm.migration.rules import rules_named

WINDOW_NS = 312_500
"""A sixteenth of the thesis's: the machine below has a sixteenth of its caches, and rows of a fourth."""


def starts(n):
    """Return at how many of five starts the published rule sees a spot, and the number of spots in all."""
    sizes = {"l1": (8192, 8), "l2": (16384, 8), "llc": (393_216, 12)}
    request = {
        "machine": {name: {"bytes": size, "ways": ways} for name, (size, ways) in sizes.items()},
        "seed": 1, "page_bytes": 1024, "tick_ns": WINDOW_NS // 20,
        "tasks": [{"program": {"matrixmult": {"n": n, "repeats": 5, "pause": 3_000_000, "work": 2}}}],
        "question": {"rules": rules_named("published").within(WINDOW_NS)},
    }  # fmt: skip
    answer = ask("cache", request)
    spots = [spot["time_ns"] for spot in answer["found"]["spots"] if spot["kind"] == 1]
    marks = [at for at, _ in answer["tasks"][0]["marks"]]
    return sum(any(mark <= spot <= mark + 2.2 * WINDOW_NS for spot in spots) for mark in marks), len(spots)


def test_matrices_that_fit_have_no_spot_and_larger_ones_have_one_at_each_start():
    # Published: 0 of 5, and 5 of 5. Here the first result was written before, and is warm.
    assert starts(125) == (0, 0)
    assert starts(209) == (4, 4)


def test_a_program_alongside_memeater_is_evicted():
    words = ("matrixmult:100,8@0", "memeater:1M@0")
    spotted = becalm.simulate_sweetspots(words, rules="published", window="1ms", llc="96K", until="150ms")
    alone = becalm.simulate_sweetspots(words[:1], rules="published", window="1ms", llc="96K")
    kinds = [[spot["kind"] for spot in search.spots if spot["program"] == 0].count(2) for search in (spotted, alone)]
    assert kinds[0] > 3
    assert kinds[1] == 0


@pytest.mark.parametrize("rule", RULES, ids=lambda letter: letter.name)
def test_every_rule_finds_changes_that_were_drawn(rule):
    spotted = becalm.simulate_sweetspots(["synthetic:5"], rules=rule.name)
    truths = [finding for finding in spotted.detection["truth"] if finding["kind"] == 1]
    spots = [spot["time_ns"] for spot in spotted.spots if spot["kind"] == 1]
    hits = sum(any(t["from_ns"] <= at <= t["until_ns"] + 10_000_000 for at in spots) for t in truths)
    assert hits > 0.6 * len(truths)
    assert spotted.to_json()["question"]["rules"]["window_ns"] == 5_000_000


def test_records_that_were_saved_are_found_the_same_in(tmp_path):
    path = tmp_path / "records.json"
    options = {"rules": "published", "window": "1ms"}
    spotted = becalm.simulate_sweetspots(["phases:64K,400,6", "cpuburner@1"], save=path, llc="96K", **options)
    again = becalm.sweetspots(path, **options)
    assert list(again.windows()) == list(spotted.windows())
    assert again.events == spotted.events


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        ("nothing", "no workload 'nothing'"), ("matrixmult:3", "not complete"), ("matrixmult:a,3", "a whole number"),
        ("cpuburner@x", "no workload 'cpuburner@x'"), ("cpuburner@99", "no CPU 99"),
        ("memeater:1M", "No task ends by itself"),
        ("trace:/nowhere", "/nowhere"), ("synthetic:x", "no seed"), ("memeater:0", "at least 1"),
    ],
)  # fmt: skip
def test_invalid_workloads_are_refused_in_a_sentence(workload, words):
    with pytest.raises(UsageError) as raised:
        becalm.simulate_sweetspots([workload])
    assert words in str(raised.value)
