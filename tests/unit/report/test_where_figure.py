"""The picture of the functions of a comparison."""

import xml.etree.ElementTree

import pytest
from tests.unit.analysis.test_where import NAMES, counts

from becalm.analysis.where import by_counts
from becalm.report.where_figure import functions


def test_functions_that_take_more_and_less_have_their_colours():
    where = by_counts(NAMES, [counts()] * 2, [counts(scan=1_400_000, hash=700_000)] * 2)
    picture = functions(where)
    assert picture.count("var(--alarm)") == 1
    assert picture.count("var(--other)") == 1
    assert "scan +13.33 %; hash -10.00 %" in picture


def test_functions_that_are_not_certain_are_pale():
    where = by_counts(NAMES, [counts(), counts(hash=1_000_200)], [counts(scan=1_000_500)] * 2)
    assert not where.named
    picture = functions(where)
    assert "var(--alarm)" not in picture
    assert "var(--other)" not in picture


@pytest.mark.parametrize(
    "name", ["operator<<(std::ostream&)", "$x^2$", "a\x1b]0;b", "<script>alert(1)</script>", "x" * 300]
)
def test_names_of_functions_stay_names(name):
    renamed = [{(name, "p"): 100_000}] * 2
    picture = functions(by_counts(NAMES, renamed, [{(name, "p"): 200_000}] * 2))
    root = xml.etree.ElementTree.fromstring(picture)
    assert root.tag.endswith("svg")
    assert "<script" not in picture


def test_nothing_is_drawn_without_functions():
    assert functions(by_counts(NAMES, [counts()] * 2, [counts()] * 2)) == ""
