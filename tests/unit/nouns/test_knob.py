"""The engine's catalogue as Python reads it."""

import pytest

from becalm.errors import UsageError
from becalm.nouns.knob import Knob, at_boot, catalogue, find, knobs_by_name
from becalm.nouns.settings import Settings
from becalm.nouns.tables import rows

HERE = {"supported": True, "reason": None, "value": None}
"""The fields that a machine adds."""


def test_every_row_is_read_and_rows_of_a_later_engine_are_too():
    assert [row.name for row in catalogue()] == [row["name"] for row in rows("knobs")]
    first = rows("knobs")[0]
    assert Knob.from_json({**first, "invented_later": 7}) == catalogue()[0]
    assert all(Knob.from_json(row).to_json() == {**HERE, **row} for row in rows("knobs"))
    here = Knob.from_json({**first, "supported": False, "reason": "no", "value": None})
    assert (here.supported, here.reason) == (False, "no")


@pytest.mark.parametrize(
    ("name", "value", "needs"),
    [
        ("nice", -5, True), ("nice", 5, False), ("nice", 0, False), ("io_priority", "realtime:0", True),
        ("io_priority", "best-effort:0", False), ("policy", "rr:1", True), ("policy", "batch", False),
        ("aslr", "off", False), ("slice_ns", 3_000_000, False), ("drop_caches", True, True), ("swappiness", 10, True),
        ("isolcpus", "last-core", True),
    ],
)  # fmt: skip
def test_which_values_an_ordinary_user_may_not_set(name, value, needs):
    assert knobs_by_name()[name].needs_rights(value) is needs


def test_rows_tell_which_knobs_are_set_at_boot():
    assert at_boot(Settings.of({"nice": 1, "isolcpus": "1", "swappiness": 5})) == Settings.of({"isolcpus": "1"})
    assert {row.name for row in catalogue() if row.boot is not None} == {
        row.name for row in catalogue() if row.scope == "boot"
    }
    assert [row.name for row in catalogue() if row.boot is not None and row.boot.binds] == ["isolcpus"]


def test_a_name_that_does_not_exist_has_a_neighbour():
    with pytest.raises(UsageError, match="Did you mean 'swappiness'"):
        find(catalogue(), "swapiness")
