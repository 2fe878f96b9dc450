"""Deciding who shares a chip: DI's ranks, ModLP on two chips, optima found by trial, bounds, and bad input."""

import numpy as np
import pytest
from tests.support.placements import drawn_pairs, ranked

from becalm.errors import UsageError
from becalm.placement import place
from becalm.results.place_costs import Chip, CoRunCosts, CostOrigin, PairCost, Task


def test_di_puts_ranks_1_8_3_6_together():
    placed = place(ranked(8), [Chip(4)] * 2, None, method="di")
    assert [set(map(int, names)) for names in placed.sharing] == [{1, 8, 3, 6}, {2, 7, 4, 5}]


def test_di_takes_ties_in_order_and_passes_over_full_chips():
    tasks = [Task(name, pressure=1.0) for name in "abcde"]
    assert place(tasks, [Chip(1), Chip(4)], None, method="di").sharing == (("a",), ("b", "c", "d", "e"))


def test_linux_spreads_by_what_is_busy():
    placed = place(ranked(4), [Chip(4), Chip(2)], None, method="linux")
    assert [len(names) for names in placed.sharing] == [3, 1]


def test_di_lp_on_two_chips_takes_the_smallest_differences():
    tasks, cost_table = ranked(8), drawn_pairs(8, 5)
    placed = place(tasks, [Chip(4)] * 2, cost_table, method="di-lp")
    lost = {(pair.task, pair.alongside): pair.cost for pair in cost_table.pairs}
    home = [("1", "8", "3", "6"), ("2", "7", "4", "5")]

    def cost(task, chip):
        members = home[chip]
        if task in members:
            return sum(lost[task, other] for other in members if other != task)
        return np.mean([sum(lost[task, other] for other in members if other != gone) for gone in members])

    order = sorted((task.name for task in tasks), key=lambda name: cost(name, 0) - cost(name, 1))
    assert set(placed.sharing[0]) == set(order[:4])


PAIR = CoRunCosts(CostOrigin.GIVEN, pairs=(PairCost("1", "2", 0.1), PairCost("2", "1", 0.1)))


@pytest.mark.parametrize(
    ("tasks", "chips", "result", "more", "words"),
    [
        ([], [Chip(2)], PAIR, {}, "no task"),
        (ranked(3), [Chip(2)], PAIR, {}, "in 2 rounds"),
        (ranked(3), [], PAIR, {}, "no chip"),
        (ranked(3), [Chip(3)], PAIR, {}, "1 next to 3, 2 next to 3 and 3 next to 1 and 1 more"),
        (
            ranked(3),
            [Chip(3)],
            PAIR,
            {"method": "swap"},
            "slowdowns of 4 pairs are not known, for example of 1 next to 3",
        ),
        (ranked(2), [Chip(2)], PAIR, {"method": "best"}, "There is no placement 'best'. There are: optimal, swap"),
        (ranked(2), [Chip(2)], PAIR, {"budget_s": 0}, "budget of a placement must be above 0 s, not 0"),
        (ranked(2), [Chip(2)], PAIR, {"objective": "speed"}, "no objective 'speed'"),
        (ranked(2), [Chip(1, 4)], PAIR, {}, "more than two threads"),
        ([Task("1"), Task("1")], [Chip(2)], PAIR, {}, "Two tasks are called 1"),
    ],
)
def test_impossible_placements_are_refused_in_a_sentence(tasks, chips, result, more, words):
    with pytest.raises(UsageError, match=r"\.$") as refused:
        place(tasks, chips, result, **more)
    assert words in str(refused.value)
