"""Metrics recorded next to the compared one, on the terminal, in the page and in JSON."""

import io
import json
import math

import pytest
from msgspec.structs import replace
from rich.console import Console

import becalm
from becalm.nouns.metric import Better
from becalm.report import compare as measured
from becalm.report import forms
from becalm.results.compare import MetricDifference, from_json
from becalm.wording.metric import further_cells


def difference(**changes):
    values = {
        "name": "new",
        "reference": "old",
        "metric": "user time",
        "unit": "s",
        "better": Better.LOWER,
        "means": (0.04487, 0.07003),
        "estimate": 0.554,
        "low": 0.486,
        "high": 0.658,
        "pairs": 10,
    }
    return MetricDifference(**{**values, **changes})


@pytest.fixture(name="compared")
def _compared():
    def compare(count):
        programs = [f"spin {20 + index}ms" for index in range(count)]
        names = [f"program {index}" for index in range(count)]
        verdict = becalm.compare(programs, names=names, host="sim:normal", runs=12, seed=1, store=False)
        further = [
            difference(name=name, **changes)
            for name in names[1:]
            for changes in ({}, {"metric": "faults", "unit": "", "means": (0.0, 0.0), "estimate": math.nan})
        ]
        return replace(verdict, further=tuple(further))

    return compare


def on_terminal(verdict):
    console = Console(file=io.StringIO(), width=80, highlight=False)
    console.print(measured.on_terminal(verdict, plain=True))
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("changes", "cells"),
    [
        ({}, ("44.87 ms", "70.03 ms", "+55.4 %", "+48.6 to +65.8 %")),
        ({"low": -math.inf, "high": math.inf}, ("44.87 ms", "70.03 ms", "+55 %", "too few runs")),
        (
            {"means": (0.0, 0.0), "unit": "", "estimate": math.nan, "low": -math.inf, "high": math.inf},
            ("0", "0", "", "none in either"),
        ),
        (
            {"means": (0.0, 2.5), "unit": "", "estimate": math.nan, "low": -math.inf, "high": math.inf},
            ("0", "2.500", "", "no percentage of 0"),
        ),
    ],
)
def test_cells_say_what_is_known(changes, cells):
    assert further_cells(difference(**changes)) == cells


def test_two_programs_need_no_column_of_names(compared):
    text = on_terminal(compared(2))
    head = next(line for line in text.splitlines() if "other metrics" in line)
    assert head.split() == ["other", "metrics", "reference", "mean", "difference", "95", "%", "interval"]
    assert any(line.split()[:2] == ["user", "time"] for line in text.splitlines())
    assert max(map(len, text.splitlines())) <= 80


def test_of_several_programs_each_name_stands_once(compared):
    lines = on_terminal(compared(3)).splitlines()
    start = next(place for place, line in enumerate(lines) if "other metrics" in line)
    assert [line.startswith("program") for line in lines[start : start + 5]] == [True, True, False, True, False]


def test_the_page_lists_them_escaped(compared):
    verdict = compared(2)
    hostile = difference(name="<b>new</b>", metric="<script>")
    page = forms.as_html(replace(verdict, further=(hostile,)))
    assert "Other metrics" in page
    assert "<script>" not in page.partition("Other metrics")[2].partition("</table>")[0]


def test_json_gives_them_back(compared):
    verdict = compared(2)
    assert from_json(json.loads(json.dumps(verdict.to_json()))).further[0] == verdict.further[0]
    assert math.isnan(from_json(json.loads(json.dumps(verdict.to_json()))).further[1].estimate)
