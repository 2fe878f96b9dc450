"""Loads in the store, over both databases, and stores of before there were any."""

import pytest
from tests.places import ROOT
from tests.suites.store_loads import *  # noqa: F403

from becalm.load.record import Load, load_of

DATA = ROOT / "tests" / "data/store"


def test_columns_are_taken_by_name():
    names = ["scope", "level", "first", "of_a_newer_one", "last", "started_ns", "interval_ns", "samples"]
    assert load_of(names, ["tree", 2, 1, 99, 3, 4, 5, 0]) == Load(1, 3, 4, 5, samples=0, level=2, scope="tree")
    with pytest.raises(KeyError):
        load_of(names[1:], [2, 1, 99, 3, 4, 5, 0])
    with pytest.raises(ValueError, match="interval_ns"):
        load_of(names, ["tree", 2, 1, 99, 3, 4, None, 0])
