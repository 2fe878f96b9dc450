"""At 80 and 120 columns, with names of 100 characters, every table keeps number, name and result."""

import io

import pytest
from msgspec.structs import replace
from rich.table import Table
from tests.unit.analysis.test_multi_host import compared

from becalm.analysis.multi_host import pool
from becalm.nouns.finding import Interval
from becalm.nouns.study import StoredStudy, Study
from becalm.nouns.workload import Workload
from becalm.report import forms, terminal
from becalm.report.table_width import Fitted, Names
from becalm.report.tune.terminal import search_result
from becalm.results.compare import Place, Ranking
from becalm.results.multi_host import HostResult
from becalm.results.suite import Rated, Ratings, Tuning
from becalm.results.survey import PeerGroup, SurveyResult, SurveyRow

LONG = "a-program-with-" + "x" * 75 + "-end-of-it"
ONE = Interval(0.0123, 0.011, 0.014)


def screen(shown, width, encoding="utf-8"):
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    terminal.Screen(file=out, width=width, highlight=False, color_system=None).print(shown)
    out.flush()
    return [line.rstrip() for line in out.buffer.getvalue().decode(encoding).splitlines()]


def comparison():
    """Return four programs with long names, in order."""
    whole = compared(0.05)
    names = [f"{index}{LONG}"[:100] for index in range(4)]
    summaries = tuple(replace(whole.summaries[0], name=name) for name in names)
    differences = tuple(replace(whole.differences[0], name=name, reference=names[0]) for name in names[1:])
    places = tuple(Place(name, index + 1, index + 1, 50) for index, name in enumerate(names))
    return replace(
        whole, summaries=summaries, differences=differences, ranking=Ranking(places, 0.95, None, 0.1), sentence="Said."
    )


def several_hosts():
    hosts = [HostResult(f"ssh://{index}{LONG}"[:100], compared(0.05), index) for index in range(3)]
    return replace(pool("compare", "group", hosts, 0.95, ()), sentence="Said.")


def several_times():
    verdicts = [replace(compared(0.0), kind="run", differences=()) for _ in range(3)]
    hosts = [HostResult(f"ssh://{index}{LONG}"[:100], column, index) for index, column in enumerate(verdicts)]
    return replace(pool("run", "group", hosts, 0.95, ()), sentence="Said.")


def survey():
    rows = tuple(SurveyRow(f"{n}{LONG}"[:100], "CPU", LONG, 9, 2e8, 0.02, ONE, ONE, None, None) for n in range(3))
    kinds = (PeerGroup(LONG[:100], LONG, 9, 2e8, 0.02, 0.01),)
    return SurveyResult("g", 0.05, 0.01, rows, (), kinds, {}, {}, (), "Said.")


def suite():
    rated = tuple(
        Rated(f"{n}{LONG}"[:100], 10**9, (10**8,) * 3, (2 * 10**8,) * 3, 1.234e8, 8.13, 2e8, 9.45, 1.5)
        for n in range(3)
    )
    return Ratings("mine", 7, "local", 3, 4, (Tuning("base", {}, rated, 8.13, 9.45),), "Said.")


def listing():
    study = Study("compare", (Workload.of([LONG]),), (), {}, 1, "local", "")
    return terminal.listing([StoredStudy(1234567, study, 0, "0.1", "known", {}, 98765)])


TABLES = {
    "compare": (comparison, ("reference", "+5.1")),
    "hosts": (several_hosts, ("+5.1",)),
    "times": (several_times, ("1.000 s",)),
    "survey": (survey, ("+1.2", "200.0 ms", " 2.0 %")),
    "suite": (suite, ("8.13", "9.45")),
}


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", TABLES)
def test_every_table_keeps_number_name_and_result(name, width, encoding):
    """In plain letters, too: three dots take more room than the sign that they stand for."""
    make, results = TABLES[name]
    lines = screen(forms.on_terminal(make(), plain=True, columns=width), width, encoding)
    assert max(map(len, lines)) <= width
    rows = [line for line in lines if "a-pr" in line or "a-p…" in line or "a-p..." in line or "ssh://" in line]
    assert len(rows) >= 3
    for wanted in results:
        assert any(wanted in row for row in rows), (wanted, lines)


@pytest.mark.parametrize("width", [80, 120])
def test_a_list_keeps_the_number_the_kind_and_the_runs(width):
    lines = screen(listing(), width)
    (row,) = (line for line in lines if "a-program" in line)
    assert "1234567" in row
    assert "compare" in row
    assert "98,765" in row
    assert row.endswith("-of-it")
    assert max(map(len, lines)) <= width


def test_each_of_several_names_in_a_cell_is_cut():
    names = [f"{end}-{LONG}"[:98] + f"-{end}" for end in "abcdefgh"]
    study = Study("compare", tuple(Workload.of([name]) for name in names[:3]), (), {}, 1, "local", "")
    (_, row) = screen(terminal.listing([StoredStudy(1, study, 0, "0.1", "known", {}, 9)]), 80)
    shown = row.split("  ")[-1].split(" | ")
    assert [(bar[0], bar[-1]) for bar in shown] == [("a", "a"), ("b", "b"), ("c", "c")]
    assert Names(names).within(60).endswith(" | 4 more")
    assert len(Names(names).within(60)) <= 60
    assert Names(["a", "b", LONG]).within(40).startswith("a | b | a-p")
    assert len(Names(["a", "b", LONG]).within(40)) == 40, "a long one has what short ones leave"
    assert Names(["a", "b"]).within(40) == "a | b"
    assert Names([LONG]).within(20).endswith("it")


def test_a_picture_of_intervals_tells_its_names_apart():
    several = comparison()
    names = [f"{LONG[:60]}-{end}" for end in "abc"]
    differences = tuple(replace(column, name=name) for column, name in zip(several.differences, names, strict=True))
    lines = screen(forms.on_terminal(replace(several, differences=differences), plain=True, columns=80), 80)
    pictured = [line.split()[0] for line in lines if line.startswith("a-p") and ":" in line]
    assert [picture[-2:] for picture in pictured] == ["-a", "-b", "-c"]


@pytest.mark.parametrize("width", [80, 120])
def test_a_search_keeps_its_results(study, width):
    named = {
        part: tuple(replace(entry, program=LONG) for entry in getattr(study, part)) for part in ("arms", "comparisons")
    }
    changed = replace(study, programs=(LONG,), host=LONG, **named)
    lines = screen(search_result(changed, plain=True), width)
    assert max(map(len, lines)) <= width
    (chosen,) = (line for line in lines if line.startswith("chosen settings"))
    assert "0.31 %" in chosen
    assert "+2.02 %" in chosen


def test_spare_columns_go_before_names_vanish():
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head, justify in (("name", "left"), ("spare", "right"), ("result", "right")):
        table.add_column(head, justify=justify, no_wrap=True)
    table.add_row(LONG, "123456789012", "42")
    (_, wide), (_, narrow) = (screen(Fitted(table, (0,), (1,)), width) for width in (60, 30))
    assert "123456789012" in wide
    assert "123456789012" not in narrow
    assert narrow.startswith("a-prog")
    assert narrow.endswith("42")
    assert len(table.columns) == 3, "the table itself stays whole"
