"""The runs of records, in one pass over runs that may be too many for memory."""

import pytest
from msgspec.structs import replace
from tests.unit.load.test_memory_waits import load, others, run

from becalm.load.covered import RunWindow, covered, loaded


def passed(seqs, read):
    """Yield runs of these numbers, and note each that was read."""
    for seq in seqs:
        read.append(seq)
        yield run(seq)


def numbers(runs):
    return [run.seq for run in runs]


def test_a_window_reads_no_further_than_one_run_behind_the_record():
    read = []
    window = RunWindow(passed(range(100), read))
    assert numbers(window.between(3, 5)) == [3, 4, 5]
    assert read == [*range(7)]
    assert numbers(window.between(5, 6)) == [5, 6]
    assert numbers(window.between(98, 120)) == [98, 99]
    assert window.between(120, 130) == []


def test_every_load_has_its_runs_and_one_without_all_of_them_is_left_out():
    loads = [load(0)._replace(last=1), load(2)._replace(last=3), load(4), load(6)]
    pairs = list(loaded(passed([0, 1, 3, 4, 5], []), loads))
    assert [(own.first, numbers(runs)) for own, runs in pairs] == [(0, [0, 1]), (4, [4])]


@pytest.mark.parametrize("records", [[], [others(1)]])
def test_all_runs_are_read_since_only_the_end_tells_how_many_are_damaged(records):
    loads = [load(seq) for seq in range(3)]
    read = []
    assert [block.record.first for block in covered(passed(range(9), read), loads, records)] == [1] * len(records)
    assert read == [*range(9)]
    read.clear()
    assert len(list(loaded(passed(range(9), read), loads))) == 3
    assert read == [*range(9)]


def test_records_around_the_same_run_both_have_it():
    loads = [load(seq) for seq in range(4)]
    records = [replace(others(0), last=2), replace(others(2), last=3)]
    assert [numbers(block.runs) for block in covered(passed(range(4), []), loads, records)] == [[0, 1, 2], [2, 3]]
