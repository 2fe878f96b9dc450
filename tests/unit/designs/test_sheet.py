"""Files of spreadsheets."""

import math

import pytest

from becalm.designs.assemble import assemble
from becalm.designs.sheet import read
from becalm.errors import UsageError
from becalm.nouns.factor import Factor
from becalm.nouns.options.design import DesignOptions

HEAD = 'run,standard,block,point,time=80..90min,"policy=other,batch",y\n'


def test_a_design_is_read_back_as_it_was_written():
    factors = [Factor.parse(name) for name in ("time=80..90min", "slice=0.1..100ms:log", "policy=other,batch")]
    design = assemble("central", factors, DesignOptions(blocks=2, responses=("y", "cv")), 3)
    filled = design.csv.replace(",,\n", ",3.25,0.5\n")
    worksheet = read(filled, "x.csv")
    assert worksheet.factors == design.factors
    for row, run in zip(worksheet.coded, design.runs, strict=True):
        assert row == pytest.approx(run.coded, abs=1e-9)
    assert worksheet.blocks == tuple(run.block for run in design.runs)
    assert worksheet.order == tuple(run.run for run in design.runs)
    assert worksheet.responses == {"y": (3.25,) * 28, "cv": (0.5,) * 28}


def test_levels_that_look_like_formulas_are_read_back():
    factors = [Factor.parse(name) for name in ("time=80..90min", "flags=-O2,=x")]
    design = assemble("factorial", factors, DesignOptions(responses=("y",)), 3)
    assert ",'-O2," in design.csv
    assert ",-O2," in design.to_csv(raw=True)
    for written in (design.csv, design.to_csv(raw=True)):
        worksheet = read(written.replace(",\n", ",3.25\n"), "x.csv")
        assert worksheet.factors == design.factors
        assert worksheet.coded == tuple(run.coded for run in design.runs)


def test_worksheets_saved_by_spreadsheets_are_read():
    plain = HEAD + "2,1,1,cube,80,other,5.5\n1,2,1,cube,90,batch,6\n"
    windows = "\ufeff" + plain.replace("\n", "\r\n") + ",,,,,,\r\n"
    german = "run;standard;block;point;time=80..90min;policy=other,batch;y\n"
    german += "2;1;1;cube;80,0;other;5,5\n1;2;1;cube;90;batch;6\n"
    tabs = german.replace(";", "\t")
    for text in (windows, german, tabs):
        assert read(text, "x.csv") == read(plain, "x.csv")


def test_columns_of_other_programs():
    worksheet = read(
        "a,b,y,note\n1,low,3,first\n2,high,4,\n", "x.csv", [Factor.parse("a=1..2"), Factor.parse("b=low,high")]
    )
    assert worksheet.coded == ((-1.0, 0.0), (1.0, 1.0))
    assert (worksheet.blocks, worksheet.order) == ((1, 1), (1, 2))
    assert list(worksheet.responses) == ["y"]
    named = read("a=1..2,block,y,z\n1,mon,3,x\n2,tue,4,\n", "x.csv", responses=["y"])
    assert named.blocks == (1, 2)
    assert list(named.responses) == ["y"]


def test_empty_cells_of_a_response_are_missing():
    worksheet = read("a=1..2,y\n1,3\n2,\n1.5,4\n", "x.csv")
    assert worksheet.missing("y") == 1
    assert math.isnan(worksheet.responses["y"][1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a=1..2,y\n", "no runs"),
        ("a,y\n1,2\n", "has no factors"),
        ("a=1..2\n1\n", "no column of measured values"),
        ("a=1..2,y\n1,2,3\n", "line 2: 3 cells under 2 headings"),
        ("a=1..2,y\n1,2\n,3\n", "line 3: the cell of a is empty"),
        ("a=1..2,y\n1,2\n2,fast\n", "line 3, column y: 'fast' is not a number"),
        ("a=1..2,y\n1,nan\n", "line 2, column y: 'nan' is not a number"),
        ("a=1..2,y\none,2\n", "line 2, column a: 'one' is not a number"),
        ('"a=p,q",y\nr,2\n', "line 2: a is one of p, q"),
        ("a=1..2:log,y\n0,2\n", "line 2: 0 cannot be on the logarithmic scale"),
        ("a=2..1,y\n1,2\n", "lower to a higher"),
        ("a=1..2,a=1..2,y\n1,1,2\n", "named twice"),
    ],
)
def test_errors_in_a_worksheet_name_their_place(text, message):
    with pytest.raises(UsageError, match=message):
        read(text, "x.csv")


def test_columns_that_are_asked_for_and_not_there():
    with pytest.raises(UsageError, match=r"no column 'z' to fit\. It has: y"):
        read("a=1..2,y\n1,2\n", "x.csv", responses=["z"])
    with pytest.raises(UsageError, match="no column 'b'"):
        read("a=1..2,y\n1,2\n", "x.csv", [Factor.parse("b=1..2")])


def test_a_run_that_was_copied_is_not_taken_for_a_repeated_one():
    first, other = "1,1,1,cube,80,other,5.5\n", "2,2,1,cube,90,other,6\n"
    with pytest.raises(UsageError, match=r"line 4: run 1 is already in line 2.*a number of its own"):
        read(HEAD + first + other + first, "x.csv")
    once_more = [HEAD + first + other + row for row in ("3,3,1,cube,80,other,5.5\n", "1,1,2,cube,80,other,5.5\n")]
    assert [len(read(text, "x.csv").coded) for text in once_more] == [3, 3]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a=1..2;y\n1;1,234\n2;5,678\n", "1,234, which is ambiguous"),
        ("a=1..2\ty\n1\t1,234\n2\t5\n", "1,234, which is ambiguous"),
        ("a=1..2;y\n1;1.234\n2;12,5\n", r"commas \(12,5\) and with points \(1\.234\)"),
        ('a=1..2,y\n1,"1,234"\n2,5\n', "'1,234' has separators"),
        ("a=1..2,y\n1,1_000\n2,5\n", "'1_000' has separators"),
    ],
)
def test_numbers_that_can_be_read_in_two_ways_are_refused(text, words):
    with pytest.raises(UsageError, match=words):
        read(text, "x.csv")


def test_commas_are_decimals_where_they_cannot_be_thousands():
    assert read("a=1..2;y\n1;1,234\n2;12,5\n", "x.csv").responses == {"y": (1.234, 12.5)}
