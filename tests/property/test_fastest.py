"""Programs that cannot be the fastest are dropped, and a wrong one is called the fastest no more often than stated."""

from __future__ import annotations

import pytest

import fastest

STUDIES = 120
PROGRAMS = 4


@pytest.mark.parametrize("noise", ["normal", "Student t, 3 df", "bursts, Cauchy", "two modes", "drift"])
@pytest.mark.parametrize("rounds", [5, 30])
def test_of_equal_programs_none_is_called_the_fastest(noise: str, rounds: int) -> None:
    """5 % at most: of 120 studies 12 and more would be seen with a probability of 1.8 %. The seeds are fixed."""
    called = [
        fastest.study(fastest.NOISES[noise], PROGRAMS, rounds, 0.0, (7, rounds, seed))[0] for seed in range(STUDIES)
    ]
    assert sum(each is not None for each in called) < 12


@pytest.mark.parametrize(("rounds", "faster"), [(4, 40.0), (40, 2.0)])
def test_the_fastest_is_found_and_not_put_out(rounds: int, faster: float) -> None:
    """Also in four rounds, where it is far ahead."""
    found = [fastest.study(fastest.NOISES["normal"], PROGRAMS, rounds, faster, (8, rounds, seed)) for seed in range(40)]
    assert sum(out for _, out in found) <= 2
    assert sum(winner == 0 for winner, _ in found) >= 30
