"""Thresholds of the detector and of the wait that are typed."""

import pytest

from becalm.errors import UsageError
from becalm.migration import rules
from becalm.verbs.sweetspots import asked


def test_thresholds_are_one_over_the_factors():
    question = asked("published", None, 0.05, 0.25)["rules"]
    assert (question["change"], question["others_factor"]) == ({"jump": {"factor": 20.0}}, 4.0)
    assert asked("rise", None, None, 0.2)["rules"]["others_factor"] == 5.0
    assert asked("rise", None)["rules"] == {"window_ns": 5_000_000}


@pytest.mark.parametrize(
    ("name", "s1", "s2", "message"),
    [
        ("rise", 0.1, None, "S1 applies to the published rules"),
        ("published", 0.0, None, "S1 is a share of references between 0 and 1, not 0"),
        ("rise", None, 1.0, "S2 is a share"),
    ],
)
def test_thresholds_that_are_none_are_refused(name, s1, s2, message):
    with pytest.raises(UsageError, match=message):
        asked(name, None, s1, s2)


def test_the_cost_of_a_wait_is_parsed_or_refused():
    assert rules.waiting_cost(None, None) == {}
    assert rules.waiting_cost(0.5, "64.5ns") == {"reuse": 0.5, "miss_ns": 64.5}
    assert rules.waiting_cost(None, "1us") == {"miss_ns": 1000.0}
    for reuse, cost in ((1.5, None), (None, "many"), (None, "-3ns")):
        with pytest.raises(UsageError):
            rules.waiting_cost(reuse, cost)
