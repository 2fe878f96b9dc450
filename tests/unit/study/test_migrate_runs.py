"""Runs that are moved meanwhile: each by its arm, at one moment a round, and who measures sees runs like any others."""

from becalm.hosts.null import NullHost
from becalm.hosts.recorded import Recording
from becalm.study.migrate_recorded import MoveRequest
from becalm.study.migrate_runs import ARMS, Moving


def test_moments_are_drawn_once_a_round_and_after_the_windows_that_are_learnt():
    moving = Moving(NullHost(), NullHost(), MoveRequest(), Recording(window_ns=5_000_000), 1_000_000_000, seed=4)
    moments = [moving.moment(number) for number in range(200)]
    assert moments == [moving.moment(number) for number in range(200)]
    assert len(set(moments)) == 200
    assert all(0.05 <= moment <= 0.8 for moment in moments)
    assert min(moments) < 0.1
    assert max(moments) > 0.75
    assert tuple(ARMS) == ("not moved", "at a random moment", "at a sweet spot")
