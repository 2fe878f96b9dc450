"""The bench of disturbed programs: its bursts, that they end, and what it says of its figures."""

from itertools import islice

from disturbance import KINDS, bursts
from disturbed import disturbance, judged, spreads


def test_bursts_are_those_of_their_seed_and_of_all_kinds():
    first, again, other = (list(islice(bursts(seed), 60)) for seed in (1, 1, 2))
    assert first == again != other
    assert {kind for _, kind, _ in first} == set(KINDS)
    assert all(pause >= 0 and 0.1 <= burst <= 0.8 for pause, _, burst in first)


def test_the_reported_runs_have_other_bursts_than_the_search(tmp_path, monkeypatch):
    seeds = []
    monkeypatch.setattr("disturbed.disturbed", lambda seed, directory: seeds.append(seed))
    for seed in range(5):
        for phase in (0, 1):
            disturbance(tmp_path, seed, phase)
    assert len(set(seeds)) == 10


def record(ours, first="becalm", untouched=0.08, lists=(0.04, 0.03)):
    values = {"baseline": untouched, "tuned": ours, "llvm-tips": lists[0], "pyperf": lists[1]}
    if first != "becalm":
        values.pop(first), values.update(tuned=lists[0])
    arms = [
        {"name": name, "spread": {"value": value, "low": value / 1.5, "high": 1.5 * value}}
        for name, value in values.items()
    ]
    return {"program": "gcc", "first": first, "tried": {"arms": arms}}


def test_goals_are_met_or_not():
    good = [record(0.02)] * 4 + [record(0.03)]
    assert [line.rpartition(": ")[2] for line in judged(good)] == ["met", "met", "0 of 5"]
    short = judged([*good[1:], record(0.031)])
    assert [line.rpartition(": ")[2] for line in short] == ["not met", "not met", "0 of 5"]


def test_of_two_alike_neither_is_shown_to_be_worse():
    assert judged([record(0.05)])[2].endswith(": 0 of 1")
    # 1.5 both ways: the ratio is known to 1.77 times.
    assert judged([record(0.054)])[2].endswith(": 1 of 1 (gcc)")
    assert judged([record(0.05, first="llvm-tips", untouched=0.01)])[2].endswith(": 0 of 1")


def test_where_nothing_was_found_becalm_is_as_untouched():
    intervals = spreads(record(None, first="llvm-tips"))
    assert {name: interval["value"] for name, interval in intervals.items()} == {
        "untouched": 0.08, "becalm": 0.08, "llvm-tips": 0.04, "pyperf": 0.03,
    }  # fmt: skip
