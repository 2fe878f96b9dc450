"""The report of a tune study in its three forms."""

from __future__ import annotations

import io
import os
import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace
from rich.console import Console
from tests.support.page_elements import Page
from tests.unit.analysis.confirmations import PROGRAM, TRUTH, confirmation, verdict

from becalm.analysis.tune_confirmation import judge
from becalm.nouns.finding import Interval
from becalm.report.tune import figures, html, markdown, tables, terminal
from becalm.results.tune import Transfer, TuneVerdict
from becalm.results.tune_arms import BASELINE, TUNED
from becalm.wording import tune as sentences

GOLDEN = Path(__file__).parent / "golden"


def screen(result: TuneVerdict, width: int = 100, *, plain: bool = True) -> str:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False, color_system=None).print(
        terminal.search_result(result, plain=plain)
    )
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def unhelpful() -> TuneVerdict:
    truth = {BASELINE: TRUTH[BASELINE], TUNED: (TRUTH[TUNED][0], 0.055, 1.0)}
    return verdict(judge(confirmation(truth, loops=4), (PROGRAM,)))


def test_screen_is_the_one_that_was_looked_at(study: TuneVerdict) -> None:
    assert screen(study) == (GOLDEN / "helps.txt").read_text(encoding="utf-8")
    assert screen(unhelpful()) == (GOLDEN / "helps-not.txt").read_text(encoding="utf-8")


def test_plain_screen_is_ascii_and_fits_80_columns(study: TuneVerdict) -> None:
    narrow = screen(study, 80)
    assert narrow.isascii()
    assert max(map(len, narrow.splitlines())) <= 80
    assert "performance" in narrow
    assert "14." in narrow


def test_settings_of_five_places_fit_80_columns_uncut(study: TuneVerdict) -> None:
    ratio = Interval(value=3.9, low=2.3, high=6.6)
    places = ("first", "last", "firstnice", "lastnice", "pyperf")
    tried = tuple(Transfer("gcc -O2 -c -o /dev/null large.c", place, ratio) for place in places)
    narrow = screen(replace(study, transfer=tried), 80)
    lines = narrow[narrow.index("On other programs") :].splitlines()[2:7]
    assert [line.split()[-5:] for line in lines] == [[place, "3.9", "2.3", "to", "6.6"] for place in places]


def test_a_search_for_the_fastest_settings_has_no_table_of_spreads(study: TuneVerdict) -> None:
    tried = (Transfer("gcc", "pyperf", Interval(value=0.79, low=0.77, high=0.81)),)
    table = screen(replace(study, transfer=tried, objective=sentences.TIMED), 80).partition("On other programs")[2]
    assert "How many times shorter a run is with the settings" in table
    assert "spread" not in table.partition("Rows: what")[0]


def test_tests_of_four_arms_fit_80_columns_uncut(study: TuneVerdict) -> None:
    names = [arm.name for arm in study.arms if arm.program == PROGRAM]
    result = next(comparison for comparison in study.comparisons if comparison.program == PROGRAM)
    arm = next(arm for arm in study.arms if arm.name == result.arm and arm.program == PROGRAM)
    more = replace(study, comparisons=(*study.comparisons, replace(result, arm="untouched", f=2477.0)),
                   arms=(*study.arms, replace(arm, name="untouched")))  # fmt: skip
    assert "untouched" not in names
    table = screen(more, 80).partition("\nTests\n")[2].partition("Against the baseline")[0]
    for text in ("chosen settings", "llvm-tips", "pyperf", "untouched", "2,477", "299, 299", "Brown-Forsythe, p"):
        assert text in table


def test_first_lines_say_before_after_and_what_to_type(study: TuneVerdict) -> None:
    for text in (screen(study), markdown.write(study)):
        head = text[:1400]
        arms = {arm.name: arm for arm in study.arms}
        assert sentences.share(arms[BASELINE].spread.value) in head
        assert sentences.share(arms[TUNED].spread.value) in head
        assert "becalm apply 12" in head
        assert "becalm reset" in head


def test_coloured_screen_says_the_same(study: TuneVerdict) -> None:
    assert "├" in screen(study, plain=False)
    assert screen(study, plain=False).split()[:20] == screen(study).split()[:20]


@pytest.mark.parametrize(
    ("interval", "message"),
    [
        (Interval(17.8, 14.5, 21.8), "17.8 14.5 to 21.8"),
        (Interval(5.12, 4.16, 6.29), "5.1 4.2 to 6.3"),
        (Interval(18.9, 6.54, 55), "19 6.5 to 55"),
        (Interval(0.854, 0.71, 1.02), "0.85 0.71 to 1.02"),
        (Interval(1.68, 0.056, 50.6), "1.7 0.06 to 51"),
        (Interval(2.0, 0.0, float("inf")), "2.00 not known"),
        (Interval(1234.5, 1000.0, 1500.0), "1,234 1,000 to 1,500"),
        (Interval(1.0, 1.0, 1.0), "1.00 1.00 to 1.00"),
    ],
)
def test_ratios_have_the_digits_that_count(interval: Interval, message: str) -> None:
    assert f"{sentences.factor(interval)} {sentences.ends(interval)}" == message


def cells(line: str) -> int:
    return len(re.findall(r"(?<!\\)\|", line)) - 1


def test_markdown_tables_are_tables_whatever_programs_are_called() -> None:
    odd = "a | b <script> `x` *y*"
    odd_study = verdict(judge(confirmation(TRUTH, 4), (odd,)), (odd,))
    lines = markdown.write(odd_study).splitlines()
    checked = 0
    for above, line, below in zip(lines, lines[1:], lines[2:], strict=False):
        if re.fullmatch(r"\|( -+:? \|)+", line):
            checked += 1
            assert cells(above) == cells(line) == cells(below)
        elif line.startswith("|") and not re.fullmatch(r"\|( -+:? \|)+", below):
            assert not above or cells(above) == cells(line)
    assert checked == 6
    fence = lines.index("```toml")
    body = [line for index, line in enumerate(lines) if not fence <= index <= lines.index("```", fence)]
    assert not any("<script>" in line for line in body)


@pytest.fixture(scope="module")
def text() -> str:
    programs = ("a <b> & c", "a-<b> & c")
    return html.page(verdict(judge(confirmation(TRUTH, 5, programs=2), programs), programs))


def test_page_is_whole_and_needs_nothing_else(text: str) -> None:
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert not set(page.names) & {"script", "link", "iframe", "img", "object", "embed", "base"}
    for value in page.values("href", "xlink:href", "src", "action"):
        assert (value or "").startswith("#"), value
    style = text[text.index("<style>") : text.index("</style>")]
    assert "@import" not in style
    assert "url(" not in style
    assert "prefers-color-scheme: dark" in style
    assert set(re.findall(r"https?://[^\"' <]+", text)) == {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert "a <b> & c" in page.text


def test_pictures_are_well_formed_named_and_coloured_by_the_page(text: str) -> None:
    pictures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(pictures) == 7
    for picture in pictures:
        tree = ElementTree.fromstring(picture)
        assert tree.get("role") == "img"
        title = tree.find("{http://www.w3.org/2000/svg}title")
        assert title is not None
        assert len(title.text or "") > 30
        assert re.search(r"#0[0-9a-f]0[0-9a-f]0[0-9a-f]", picture) is None
        assert "var(--ink)" in picture
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    for used in re.findall(r'(?:url\(#|href="#)([^)"]+)', text):
        assert used in ids


def test_names_that_are_no_text_break_nothing() -> None:
    odd = os.fsdecode(b"a\x07\xff$x_{$</svg>")
    truth = {**TRUTH, "$\\frac{x}$": TRUTH["pyperf"]}
    odd_study = verdict(judge(confirmation(truth, 3), (odd,)), (odd,))
    text = html.page(odd_study)
    Page(text)
    assert "$\\frac{x}$" in text
    for picture in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ElementTree.fromstring(picture)
    assert markdown.write(odd_study).encode("utf-8")
    assert tomllib.loads(sentences.profile(odd_study))["settings"] == odd_study.settings


def test_page_is_the_same_when_made_again(study: TuneVerdict) -> None:
    assert html.page(study) == html.page(study)


def test_page_of_a_search_in_vain_and_of_nothing_at_all(study: TuneVerdict) -> None:
    Page(html.page(unhelpful()))
    empty = replace(study, arms=(), comparisons=(), contributions=(), trials=(), settings={}, transfer=())
    for chosen, words in (({}, "Nothing that was tried"), (study.chosen, "Nothing is known")):
        changed = replace(empty, chosen=chosen)
        changed = replace(changed, sentence=sentences.verdict(changed))
        assert words in Page(html.page(changed)).text
        assert words in screen(changed)
        assert words in markdown.write(changed)


def test_recommended_comes_second_and_left_out_arms_not_at_all(study: TuneVerdict) -> None:
    names = [arm.name for arm in tables.shown(study, PROGRAM)]
    assert names == [BASELINE, TUNED, "llvm-tips", "pyperf"]


def test_arms_that_were_measured_later_are_said_to_have_loops_of_their_own(study: TuneVerdict) -> None:
    note = tables.arm_table(study, PROGRAM).note
    assert "of its own" not in note
    profile = next(arm.name for arm in tables.shown(study, PROGRAM) if arm.name == "pyperf")
    later = [
        replace(comparison, loops=5) if comparison.arm == profile else comparison for comparison in study.comparisons
    ]
    note = tables.arm_table(replace(study, comparisons=tuple(later)), PROGRAM).note
    line = " pyperf: in 5 loops of its own, next to the baseline once more, which its reduction refers to."
    assert note.endswith(line)
    failed = [replace(arm, failed=1) if arm.name == profile else arm for arm in study.arms]
    note = tables.arm_table(replace(study, comparisons=tuple(later), arms=tuple(failed)), PROGRAM).note
    assert "of its own" not in note, "it has fewer loops because it failed"


def test_pictures_and_tables_say_the_same_of_a_setting(study: TuneVerdict) -> None:
    """A setting that the search had chosen and the confirmation left out is among them."""
    gone = study.contributions[0].knob
    changed = replace(study, settings={knob: value for knob, value in study.settings.items() if knob != gone})
    by_knob = {row[0].split(" = ")[0]: row[-1] for row in tables.knobs(changed, PROGRAM).rows}
    assert by_knob[gone] == "left out"
    assert by_knob == {
        contribution.knob: tables.decision(contribution, changed)
        for contribution in changed.contributions
        if contribution.program == PROGRAM
    }
    drawn = figures.contributions(changed, PROGRAM)
    assert f"without {gone}" in drawn
    assert "left out" in drawn


def test_a_cost_is_shown_only_where_leaving_out_one_by_one_accounts_for_it(study: TuneVerdict) -> None:
    """Each of two settings that do the same can be left out: that neither costs anything would be wrong."""
    nothing = Interval(0.0, -0.001, 0.001)
    known = tuple(replace(contribution, cost=nothing) for contribution in study.contributions)
    whole = {True: Interval(0.27, 0.26, 0.28), False: Interval(0.0005, -0.002, 0.003)}
    for unknown, shift in whole.items():
        comparisons = tuple(replace(comparison, shift=shift) for comparison in study.comparisons)
        table = tables.knobs(replace(study, contributions=known, comparisons=comparisons), PROGRAM)
        assert {row[3] == "not known" for row in table.rows} == {unknown}
        assert ("do the same" in table.note) is unknown
        drawn = figures.costs(replace(study, contributions=known, comparisons=comparisons), PROGRAM)
        for item in (finding for finding in known if finding.program == PROGRAM):
            assert (f"{item.knob} {sentences.change(nothing)}" in drawn) is not unknown, "the picture says no more"
        assert "all chosen settings" in drawn
