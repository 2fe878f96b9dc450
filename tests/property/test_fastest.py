"""Programs that cannot be the fastest are dropped, and a wrong one is called the fastest no more often than stated."""

from __future__ import annotations

import functools

import pytest
from tests.rates import at_least, at_most
from tests.samples import samples

import fastest
from becalm.stats import elimination
from becalm.stats.sequential import ErrorSpending

STUDIES = samples(50, 1000)
PROGRAMS = 4
NOISES = ("normal", "Student t, 3 df", "bursts, Cauchy", "two modes", "drift")


class RememberedSpending(ErrorSpending):
    """An `ErrorSpending` that computes the critical values of the same looks once: all studies here look alike."""

    known: dict[tuple[float, ...], float] = {}  # noqa: RUF012

    def __init__(self, alpha: float) -> None:
        super().__init__(alpha)
        self._looks: tuple[float, ...] = (alpha,)

    def look(self, fraction: float, information: float) -> float:
        self._looks = (*self._looks, fraction, information)
        if self._looks not in self.known:
            fresh = ErrorSpending(self.alpha)
            for place in range(1, len(self._looks), 2):
                self.known[self._looks] = fresh.look(*self._looks[place : place + 2])
        return self.known[self._looks]


@pytest.fixture(autouse=True)
def remembered_spending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elimination, "ErrorSpending", RememberedSpending)


@functools.cache
def wrong_winners(noise: str, rounds: int) -> int:
    """Return in how many studies of equal programs one is called the fastest."""
    seeds = ((7, rounds, seed) for seed in range(STUDIES))
    winners = [fastest.study(fastest.NOISES[noise], PROGRAMS, rounds, 0.0, seed)[0] for seed in seeds]
    return sum(winner is not None for winner in winners)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("rounds", [5, 30])
def test_of_equal_programs_none_is_called_the_fastest(noise: str, rounds: int) -> None:
    assert wrong_winners(noise, rounds) <= at_most(STUDIES, 0.05, 0.01)


@pytest.mark.parametrize("rounds", [5, 30])
def test_of_equal_programs_none_is_called_the_fastest_under_all_noises(rounds: int) -> None:
    wrong = sum(wrong_winners(noise, rounds) for noise in NOISES)
    assert wrong <= at_most(STUDIES * len(NOISES), 0.05, 0.01)


@pytest.mark.parametrize(("rounds", "faster"), [(4, 40.0), (40, 2.0)])
def test_the_fastest_is_found_and_not_put_out(rounds: int, faster: float) -> None:
    """Four rounds are enough where one program is far ahead."""
    studies = samples(30, 500)
    results = [
        fastest.study(fastest.NOISES["normal"], PROGRAMS, rounds, faster, (8, rounds, seed)) for seed in range(studies)
    ]
    assert sum(out for _, out in results) <= at_most(studies, 0.025, 0.01)
    assert sum(winner == 0 for winner, _ in results) >= at_least(studies, 0.8, 0.05)
