"""Rounds where the sets are too many to be listed are filled by the engine."""

from tests.support.placements import random_problem

from becalm.placement import rounds as rounds_module
from becalm.placement.result import PlacementSearch
from becalm.placement.rounds import plan

SEARCH = PlacementSearch(0, 10.0)


def test_more_sets_than_can_be_listed_are_filled_by_what_tasks_lose(monkeypatch):
    rounds = random_problem(8, 1)
    monkeypatch.setattr(rounds_module, "MOST_SETS", 10)
    planned = plan(rounds, SEARCH)
    assert planned.bound is None
    assert sorted(member for members in planned.sharing for member in members) == list(range(8))
    monkeypatch.undo()
    assert rounds.total_s(planned.sharing) >= rounds.total_s(plan(rounds, SEARCH).sharing) - 1e-9
