"""Small pictures: all runs are in them or, of many, the extremes of each stretch; far runs do not stretch them."""

import re

import pytest

from becalm.report.site.run_plot import MOST, runs_in_order, sparkline


def dots(picture, name):
    path = re.search(rf'class="{name}" d="([^"]*)"', picture)
    points = re.findall(r"M([\d.-]+) ([\d.-]+)h0", path[1] if path else "")
    return [(float(x), float(y)) for x, y in points]


def test_every_run_is_a_dot_in_its_order():
    points = dots(runs_in_order([1.0, 3.0, 2.0]), "dots")
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert [y for _, y in points] == [80, 4, 42]


@pytest.mark.parametrize("values", [[], [1.0], [1.0, float("nan")]])
def test_fewer_than_two_runs_give_no_picture(values):
    assert runs_in_order(values) == ""


def test_equal_runs_are_in_the_middle():
    assert {y for _, y in dots(runs_in_order([5.0] * 4), "dots")} == {42}


def test_a_far_run_is_at_the_edge_and_marked():
    picture = runs_in_order([1.0, 1.1, 1.2, 1.05, 1.15, 900.0])
    assert dots(picture, "dots far") == [(636, 4)]
    assert len({y for _, y in dots(picture, "dots")}) == 5


def test_of_many_runs_the_extremes_stay():
    values = [1.0 + 0.001 * (place % 10) for place in range(100_000)]
    values[54_321] = 0.9
    picture = runs_in_order(values)
    assert 0 < len(dots(picture, "dots")) + len(dots(picture, "dots far")) <= MOST
    assert len(dots(picture, "dots far")) == 1


def test_a_sparkline_marks_changes():
    picture = sparkline([1.0, 1.0, 1.5, 1.5], [(2, True), (3, False)])
    assert picture.count("<circle") == 2
    assert re.search(r'class="worse" cx="106.0" cy="2.0"', picture)


def test_a_sparkline_of_small_scatter_is_flat():
    heights = [float(y) for y in re.findall(r" ([\d.]+)", re.search(r'd="M([^"]*)"', sparkline([100.0, 100.1]))[1])]
    assert abs(heights[0] - heights[1]) < 2


def test_a_sparkline_without_values_is_empty():
    assert sparkline([float("nan")]) == ""
