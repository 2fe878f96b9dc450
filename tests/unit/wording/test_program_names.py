"""Names of programs: whole, on one line and different for different programs; cut on the terminal alone."""

import csv
import io
import json

import pytest
from markdown_it import MarkdownIt
from rich.console import Console
from tests.support.pages import drawn_once, pages  # noqa: F401

import becalm
from becalm.nouns.workload import Workload
from becalm.report import forms
from becalm.report.formats import FORMATS, read
from becalm.verbs.records import written
from becalm.wording.program_names import distinct_names, names_of, program_labels, visible_name
from becalm.wording.short_names import brief, short, shortened

LONG = "parse --input " + "a/very/deep/directory/" * 6 + "file.json"


def program(name, **parameters):
    return Workload((name,), name, parameters=tuple(sorted(parameters.items())))


def test_names_are_whole_and_those_of_one_name_carry_what_differs():
    alike = [program("b", threads="1", size="9"), program("b", threads="2", size="9"), program(LONG)]
    assert names_of(alike) == ("b (threads=1)", "b (threads=2)", LONG)
    assert program_labels([program("two\nlines"), *alike])[:2] == ["two\nlines", "b (threads=1)"]


def test_packages_stand_before_names():
    parameters = [(("package", "p/a"),), (("package", "p/b"),), (("package", "p/b"), ("tags", "x"))]
    assert distinct_names([("X", parameter) for parameter in parameters]) == ("p/a.X", "p/b.X", "p/b.X (tags=x)")


def test_long_names_that_differ_in_the_middle_are_cut_where_they_begin_to_differ():
    names = [
        f"github.com/gofiber/fiber/v2/middleware/{package}.BenchmarkUnmarshalitem" for package in ("cache", "csrf")
    ]
    assert short(names) == ("…cache.BenchmarkUnmarshalitem", "…csrf.BenchmarkUnmarshalitem")
    assert short(["a" * 50 + "x" + "b" * 50, "a" * 50 + "y" + "b" * 50]) == (
        "aaaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbbbb [1]",
        "aaaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbbbb [2]",
    )


def test_names_that_nothing_tells_apart_are_numbered_without_taking_the_name_of_another():
    assert distinct_names([("a", ()), ("a [1]", ()), ("a", ())]) == ("a [2]", "a [1]", "a [3]")


@pytest.mark.parametrize(
    ("name", "visible"),
    [("", '""'), ("  ", '"  "'), ("\u200b", '"\\u200b"'), ("a\nb", "a\\nb"), ("\x1b[1m", "\\x1b[1m"), ("ok", "ok")],
)
def test_invisible_characters_are_written_out(name, visible):
    assert visible_name(name) == visible


@pytest.fixture
def compared(store):
    """Compare programs with names that break tables."""
    names = [LONG, "pipe | new\nline", "  "]
    return becalm.compare(
        ["spin 20ms", "spin 21ms", "spin 22ms"], names=names, host="sim:normal", runs=12, seed=1, fastest=False
    )


def test_json_and_markdown_have_whole_names_one_row_each(compared):
    value = compared.to_json()
    assert [summary["name"] for summary in value["summaries"]] == [LONG, "pipe | new\\nline", '"  "']
    assert value["differences"][0]["reference"] == LONG
    assert LONG in value["sentence"] or LONG in value["differences"][0]["sentence"]
    tokens = MarkdownIt("commonmark").enable("table").parse(forms.as_markdown(compared))
    cells = [token.content for token in tokens if token.type == "inline"]
    assert cells.count(f"`{LONG}`") >= 1
    assert any("new\\nline" in cell for cell in cells)
    assert '`" "`' in cells, "a blank name has a visible cell"


def test_the_terminal_cuts_them(compared):
    shown = shortened(compared)
    text = shown.sentence + "".join(
        difference.name + difference.reference + difference.sentence for difference in shown.differences
    )
    assert LONG not in text
    assert max(len(summary.name) for summary in shown.summaries) <= 40
    assert shortened(shown) == shown
    assert [difference.estimate for difference in shown.differences] == [
        difference.estimate for difference in compared.differences
    ]


@pytest.mark.usefixtures("drawn_once", "store")
def test_programs_of_one_name_are_told_apart_in_every_form(tmp_path):
    results = [{"command": "b", "times": [n, n + 0.1], "parameters": {"delay": n}} for n in (0.1, 0.2)]
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"results": results}))
    becalm.import_(path)
    shown = becalm.show().verdict
    assert [summary.name for summary in shown.summaries] == ["b (delay=0.1)", "b (delay=0.2)"]
    rows = list(csv.DictReader(io.StringIO(becalm.export(format="csv"))))
    assert {row["program"] for row in rows} == {"b (delay=0.1)", "b (delay=0.2)"}
    assert {row["started_ns"] for row in rows} == {""}, "nobody knows when they began"
    exported = json.loads(becalm.export(format="hyperfine"))["results"]
    assert [(program["command"], program["parameters"]) for program in exported] == [
        ("b", {"delay": "0.1"}),
        ("b", {"delay": "0.2"}),
    ]
    names = [benchmark["metadata"]["name"] for benchmark in json.loads(becalm.export(format="pyperf"))["benchmarks"]]
    assert names == ["b (delay=0.1)", "b (delay=0.2)"], "pyperf refuses two of one name"


def test_foreign_formats_hold_no_half_of_a_surrogate_pair(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"results": [{"command": "caf\udce9", "times": [1, 2]}]}))
    (document,) = read(path)
    for row in FORMATS:
        if row.name in ("hyperfine", "pyperf", "csv"):
            text = written(document, row)
            assert "caf\\\\xe9" in text or "caf\\xe9" in text
            assert "udce9" not in text


@pytest.mark.usefixtures("store")
def test_a_search_has_whole_names_and_its_screen_cut_ones():
    program = Workload(("spin", "1ms"), LONG)
    tuned = becalm.tune([program], host="sim:laptop-a", seed=7, budget="20s", only=("nice",))
    assert tuned.programs == (LONG,)
    assert {arm.program for arm in tuned.arms} <= {LONG}
    screen = Console(width=100, file=io.StringIO(), color_system=None)
    screen.print(forms.on_terminal(tuned, plain=True))
    assert LONG not in screen.file.getvalue().replace("\n", "")
    cut = brief(tuned, tuned.programs)
    assert len(cut.programs[0]) <= 40
    assert {arm.program for arm in cut.arms} <= {cut.programs[0]}
