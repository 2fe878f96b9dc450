"""Reports of timed regions: edges of pictures, names of all kinds, every form."""

import io
import json

import numpy as np
import pytest
from matplotlib.patches import StepPatch
from msgspec import structs
from rich.console import Console
from tests.unit.files import region_files

from becalm.analysis.regions_comparison import compare
from becalm.analysis.regions_lengths import gather
from becalm.analysis.regions_overview import overview
from becalm.analysis.regions_variation import report
from becalm.report.forms import as_html, as_json, as_markdown, on_terminal
from becalm.report.regions import figures
from becalm.results.regions import TimerLimit

RNG = np.random.default_rng(1)


def gathered(names, lengths, **changed):
    records = np.concatenate([region_files.regions(region, name) for name, region in enumerate(lengths)])
    return gather([region_files.header(names, **changed), region_files.block(records)])


def drawn(result, width=80, plain=True):
    text = io.StringIO()
    Console(file=text, width=width).print(on_terminal(result, plain=plain, columns=width))
    return text.getvalue()


def of(names, lengths, t_diff=5.0):
    timer = None if t_diff is None else TimerLimit(t_diff, "given")
    return report(gathered(names, lengths), study=3, title="x.regions", timer=timer)


LONG = ("a" * 60 + "1" + "b" * 60, "a" * 60 + "2" + "b" * 60)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_names_that_are_cut_stay_different(width):
    text = drawn(of(LONG, [np.full(50, 300), np.full(50, 900)]), width)
    table = text[text.index("\nRegions") :]
    rows = [line for line in table[: table.index("clock")].splitlines() if line.startswith("aa")]
    assert len({line.split("  ")[0] for line in rows}) == 2
    # The result stays, however little room there is.
    assert {("150 ns" in line, "450 ns" in line) for line in rows} == {(True, False), (False, True)}


def test_the_bars_say_where_they_begin_and_end():
    lengths = np.repeat(np.arange(1_000, 1_200, 20), 30)
    text = drawn(of(("parse",), [lengths]))
    # 2 GHz: from 500 to 590 ns in steps of 1 ns; the last line is an edge and no bar.
    rows = text[text.index("\nparse ", text.index("clock")) :].splitlines()[2:]
    assert rows[0].split()[0] == "500"
    ends = next(index for index, row in enumerate(rows) if row.split()[-1] == "ns")
    assert rows[ends].split() == ["591", "ns"]
    assert sum(int(row.split()[-1]) for row in rows[:ends]) == len(lengths)


def steps(svg):
    """Return the survival line of a picture, as points."""
    from matplotlib.figure import Figure

    assert isinstance(svg, Figure)
    return svg.axes[1].lines[0].get_xydata()


def test_the_pictures_begin_and_end_where_the_data_does(monkeypatch):
    pictures = []
    monkeypatch.setattr(figures, "svg", lambda figure, *_: pictures.append(figure) or "")
    verdict = of(("parse",), [np.concatenate([np.repeat([1_000, 1_100, 1_200], 100), [90_000]])])
    figures.lengths(verdict.regions[0], verdict)
    (bars,) = (patch for patch in pictures[0].axes[0].patches if isinstance(patch, StepPatch))
    edges = bars.get_data().edges
    assert edges[0] == 500.0
    # In whole steps of 1 ns, so the last bin may end later than what it holds.
    assert 600.0 <= edges[-1] <= 600.0 + edges[-1] - edges[-2]
    assert sum(bars.get_data().values) == 300
    line = steps(pictures[0])
    assert line[0].tolist() == [500.0, 1.0]
    assert line[-1].tolist() == [45_000.0, pytest.approx(1 / 301)]
    # "pre": from 500 on to 550 the share is that of those who took at least 550.
    assert pictures[0].axes[1].lines[0].get_drawstyle() == "steps-pre"


NAMES = tuple(f"{'a' * 60}{number}{'b' * 60}" for number in range(2))


def everything_said_of_long_names():
    """Return a report, an overview and a comparison whose sentences and findings name them."""
    lengths = [np.concatenate([np.full(500, 300), np.full(3, 9_000)]), np.full(500, 20)]
    gathered_file, other = gathered(NAMES, lengths), gathered(NAMES[:1], [2 * lengths[0]])
    alone = report(gathered_file, study=3, title="x.regions", timer=TimerLimit(5.0, "given", 1_000.0))
    return (
        alone,
        overview([gathered_file, other], ["x", "y"]),
        compare([gathered_file], [other], titles=(["a"], ["b"]), timer=TimerLimit(5.0, "given")),
    )


@pytest.mark.parametrize("place", range(3))
def test_names_are_whole_but_on_a_terminal(place):
    result = everything_said_of_long_names()[place]
    sentences = [result.sentence, *(finding.sentence for finding in result.findings)]
    assert any(NAMES[0] in text for text in sentences)
    assert not any("…" in text for text in sentences)
    assert json.loads(as_json(result))["sentence"] == result.sentence
    assert NAMES[0] in as_markdown(result)
    assert "…" not in as_markdown(result)
    shown = drawn(result)
    assert NAMES[0] not in shown.replace("\n", "")
    assert "…" in shown


HOSTILE = ("<script>alert(1)</script>", "a|b`c`", "\x1b[31mred", "naïve ✗ 日本語", "", "x" * 3000, "parse", "parse")


def test_every_form_takes_names_of_all_kinds():
    lengths = [RNG.normal(1_000, 30, 40).astype(int) for _ in HOSTILE]
    verdict = of(HOSTILE, lengths, None)
    other = compare(
        [gathered(HOSTILE, lengths)], [gathered(HOSTILE[:3], lengths[:3])], titles=(["a"], ["b"]), timer=None
    )
    for value in (verdict, other):
        for width in (20, 80):
            assert "\x1b[31m" not in drawn(value, width, plain=True).replace("\x1b[0m", "")
        page = as_html(value)
        assert "<script>" not in page
        # What matplotlib writes by itself on logarithmic axes.
        assert "mathdefault" not in page
        assert as_markdown(value)
        assert as_json(value)
    assert len({region.name for region in verdict.regions}) == len(HOSTILE)


def test_a_name_of_one_region_and_one_of_zero_length_are_shown():
    verdict = of(("once", "zero"), [np.array([700]), np.zeros(30, dtype=int)])
    assert "one region" in verdict.sentence
    assert "zero" in drawn(verdict)
    assert "mathdefault" not in as_html(verdict)
    assert structs.replace(verdict, study=None).to_json()["kind"] == "regions"


def test_many_names_are_listed_up_to_a_number_and_the_rest_counted():
    many = [f"name {number}" for number in range(45)]
    text = drawn(of(many, [np.full(30, 300 + number) for number in range(45)]))
    table = text[text.index("Regions") :]
    assert sum(line.startswith("name ") for line in table.splitlines()) == 40
    assert "and 5 more names" in text
    # What takes the most time comes first.
    assert table.index("name 44 ") < table.index("name 20 ")


def test_nothing_of_a_picture_stands_out_of_it(monkeypatch):
    """The room around the axes is fixed: it holds what the longest ticks and names take."""
    pictures = []
    monkeypatch.setattr(figures, "svg", lambda figure, *_: pictures.append(figure) or "")
    verdict = of(("parse",), [RNG.integers(10_000_000, 900_000_000, 700)])
    (region,) = verdict.regions
    crowded = structs.replace(region.histogram, counts=(7_999_999, *region.histogram.counts[1:]))
    figures.lengths(region, verdict)
    figures.lengths(structs.replace(region, histogram=crowded, survival=((1.0, 1.0), (9e9, 1.3e-7))), verdict)
    for picture in pictures:
        picture.canvas.draw()
        width, height = picture.bbox.size
        boxes = [axes.get_tightbbox() for axes in picture.axes]
        assert all(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height for box in boxes)
        assert boxes[0].x1 <= boxes[1].x0


def test_a_page_of_many_names_begins_with_those_that_take_the_most_time():
    many = [f"name {number}" for number in range(45)]
    page = as_html(of(many, [np.arange(300 + number, 330 + number) for number in range(45)]))
    assert "the 8 of 45 names that take the most time" in page
    assert page.count("<svg") == 8
    assert page.index("<h2>name 44</h2>") < page.index("<h2>name 37</h2>") < page.index("<h2>Regions</h2>")
    few = as_html(of(many[:2], [np.arange(300, 330)] * 2))
    assert "most time" not in few
    assert few.index("<h2>Regions</h2>") < few.index("<h2>name 0</h2>")
