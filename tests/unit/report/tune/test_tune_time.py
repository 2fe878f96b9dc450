"""The report of a search for the fastest settings: a study of a simulated machine, once for all tests."""

import html
import io
import json
import re

import pytest
from msgspec.structs import replace
from rich.console import Console
from tests.support.pages import undrawn  # noqa: F401

from becalm.nouns.excluded import Excluded
from becalm.report.forms import as_html, as_markdown, on_terminal
from becalm.report.tune import figures, response, tables
from becalm.results.export_settings import ProductionPlan, SettingPlace, Where
from becalm.results.tune import from_json
from becalm.results.tune_arms import TUNED
from becalm.verbs.tune import tune

FACTORS = (
    "sched_min_granularity_ns=100000..1000000000ns:log",
    "sched_latency_ns=100000..1000000000ns:log",
)
LONG = "hackbench --groups 5 --threads --pipe --loops 10000"


@pytest.fixture(scope="module")
def verdict(tmp_path_factory):
    store = str(tmp_path_factory.mktemp("time") / "runs.db")
    return tune(
        [LONG], host="sim:scheduler", seed=7, minimize="time", factors=FACTORS, confirm_loops=6, budget="none",
        store=store,
    )  # fmt: skip


@pytest.fixture(scope="module")
def page(verdict):
    return as_html(verdict)


def screen(verdict, width, plain=False):
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, color_system=None)
    console.print(on_terminal(verdict, plain=plain, columns=width))
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_no_number_name_or_result_is_lost_on_the_terminal(verdict, width):
    lines = [line.rstrip() for line in screen(verdict, width).splitlines()]
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    words = " ".join(text.split())
    for factor in FACTORS:
        assert factor.partition("=")[0] in words
    best = next(comparison for comparison in verdict.comparisons if comparison.arm == TUNED)
    row = next(line for line in lines if line.startswith("chosen settings"))
    arm = next(arm for arm in verdict.arms if arm.name == best.arm)
    for cell in (response.gain(verdict, best)[0], response.deviation(verdict, arm), "2."):
        assert cell in row
    answers = "Before and after", "Effect of each setting", "(time in seconds)", "becalm export-settings"
    for part in (*answers, "Best place", "Models", "Analysis of variance", "lack of fit", "Coefficients"):
        assert part in words
    assert "ratio" not in row
    assert "nan" not in words


def test_markdown_has_the_tables_of_the_surface_and_every_trial(verdict):
    text = as_markdown(verdict)
    for part in ("Canonical analysis", "Analysis of variance", "Trials", "Runs"):
        assert f"## {part}" in text
    assert "| 10 ms | 10 ms |" in text, "levels are said in a unit that people read"


def test_the_page_has_every_picture_of_the_surface_and_of_the_confirmation(page):
    titles = " ".join(re.findall(r"<title>(.*?)</title>", page))
    for part in ("Single runs of", "Times the time of", "Time of each of", "at the corners of", "Lines of equal time",
                 "as a surface over", "through the best place", "normal scores", "Leverage of", "best λ"):  # fmt: skip
        assert part in titles, part
    assert "spread" not in titles
    assert "<script" not in page
    assert "mean time before" in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_the_same_is_drawn_of_what_was_stored(verdict, page):
    again = from_json(verdict.to_json())
    assert screen(again, 100) == screen(verdict, 100)
    assert as_html(again) == page


def test_a_search_without_a_surface_has_a_report(verdict):
    plain = from_json({**verdict.to_json(), "fit": None})
    assert "time in seconds" not in screen(plain, 100)
    assert "Lines of equal" not in as_html(plain)


def test_levels_are_said_as_people_read_them():
    assert tables.level_text("sched_latency_ns", 146_704_694) == "146.7 ms"
    assert tables.level_text("swappiness", 10) == "10"
    assert tables.level_text("turbo", "off") == "off"
    assert tables.level_text("of nobody", 3) == "3"


def test_many_trials_are_told_by_those_that_matter(verdict):
    stored = verdict.to_json()
    trials = [{**stored["trials"][1], "number": n, "best": n % 50 == 0} for n in range(1, 1001)]
    many = from_json({**stored, "trials": trials})
    assert len(tables.trials(many).rows) == 20
    assert "Shown are those of 1000 trials" in tables.trials(many).note
    assert "1000 trials in the order" in figures.course(many)


def test_the_interval_of_a_mean_time_is_drawn_where_it_is(verdict):
    unit, size = figures._scale(verdict)
    assert (unit, size) == ("s", 1e9)
    picture = figures.scatter(verdict, verdict.programs[0])
    assert "[1]" not in picture, "rows without a name have no number in its place"
    assert "mean time, s" in picture
    # Two to three seconds, known to a percent: nothing is drawn at 0.
    ticks = re.findall(r">([0-9.]+)</text>", picture[picture.index("axes_2") :])
    assert ticks
    assert all(1.9 < float(tick) < 3.1 for tick in ticks)


PLAN = ProductionPlan(
    "bench1",
    "5.10.0",
    (
        SettingPlace(
            "sched_latency_ns",
            Where.SYSCTL,
            "/proc/sys/kernel/sched_latency_ns",
            "146704694",
            "12000000",
            "the time in which every runnable task gets a turn",
        ),
    ),
    (Excluded("aslr", "systemd has no property for it"),),
)


@pytest.mark.usefixtures("undrawn")
def test_files_for_production_are_in_the_page_and_in_markdown(verdict, page):
    changed = replace(verdict, production=PLAN)
    assert from_json(json.loads(json.dumps(changed.to_json()))).production == PLAN
    for text in (as_html(changed), as_markdown(changed)):
        plain = html.unescape(text)
        assert "What to put into production" in plain
        assert "kernel.sched_latency_ns = 146704694" in plain
        assert "sysctl --write kernel.sched_latency_ns=12000000" in plain
        assert "systemd has no property for it" in plain
        assert f"/etc/sysctl.d/90-becalm-{verdict.study}.conf" in plain
        assert "runs" in plain[plain.index("Measured on sim:scheduler") :][:260]
    assert "What to put into production" not in page, "a simulated machine has no files"
