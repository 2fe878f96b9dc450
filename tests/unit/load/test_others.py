"""Records of what other processes took."""

import pytest

from becalm.load.others import Others, OthersReading, ProcessUse

OTHERS = Others(
    3,
    5,
    (
        OthersReading(10**9, (ProcessUse(7, "cc1", "user.slice", 5 * 10**8),), 10, 20, 4 * 10**8, 3 * 10**8),
        OthersReading(10**8, (ProcessUse(None, "sh", "", 10**7, 12), ProcessUse(8, "x", "", 9))),
    ),
)


def test_the_form_of_the_agent_is_read_and_written():
    assert Others.from_json(OTHERS.to_json()) == OTHERS
    assert "wait_ns" not in OTHERS.to_json()["readings"][1]
    event = {"event": "others", "first": 1, "last": 1, "readings": []}
    assert Others.from_json(event) == Others(1, 1, ())


@pytest.mark.parametrize(
    ("name", "value"),
    [("taken", [["7", "a", "", 1]]), ("taken", [[7, 1, "", 1]]), ("taken", [[7]]), ("rest_ns", None), ("taken", 5)],
)
def test_another_form_is_refused(name, value):
    reading = {"interval_ns": 1, "rest_ns": 0, "elsewhere_ns": 0, "taken": [], name: value}
    with pytest.raises((ValueError, TypeError, KeyError)):
        OthersReading.from_json(reading)
