"""Tables of a filled design."""

from types import SimpleNamespace

import pytest

from becalm.nouns.domain import Scale
from becalm.nouns.factor import Factor
from becalm.report.design.tables import places
from becalm.results.design_fit import SurfacePoint


@pytest.fixture
def along():
    """Places along a factor, at these coded levels."""

    def made(name, *coded):
        factor = Factor(name, 1e6, 1e8, "ns", Scale.LOG, True)
        some = tuple(SurfacePoint((at,), (factor.natural(at),), 1.0) for at in coded)
        return places(SimpleNamespace(factors=(factor,)), SimpleNamespace(name="time"), "A path", some)

    return made


def test_places_outside_of_the_ranges_are_marked_and_those_that_cannot_be_set(along):
    table = along("sched_latency_ns", -2.5, -1.5, 0.0, 1.5, 2.5)
    assert [row[-1] for row in table.rows] == ["not allowed", "outside", "", "outside", "not allowed"]
    assert "no setting that the kernel takes" in table.note
    # What is no knob can be anything.
    assert [row[-1] for row in along("width", -2.5, 0.0, 2.5).rows] == ["outside", "", "outside"]


def test_places_of_which_a_surface_says_nothing_are_counted(along):
    table = along("sched_latency_ns", 0.0, 2.0, 4.0, 9.0, 60.0)
    assert len(table.rows) == 2
    assert "3 places more lie farther from the middle than 3 times" in table.note
    assert not along("sched_latency_ns", 40.0, 60.0).rows
