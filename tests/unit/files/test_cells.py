"""Cells of CSV: none is a formula of a spreadsheet, and a reader that is none gets what was written."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from becalm.files.cells import FORMULA, Line, harmless, original_text, table_text, write_rows

FORMULAS = ["=cmd|'/C calc'!A0", "+1+1", "@SUM(1)", '=HYPERLINK("http://x")', "-2+3", " =1", "\t=1", "\r=1", "\tx",
            "＝1+1", "-O2", "--flag", "=", "-", "+1,5"]  # fmt: skip
PLAIN = ["", "a=b", "gzip -5", "1+1", "'quoted'", "-1", "+2.5e-3", "-.5", "1e9", " ", "a@b"]
TEXTS = st.text(max_size=12) | st.text(alphabet="=+-@'\"\t\r\n,;1.e a", max_size=8)


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_gets_an_apostrophe(text):
    assert harmless(text) == "'" + Line.escape(text)


@pytest.mark.parametrize("text", PLAIN)
def test_numbers_and_other_texts_stay(text):
    assert harmless(text) == text
    assert original_text(text) == text


@given(st.lists(st.lists(TEXTS | st.integers() | st.none(), min_size=1, max_size=3), max_size=3))
def test_no_cell_of_a_table_is_a_formula(rows):
    read = list(csv.reader(io.StringIO(table_text(rows), newline=""), strict=True))
    assert [len(row) for row in read if row] == [len(row) for row in rows]
    for cell in (cell for row in read for cell in row):
        number = cell.lstrip("+-").replace(".", "", 1).replace("e", "", 1).replace("E", "", 1)
        assert cell.lstrip()[:1] not in tuple(FORMULA) or number.replace("+", "").replace("-", "").isdecimal()
        assert "\n" not in cell
        assert not cell.startswith(("\t", "\r"))


@given(st.lists(st.lists(st.text(max_size=8), min_size=2, max_size=3), max_size=3))
def test_raw_cells_are_the_texts(rows):
    out = io.StringIO(newline="")
    write_rows(out, rows, raw=True, end="\r\n")
    assert list(csv.reader(io.StringIO(out.getvalue(), newline=""))) == rows


@given(TEXTS.map(Line.escape))
def test_a_level_is_read_as_it_was_meant(text):
    assert original_text(harmless(text)) in (text, text.removeprefix("'"))
