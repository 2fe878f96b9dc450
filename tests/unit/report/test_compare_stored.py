"""The table of `compare --stored` at 80 columns: both values, the change and the answer of each benchmark."""

import io

import pytest
from rich.console import Console
from tests.places import ROOT

import becalm
from becalm.report import forms

DATA = ROOT / "tests/data/benchmarks"


@pytest.mark.parametrize("width", [80, 120])
def test_both_values_stay(width):
    comparison = becalm.compare_stored(str(DATA / "pytest-benchmark-1.json"), str(DATA / "pytest-benchmark-2.json"))
    out = io.StringIO()
    Console(file=out, width=width).print(forms.on_terminal(comparison, columns=width))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    head = next(line for line in lines if line.startswith("benchmark"))
    assert head.split()[1:4] == ["old", "new", "change"]
    assert "answer" in head
    assert sum("test_s" in line for line in lines) >= 2
