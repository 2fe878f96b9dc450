"""The order of a profile: a pilot, pairs first, what the budget has room for, rounds in which everything runs once."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from becalm.nouns.run import COLUMNS, Run
from becalm.plans.corun import LEAST_ROUNDS, NEIGHBOURS_NS, CoRunCell, cells, chosen_cells, co_runs

SECOND = 10**9


def play(programs, room, solo_ns, budget_ns=None, rounds=None, seed=1, fails=(), limit=200):
    """Play all runs, when each takes what `solo_ns` says; workloads in `fails` fail."""
    some, rows, clock = cells(programs, room), [], 0
    while (block := co_runs(rows, programs, some, budget_ns, rounds, seed)) is not None:
        assert limit > 0
        limit -= 1
        for step in block.steps:
            program = step.workload if step.workload < programs else some[step.workload - programs].program
            outcome = "failed" if step.workload in fails else "ok"
            value = dict.fromkeys(COLUMNS) | {
                "seq": len(rows), "workload": step.workload, "round": step.round, "started_ns": clock,
                "wall_ns": solo_ns[program], "outcome": outcome, "left_behind": 0, "metrics": None,
            }  # fmt: skip
            rows.append(Run(**value))
            clock += solo_ns[program] + (NEIGHBOURS_NS if step.workload >= programs else 0)
    return rows, some


@given(st.integers(2, 9), st.integers(2, 4))
def test_every_pair_is_there_both_ways_before_larger_sets(programs, room):
    cell_rows = cells(programs, room)
    sizes = [len(cell.together) for cell in cell_rows]
    assert sizes == sorted(sizes)
    assert set(cell_rows) == set(dict.fromkeys(cell_rows))
    pairs = {(cell.program, cell.alongside[0]) for cell in cell_rows if len(cell.alongside) == 1}
    assert pairs == {(a, b) for a in range(programs) for b in range(programs) if a != b}
    assert max(sizes) == min(programs, room)


def test_pairs_come_again_on_one_core_before_larger_sets_and_are_chosen_by_themselves():
    cell_rows = cells(3, 3, threads=True)
    assert [len(cell.alongside) for cell in cell_rows] == [1] * 12 + [2] * 3
    assert [cell.same_core for cell in cell_rows] == [False] * 6 + [True] * 6 + [False] * 3
    assert len(set(cell_rows)) == len(cell_rows)
    alone = dict.fromkeys(range(3), 1e9)
    few = chosen_cells(alone, cell_rows, 6 * (3 + 3 * 2 * 1.4) * 1e9)
    assert {cell.same_core for cell in few} == {False}
    assert len(few) == 6


@given(st.integers(3, 9), st.integers(1, 40))
def test_of_the_pairs_that_are_chosen_each_program_is_in_about_equally_many(programs, seconds):
    affordable = chosen_cells(dict.fromkeys(range(programs), 1e8), cells(programs, 2), seconds * SECOND)
    assert affordable
    often = Counter(cell.program for cell in affordable)
    if len(affordable) >= 2 * programs:
        assert max(often.values()) - min(often[number] for number in range(programs)) <= 2


def test_more_time_measures_more_and_without_a_limit_all():
    some = cells(4, 3)
    counts = [len(chosen_cells(dict.fromkeys(range(4), 1e8), some, budget)) for budget in (1, 10e9, 60e9, 600e9)]
    assert counts == sorted(counts)
    assert counts[0] == 2
    assert counts[-1] == len(some) == len(chosen_cells(dict.fromkeys(range(4), 1e8), some, None))


def test_a_program_that_fails_alone_is_alongside_nobody():
    rows, some = play(3, 2, [10**8] * 3, rounds=2, fails={1})
    later = {run.workload for run in rows if run.round >= 0}
    assert later == {0, 2, *(3 + place for place, cell in enumerate(some) if cell.together == (0, 2))}


def test_with_fewer_than_two_that_end_well_nothing_is_measured():
    rows, _ = play(2, 2, [10**8] * 2, rounds=5, fails={1})
    assert {run.round for run in rows} == {-2, -1}


def test_in_a_round_everything_runs_once_in_another_order():
    rows, some = play(3, 2, [10**8] * 3, rounds=8)
    orders = set()
    for number in range(8):
        mine = [run.workload for run in rows if run.round == number]
        assert sorted(mine) == list(range(3 + len(some)))
        orders.add(tuple(mine))
    assert len(orders) == 8
    again, _ = play(3, 2, [10**8] * 3, rounds=8)
    assert again == rows


def test_the_budget_is_kept_and_has_the_rounds_that_coins_need():
    budget = 60 * SECOND
    rows, some = play(3, 2, [2 * 10**8] * 3, budget_ns=budget)
    assert rows[-1].started_ns + rows[-1].wall_ns <= budget
    assert max(run.round for run in rows) + 1 >= LEAST_ROUNDS
    assert {run.workload for run in rows} == set(range(3 + len(some)))


def test_a_cell_that_only_fails_is_given_up():
    some = cells(3, 2)
    place = 3 + some.index(CoRunCell(0, (1,)))
    rows, _ = play(3, 2, [10**8] * 3, rounds=6, fails={place})
    assert sum(run.workload == place for run in rows) == 2
    assert max(run.round for run in rows) == 5


@pytest.mark.parametrize("budget", [1, SECOND])
def test_one_round_of_one_pair_is_measured_however_short_the_budget(budget):
    rows, _ = play(4, 2, [SECOND] * 4, budget_ns=budget)
    assert {run.round for run in rows} == {-2, -1, 0}
