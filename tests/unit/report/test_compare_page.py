"""The page of `run` and `compare`, a notebook, columns: complete, escaped, for one program and for many."""

import re
import sys
import types

import pytest
from msgspec import structs
from tests.support.page_elements import Page

import becalm
from becalm.errors import UsageError
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.report import compare_figures as figures
from becalm.report import forms
from becalm.report.notebook import fragment
from becalm.study.circumstances import circumstances
from becalm.wording.printable import cut, distinct, width_of

HOSTILE = ("<script>alert(1)</script>", "a & b 'c' \"d\"", "\x1b[31mred", "no UTF-8: \udcff", "x" * 300)


def compared(count=3, names=(), runs=12, **options):
    return becalm.compare(
        [f"spin {20 + index % 5}ms" for index in range(count)],
        names=names or [f"program {index}" for index in range(count)],
        host="sim:normal", runs=runs, seed=1, store=False, **options,
    )  # fmt: skip


def test_a_comparison_has_all_pictures():
    elements = Page(forms.as_html(compared()))
    # Forest and violins for a desk and a phone, the distribution of each but the reference, the course of each.
    assert elements.names.count("svg") == 2 * 2 + 2 + 3
    assert "program 2" in elements.text
    assert "script" not in elements.names


def test_one_program_has_no_forest():
    elements = Page(forms.as_html(becalm.run("spin 20ms", host="sim:normal", runs=30, seed=1, store=False)))
    assert elements.names.count("svg") == 2 + 2


def test_of_many_programs_the_first_are_drawn_and_all_are_in_the_table(monkeypatch):
    monkeypatch.setattr(figures, "MOST", 3)
    page = forms.as_html(compared(6, runs=2))
    assert "The first 3 of 6 programs." in page
    assert all(f"program {index}<" in page for index in range(6))
    # Violins, distributions but that of the reference, courses; of two runs there are no intervals.
    assert Page(page).names.count("svg") == 2 + 2 + 3


def test_nothing_of_a_picture_stands_out_of_it(monkeypatch):
    """The room around the axes holds the longest names, and ticks of all sizes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    pictures = []
    monkeypatch.setattr(figures, "svg", lambda figure, *_: pictures.append(figure) or "")
    verdict = compared(2, names=("W" * 40, "gzip"))
    for factor in (1e-7, 37.0, 1e12):
        summaries = [
            structs.replace(
                summary,
                name=summary.name[:8] if factor > 1 else summary.name,
                quantiles=tuple(factor * value for value in summary.quantiles),
                course=tuple(factor * value for value in summary.course),
                histogram=structs.replace(
                    summary.histogram, low=factor * summary.histogram.low, high=factor * summary.histogram.high
                ),
                median_ns=structs.replace(summary.median_ns, value=factor * summary.median_ns.value),
            )
            for summary in verdict.summaries
        ]
        scaled = structs.replace(verdict, summaries=tuple(summaries))
        figures.violins(scaled)
        figures.distributions(structs.replace(scaled, summaries=(summaries[1],)))
        figures.courses(structs.replace(scaled, summaries=(summaries[1],)))
    figures.ratios(verdict.differences)
    figures.ratios(verdict.differences, width=figures.NARROW)
    figures.violins(verdict, figures.NARROW)
    assert len(pictures) == 3 * 3 + 3
    for picture in pictures:
        FigureCanvasAgg(picture).draw()
        width, height = picture.bbox.size
        (axes,) = picture.axes
        box = axes.get_tightbbox()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height


def test_names_of_all_kinds_are_escaped():
    verdict = compared(len(HOSTILE), names=HOSTILE, runs=3)
    page = forms.as_html(verdict)
    assert "<script" not in page
    assert "\x1b" not in page
    shown = fragment(verdict)
    assert "<script" not in shown
    assert "\x1b" not in shown
    Page(shown)


def test_ids_of_pictures_are_unique():
    page = forms.as_html(compared(2))
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_a_page_without_runs_to_draw_has_fewer_pictures():
    value = compared().to_json()
    for summary in value["summaries"]:
        summary["quantiles"], summary["course"] = [], []
    verdict = becalm.results.compare.from_json({**value, "runs": {}})
    assert Page(forms.as_html(verdict)).names.count("svg") == 2


def with_tail(verdict, program, factor):
    """Return the verdict with a longest run that is `factor` times as long, which its histogram only counts."""
    (*before, last) = verdict.summaries[program].quantiles
    summary = verdict.summaries[program]
    far = structs.replace(
        summary, quantiles=(*before, factor * last), course=(*summary.course[:-1], factor * last),
        histogram=structs.replace(summary.histogram, above=1),
    )  # fmt: skip
    summaries = list(verdict.summaries)
    summaries[program] = far
    return structs.replace(verdict, summaries=tuple(summaries))


def test_an_axis_shows_the_body_and_the_tail_is_reported():
    verdict = compared(2)
    far = with_tail(verdict, 1, 50)
    assert figures.body(far) == figures.body(verdict)
    assert re.fullmatch(r"1 above, to 1\.\d+ s", figures.tail(far, far.summaries[1], figures.body(far)))
    assert figures.tail(verdict, verdict.summaries[0], figures.body(verdict)) == ""
    assert "1 above, to 1." in forms.as_html(far)
    # What is far in one program and usual in another is no tail.
    slow = becalm.compare(["spin 1ms", "spin 20ms"], host="sim:normal", runs=12, seed=1, store=False)
    low, high = figures.body(slow)
    assert low < 1.2e6
    assert high > 19e6


def test_a_program_has_one_colour_in_all_pictures():
    verdict = compared(3)
    colors = [figures.color_of(verdict, summary) for summary in verdict.summaries]
    assert len(set(colors)) == 3
    assert figures.color_of(structs.replace(verdict, differences=()), verdict.summaries[2]) == colors[2]


def test_the_page_says_when_where_and_what_was_measured():
    verdict = becalm.compare(
        ["spin 20ms", "spin 21ms"], names=["old", "new"], host="sim:laptop-a", runs=4, seed=1, store=False,
        environment={"LEVEL": "a b"},
    )  # fmt: skip
    page = Page(forms.as_html(verdict)).text
    assert verdict.circumstances.when_ns > 1.7e18
    for text in ("Measured", " UTC", "Commands", "LEVEL='a b' spin 21ms", "CPU time"):
        assert text in page, text
    again = becalm.results.compare.from_json({**verdict.to_json(), "runs": {}})
    assert again.circumstances == verdict.circumstances


def test_circumstances_are_those_of_the_facts():
    facts = {
        "host": {"hostname": "vm"}, "cpu": {"model": "Xeon", "count": 2}, "kernel": {"release": "6.1.0"},
        "memory": {"total_bytes": 8 * 2**30},
    }  # fmt: skip
    program = Workload.of(["./prog", "a b"], directory="/x y", input="in")
    about = circumstances(Study("run", (program,)), facts, 5)
    assert (about.machine, about.processor, about.kernel) == ("vm", "Xeon, 2 CPUs, 8 GiB", "6.1.0")
    assert about.commands == ("cd '/x y' && ./prog 'a b' < in",)
    assert circumstances(Study("run", (program,)), {}, None).processor == ""


def test_changes_are_in_percent_and_large_ones_factors():
    labels = [figures._change(ratio, 0) for ratio in (1.0, 1.02, 0.5, 4.0, 10.0)]
    assert labels == ["0 %", "+2 %", "-50 %", "+300 %", "10-fold"]


def test_no_line_of_a_page_ends_within_an_option():
    verdict = structs.replace(compared(2), sentence="Measure: --budget 3min. <b>\nThen --no-load, --runs N.")
    page = forms.as_html(verdict)
    assert '<span class="option">--budget 3min</span>. &lt;b&gt;' in page
    assert '<span class="option">--no-load</span>, <span class="option">--runs N</span>.' in page


def test_json_keeps_what_is_drawn():
    comparison = compared()
    again = becalm.results.compare.from_json(comparison.to_json())
    assert again.summaries[0].quantiles == comparison.summaries[0].quantiles
    assert again.summaries[0].course == comparison.summaries[0].course


def test_columns_and_data_frames(monkeypatch, store):
    comparison = becalm.compare(["spin 20ms", "spin 21ms"], host="sim:normal", runs=5, seed=1, store=store)
    assert becalm.columns(comparison)["name"] == ["spin 20ms", "spin 21ms"]
    assert becalm.columns(comparison, "differences")["answer"] == [str(comparison.differences[0].answer)]
    runs = becalm.columns(comparison, "runs", store=store)
    assert len({len(run) for run in runs.values()}) == 1
    assert set(runs["program"]) == {"spin 20ms", "spin 21ms"}
    with pytest.raises(UsageError, match="no columns of 'nothing'"):
        becalm.columns(comparison, "nothing")
    with pytest.raises(UsageError, match="not stored"):
        becalm.columns(compared(), "runs")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="install pandas"):
        becalm.data_frame(comparison)
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=lambda value: ("frame", value)))
    assert becalm.data_frame(comparison) == ("frame", dict(becalm.columns(comparison)))


@pytest.mark.parametrize("width", [4, 10, 34, 40])
def test_names_that_are_cut_stay_different(width):
    names = ["a" * 100 + "x" * 50, "a" * 100 + "y" + "x" * 49, "a" * 30 + "b" * 90 + "x" * 30, "short", "日本" * 40]
    palette = distinct(names, width)
    assert len(set(palette)) == len(names)
    assert palette[3] == cut("short", width)
    assert all(width_of(colour) <= max(width, 5) for colour in palette)


def test_equal_names_stay_equal_and_numbers_never_collide():
    assert distinct(["a" * 50] * 2, 10)[0] == distinct(["a" * 50] * 2, 10)[1]
    names = ["aaaa" + "b" * 50 + "cccc", "aaaa" + "d" * 50 + "cccc", cut("aaaa" + "b" * 50 + "cccc", 6) + " [1]"]
    assert len(set(distinct(names, 10))) == 3
