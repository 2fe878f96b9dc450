"""Tasks played through on chips: what the table says, exactly; without neighbours once these have ended."""

import pytest

from becalm.errors import UsageError
from becalm.placement import place
from becalm.placement.corun import play
from becalm.placement.model import costs, published
from becalm.results.place_costs import Chip, CoRunCosts, CostOrigin, PairCost, PlacementObjective, SetCosts, Task

KNOWN = published()
PAIR = CoRunCosts(CostOrigin.GIVEN, pairs=(PairCost("a", "b", 0.5), PairCost("b", "a", 0.2)))


@pytest.mark.parametrize("method", ["di", "linux", "random"])
def test_a_fixed_placement_gives_the_tables_value(method):
    programs = KNOWN.programs[1:]
    tasks, chips = [program.task for program in programs], [Chip(4)] * 2
    table = costs(programs, KNOWN.cache, [1, 2, 3, 4])
    assert len(table.sets) == 8 + 28 + 56 + 70
    placed = place(tasks, chips, table, method=method)
    played = play(tasks, chips, table, placed.sharing)
    assert played.mean == pytest.approx(placed.cost, abs=1e-12)
    assert played.degradation == pytest.approx(placed.degradation, abs=1e-12)
    assert played.unfairness == pytest.approx(placed.unfairness)
    slower = place(tasks, chips, table, method=method, objective=PlacementObjective.SLOWDOWN)
    assert played.cost(PlacementObjective.SLOWDOWN) == pytest.approx(slower.cost, abs=1e-12)
    assert min(played.runs.values()) == 3
    # The longest is waited for, the others begin again meanwhile.
    assert max(played.runs.values()) > 3


def test_remaining_tasks_run_alone_after_a_drain():
    # a at half its speed until b has ended, at 10/0.8 = 12.5 s; then what is left of its 20 s, at its own speed.
    played = play([Task("a", 20.0), Task("b", 10.0)], [Chip(2)], PAIR, [("a", "b")], drain=True)
    assert played.run_s["b"] == pytest.approx(12.5)
    assert played.run_s["a"] == pytest.approx(12.5 + (20 - 12.5 * 0.5))
    assert played.degradation["a"] == pytest.approx(1 - 20 / played.run_s["a"])
    assert played.end_s == played.run_s["a"]
    assert (played.events, dict(played.runs)) == (2, {"a": 1, "b": 1})


def test_a_job_takes_as_long_as_its_slowest_process():
    sets = (SetCosts(("a", "b"), (0.5, 0.2)), SetCosts(("a", "a"), (0.1, 0.1)))
    table = CoRunCosts(CostOrigin.GIVEN, sets)
    tasks, chips = [Task("a", 1.0, 2), Task("b", 1.0)], [Chip(2), Chip(1)]
    played = play(tasks, chips, table, [("a", "b"), ("a",)])
    assert played.run_s["a"] == pytest.approx(2.0)
    assert place(tasks, chips, table).sharing == (("a", "a"), ("b",))


@pytest.mark.parametrize(
    ("tasks", "sharing", "words"),
    [
        ([Task("a"), Task("b", 1.0)], [("a", "b")], "The time that a takes alone is not known"),
        ([Task("a", 1.0), Task("b", 1.0)], [("a",)], "b is not placed"),
        ([Task("a", 1.0), Task("b", 1.0)], [("a", "a")], "a is placed more often"),
        ([Task("a", 1.0), Task("b", 1.0)], [("a", "b"), ()], "has 2 chips, and the machine has 1"),
        ([Task("a", 1.0), Task("b", 1.0)], [("a", "b", "b")], "room for 2 processes, and 3"),
        ([Task("a", 1e-9), Task("b", 1e9)], [("a", "b")], "Simulate tasks whose times differ less"),
    ],
)
def test_invalid_sharings_are_refused_in_a_sentence(tasks, sharing, words):
    with pytest.raises(UsageError, match=r"\.$") as refused:
        play(tasks, [Chip(2)], PAIR, sharing)
    assert words in str(refused.value)
