"""The order of pairs of several programs."""

from collections import Counter
from itertools import combinations, islice

import numpy as np
import pytest

from becalm.plans.tournament import tournament


@pytest.mark.parametrize("programs", [2, 3, 4, 5, 8, 9])
def test_every_pair_runs_once_before_any_runs_again(programs: int) -> None:
    pairs = tournament(programs, np.random.default_rng(1))
    every = list(combinations(range(programs), 2))
    for _ in range(3):
        assert sorted(islice(pairs, len(every))) == every


@pytest.mark.parametrize("programs", [4, 5, 8])
def test_programs_have_run_about_equally_often_at_any_time(programs: int) -> None:
    runs: Counter[int] = Counter(dict.fromkeys(range(programs), 0))
    for pair in islice(tournament(programs, np.random.default_rng(2)), 500):
        runs.update(pair)
        assert max(runs.values()) - min(runs.values()) <= 2


def test_the_order_is_random_and_repeats_with_the_seed() -> None:
    def order(seed: int) -> list[tuple[int, int]]:
        return list(islice(tournament(6, np.random.default_rng(seed)), 60))

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert order(1)[:15] != order(1)[15:30]


def test_a_single_program_has_no_pairs() -> None:
    with pytest.raises(ValueError, match="two programs"):
        tournament(1, np.random.default_rng(0))
