"""Programs of several that can still be the fastest."""

import numpy as np
import pytest

from becalm.stats.elimination import FEW, Elimination


def rounds(count, means, noise=0.01, seed=1):
    """Return logarithms of times in random order within each round, and positions."""
    rng = np.random.default_rng(seed)
    order = np.array([rng.permutation(len(means)) for _ in range(count)])
    position = np.empty((len(means), count), dtype=np.int32)
    for number, index in enumerate(order):
        position[index, number] = number * len(means) + np.arange(len(means))
    wall = np.array(means)[:, None] + noise * rng.standard_normal((len(means), count))
    return list(wall), list(position)


def looked(count, means, **more):
    race = Elimination(len(means), 0.05)
    wall, position = rounds(count, means, **more)
    race.look(wall, position, range(len(means)), 1.0)
    return race, wall, position


def test_slower_programs_are_out_and_the_others_are_ranked():
    race, wall, position = looked(60, [0.0, 0.001, 0.5, 0.7])
    assert [race.out(index) for index in range(4)] == [False, False, True, True]
    assert [race.ranks(index) for index in range(4)] == [(1, 2), (1, 2), (3, 3), (4, 4)]
    assert race.order(wall)[2:] == [2, 3]
    (rival,) = race.rivals(wall, position)
    assert rival.rounds > 60
    assert 0 < rival.most < 0.02


@pytest.mark.parametrize("count", [3, 4, FEW])
def test_a_few_rounds_show_what_is_far_apart(count):
    assert looked(count, [0.0, 0.7, 1.4])[0].ranks(0) == (1, 1)


def test_two_rounds_show_nothing():
    assert looked(2, [0.0, 0.7, 1.4])[0].ranks(0) == (1, 3)


def test_differences_that_agree_by_chance_prove_nothing():
    """Noise that hits a program always alike within a pair is seen in the others."""
    race = Elimination(3, 0.05)
    rng = np.random.default_rng(5)
    third = 0.3 * rng.standard_normal(4)
    same = np.zeros(4)
    race.look([same, same + 0.2, third], rounds(4, [0, 0, 0])[1], range(3), 1.0)
    assert not race.slower.any()


def test_looks_need_new_rounds_and_spend_no_more_than_there_is():
    race = Elimination(2, 0.05)
    wall, position = rounds(40, [0.0, 0.0])
    assert race.due(1)
    for count in (2, 8, 40):
        race.look([series[:count] for series in wall], [series[:count] for series in position], range(2), count / 40)
        assert not race.due(count)
    assert race.due(50)


def test_one_that_was_retired_keeps_its_rounds():
    race, wall, position = looked(20, [0.0, 0.01, 0.5])
    longer, places = rounds(80, [0.0, 0.01, 0.5])
    assert race.out(2)
    race.look([*longer[:2], wall[2]], [*places[:2], position[2]], (0, 1), 1.0)
    assert race.order([*longer[:2], wall[2]])[-1] == 2
