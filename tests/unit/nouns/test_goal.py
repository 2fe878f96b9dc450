"""What is wanted of a response."""

import numpy as np
import pytest

from becalm.errors import UsageError
from becalm.nouns.goal import Goal


def test_desirability_is_linear_between_its_limits():
    y = np.array([0.0, 80, 88.5, 97, 200])
    assert Goal.parse("max:80..97").desirability(y) == pytest.approx([0, 0, 0.5, 1, 1])
    assert Goal.parse("min:80..97").desirability(y) == pytest.approx([1, 1, 0.5, 0, 0])
    target = Goal.parse("target:55..57.5..60")
    assert target.desirability(np.array([54, 55, 56.25, 57.5, 59.5, 60])) == pytest.approx([0, 0, 0.5, 1, 0.2, 0])


def test_limits_that_were_not_given_come_from_what_was_seen():
    goal = Goal.parse("min")
    assert not goal.bounded
    assert goal.within(2, 4) == Goal("min", 2, 4)
    assert Goal.parse("max:1..2").within(2, 4) == Goal("max", 1, 2)


@pytest.mark.parametrize("text", ["", "low", "min:5", "max:5..1", "target", "target:1..2", "max:a..b", "min:1..inf"])
def test_what_is_no_goal_is_refused(text):
    with pytest.raises(UsageError, match="no goal of speed"):
        Goal.parse(text, "speed")
