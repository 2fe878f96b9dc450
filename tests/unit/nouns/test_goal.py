"""Goals of a response."""

import pytest

from becalm.errors import UsageError
from becalm.nouns.goal import Goal


def test_limits_that_were_not_given_come_from_what_was_seen():
    goal = Goal.parse("min")
    assert not goal.bounded
    assert goal.within(2, 4) == Goal("min", 2, 4)
    assert Goal.parse("max:1..2").within(2, 4) == Goal("max", 1, 2)


@pytest.mark.parametrize("text", ["", "low", "min:5", "max:5..1", "target", "target:1..2", "max:a..b", "min:1..inf"])
def test_invalid_goals_are_refused(text):
    with pytest.raises(UsageError, match="not a goal of speed"):
        Goal.parse(text, "speed")
