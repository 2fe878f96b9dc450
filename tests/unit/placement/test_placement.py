"""Deciding who shares a chip: DI's ranks, ModLP on two chips, optima found by trial, bounds, and bad input."""

from itertools import combinations, permutations

import numpy as np
import pytest

from becalm.errors import UsageError
from becalm.nouns.placement import Chip, CoRunCosts, Objective, Origin, PairCost, SetCosts, Task, in_rounds
from becalm.placement import exact, place
from becalm.placement.found import Search
from becalm.placement.problem import Problem


def ranked(count):
    return [Task(f"{rank}", 1.0, pressure=float(count - rank)) for rank in range(1, count + 1)]


def pairs_of(matrix):
    names = [f"{each}" for each in range(1, len(matrix) + 1)]
    return CoRunCosts(
        Origin.GIVEN,
        pairs=tuple(
            PairCost(one, other, float(matrix[i][j]))
            for (i, one), (j, other) in permutations(list(enumerate(names)), 2)
        ),
    )


def drawn_pairs(count, seed=0):
    return pairs_of(np.random.default_rng(seed).uniform(0, 0.05, (count, count)))


def test_di_puts_ranks_1_8_3_6_together():
    placed = place(ranked(8), [Chip(4)] * 2, None, method="di")
    assert [set(map(int, names)) for names in placed.sharing] == [{1, 8, 3, 6}, {2, 7, 4, 5}]


def test_di_takes_ties_in_order_and_passes_over_full_chips():
    tasks = [Task(name, pressure=1.0) for name in "abcde"]
    assert place(tasks, [Chip(1), Chip(4)], None, method="di").sharing == (("a",), ("b", "c", "d", "e"))


def test_linux_spreads_by_what_is_busy():
    placed = place(ranked(4), [Chip(4), Chip(2)], None, method="linux")
    assert [len(names) for names in placed.sharing] == [3, 1]


def test_modlp_on_two_chips_takes_the_smallest_differences():
    tasks, found = ranked(8), drawn_pairs(8, 5)
    placed = place(tasks, [Chip(4)] * 2, found, method="modlp")
    lost = {(each.task, each.beside): each.cost for each in found.pairs}
    home = [("1", "8", "3", "6"), ("2", "7", "4", "5")]

    def cost(task, chip):
        members = home[chip]
        if task in members:
            return sum(lost[task, other] for other in members if other != task)
        return np.mean([sum(lost[task, other] for other in members if other != gone) for gone in members])

    order = sorted((each.name for each in tasks), key=lambda name: cost(name, 0) - cost(name, 1))
    assert set(placed.sharing[0]) == set(order[:4])


def by_trial(tasks, room, found):
    """The least mean cost on two chips."""
    problem = Problem.of(tasks, [Chip(room)] * 2, found, Objective.DEGRADATION)
    everyone = set(range(len(problem.item)))
    sharings = [(one, tuple(everyone - set(one))) for one in combinations(sorted(everyone), room)]
    return min(problem.worth(sharing)[0] for sharing in sharings)


def test_the_optimum_is_the_least_of_all():
    for seed in range(3):
        found = drawn_pairs(6, seed)
        assert place(ranked(6), [Chip(3)] * 2, found).cost == pytest.approx(by_trial(ranked(6), 3, found))


def test_jobs_of_several_processes_cost_their_slowest():
    tasks = [Task(name, 1.0, 2, 1.0) for name in "abc"]
    random = np.random.default_rng(2)
    both = [*permutations("abc", 2), *((name, name) for name in "abc")]
    found = CoRunCosts(Origin.GIVEN, pairs=tuple(PairCost(*each, float(random.uniform(0, 0.3))) for each in both))
    least = by_trial(tasks, 3, found)
    assert place(tasks, [Chip(3)] * 2, found).cost == pytest.approx(least)
    assert place(tasks, [Chip(3)] * 2, found, method="swap").cost == pytest.approx(least)


def test_ways_to_the_optimum_agree():
    tasks, found, chips = ranked(12), drawn_pairs(12, 1), [Chip(3)] * 4
    problem = Problem.of(tasks, chips, found, Objective.DEGRADATION)
    search = Search(0, 20.0)
    table = exact.by_table(problem)
    columns = exact.by_columns(problem, search)
    generated = exact.by_generation(problem, search)
    best = problem.worth(table.sharing)[0]
    assert problem.worth(columns.sharing)[0] == pytest.approx(best)
    assert columns.bound == pytest.approx(best)
    assert problem.worth(generated.sharing)[0] == pytest.approx(best, rel=0.01)
    assert generated.bound <= best + 1e-9


def test_a_planted_optimum_is_found_and_proved():
    # Five in a group cost each other the least there is; all others more.
    random = np.random.default_rng(4)
    groups = random.permutation(30) % 6
    least = 0.005
    matrix = least + np.where(groups[:, None] == groups, 0.0, random.exponential(0.02, (30, 30)))
    tasks, found = ranked(30), pairs_of(matrix)
    placed = place(tasks, [Chip(5)] * 6, found, method="swap", seed=1)
    assert placed.cost == pytest.approx(4 * least)
    assert {frozenset(groups[int(name) - 1] for name in names) for names in placed.sharing} == {
        frozenset([group]) for group in range(6)
    }
    proved = place(tasks, [Chip(5)] * 6, found, method="optimal", budget_s=20.0)
    assert proved.cost == pytest.approx(4 * least)
    assert proved.gap < 1e-6


def test_degradation_and_slow_down_may_have_other_optima():
    sets = {("a", "b"): (0.6, 0.0), ("c", "d"): (0.0, 0.0), ("a", "c"): (0.4, 0.3), ("b", "d"): (0.0, 0.0)}
    sets |= {("a", "d"): (0.9, 0.9), ("b", "c"): (0.9, 0.9)}
    found = CoRunCosts(Origin.GIVEN, tuple(SetCosts(names, lost) for names, lost in sets.items()))
    tasks, chips = [Task(name, 1.0) for name in "abcd"], [Chip(2)] * 2
    assert place(tasks, chips, found).sharing == (("a", "b"), ("c", "d"))
    assert place(tasks, chips, found, objective="slowdown").sharing == (("a", "c"), ("b", "d"))


def test_rounds_separate_what_one_cache_cannot():
    tasks, found = ranked(4), drawn_pairs(4, 3)
    rounds = in_rounds([Chip(2)], 4)
    assert place(tasks, rounds, found).cost == pytest.approx(place(tasks, [Chip(2)] * 2, found).cost)


PAIR = CoRunCosts(Origin.GIVEN, pairs=(PairCost("1", "2", 0.1), PairCost("2", "1", 0.1)))


@pytest.mark.parametrize(
    ("tasks", "chips", "found", "more", "words"),
    [
        ([], [Chip(2)], PAIR, {}, "no task"),
        (ranked(3), [Chip(2)], PAIR, {}, "in 2 rounds"),
        (ranked(3), [], PAIR, {}, "no chip"),
        (ranked(3), [Chip(3)], PAIR, {}, "1 beside 3, 2 beside 3 and 3 beside 1 and 1 more"),
        (ranked(3), [Chip(3)], PAIR, {"method": "swap"}, "What 1 loses beside 3 is not known, one of 4"),
        (ranked(2), [Chip(2)], PAIR, {"method": "best"}, "There is no placement 'best'. There are: optimal, swap"),
        (ranked(2), [Chip(2)], PAIR, {"budget_s": 0}, "budget of a placement is 0"),
        (ranked(2), [Chip(2)], PAIR, {"objective": "speed"}, "no objective 'speed'"),
        (ranked(2), [Chip(1, 4)], PAIR, {}, "more than two threads"),
        ([Task("1"), Task("1")], [Chip(2)], PAIR, {}, "Two tasks are called 1"),
    ],
)
def test_what_cannot_be_placed_is_refused_in_a_sentence(tasks, chips, found, more, words):
    with pytest.raises(UsageError, match=r"\.$") as refused:
        place(tasks, chips, found, **more)
    assert words in str(refused.value)


def test_a_search_that_is_out_of_time_says_so_and_gives_what_it_has():
    count = 200
    placed = place(ranked(count), [Chip(8)] * 25, drawn_pairs(count), method="swap", budget_s=0.001)
    assert placed.out_of_time
    assert sum(map(len, placed.sharing)) == count
