"""Sessions to a history: what is joined, what is not, what order rests on, and what is said of it."""

import io
import json
import math
import re

import numpy as np
import pytest
from msgspec.structs import replace
from rich.console import Console

from becalm.analysis.history import in_order, timeline
from becalm.analysis.history_table import RecordedSession, SessionBenchmark
from becalm.report import forms
from becalm.report.history.page import safe
from becalm.results.history import HistorySession
from becalm.wording import history as words
from becalm.wording.numbers import percent

ONE, TWO = ("ci-1", "Xeon, 2 CPUs", "6.1.0", ""), ("ci-2", "Epyc, 4 CPUs", "6.1.0", "")
DAY = 86_400 * 10**9


def session(number, **more):
    name = f"{number:040x}"
    values = {
        "study": number, "commit": name, "subject": f"change {number}", "branch": "main", "tags": (), "baseline": "",
        "when_ns": number * DAY, "commit_ns": number * DAY, "ordinal": number, "machine": 0, "changed": False, **more,
    }  # fmt: skip
    return HistorySession(**values)


def measured(name, value, *, unit="ns", higher=False, error=0.001):
    return SessionBenchmark(name, unit, higher, value, value * (1 - 2 * error), value * (1 + 2 * error), 15, 0)


def recorded(count=60, names=("parse", "render"), machine=ONE, seed=1, first=1, factor=1.0):
    """Return sessions of benchmarks that take 10 ms and scatter by 0.3 %."""
    rng = np.random.default_rng(seed)
    return [
        RecordedSession(
            session(number),
            machine,
            tuple(measured(name, factor * 1e7 * math.exp(0.003 * rng.standard_normal())) for name in names),
        )
        for number in range(first, first + count)
    ]


def slower(sessions, name, start, factor):
    """Return the same sessions, with a benchmark of them slower from a commit on."""
    return [
        replace(
            row,
            measured=tuple(
                measured(m.name, m.value * factor, unit=m.unit, higher=m.higher_is_better) if m.name == name else m
                for m in row.measured
            ),
        )
        if row.session.ordinal >= start
        else row
        for row in sessions
    ]


def said(history):
    console = Console(width=150, record=True, file=io.StringIO())
    console.print(forms.on_terminal(history, columns=150))
    return console.export_text()


def test_a_change_names_its_commit_its_size_and_the_commits_that_were_not_measured():
    sessions = [row for row in slower(recorded(), "render", 41, 1.04) if row.session.ordinal not in (39, 40)]
    history = timeline("app", sessions)
    (change,) = history.changes
    assert history.benchmarks[change.benchmark].name == "render"
    assert (history.sessions[change.at].ordinal, history.sessions[change.last_before].ordinal) == (41, 38)
    assert (change.unmeasured, change.worse) == (2, True)
    assert change.low < 0.04 < change.high
    assert change.one_in > 2000
    text = words.change(history, change)
    assert "render became worse by +3.99" in text
    assert "or one of 2 commits before it that were not measured" in text


def test_a_change_that_the_newest_session_shows_is_a_failure_once_and_where_it_is_for_the_worse():
    rows = slower(recorded(), "render", 41, 1.04)
    (change,) = timeline("app", rows).changes
    ends = {}
    for count in range(change.seen_at - 2, change.seen_at + 4):
        history = timeline("app", rows[:count])
        assert history.exit_code == 0
        ends[count] = words.alarmed(history)
    assert [count for count, error in ends.items() if error.exit_code] == [change.seen_at + 1]
    assert "Seen with the newest session: render became worse" in ends[change.seen_at + 1].sentence
    assert "shown no change for the worse" in ends[change.seen_at + 2].sentence
    better = words.alarmed(timeline("app", slower(recorded(), "render", 41, 0.96)[: change.seen_at + 1]))
    assert better.exit_code == 0


def test_more_is_better_where_the_metric_says_so():
    sessions = [
        replace(row, measured=(measured("rate", m.value, unit="1/s", higher=True),))
        for row in recorded(names=("rate",))
        for m in row.measured
    ]
    (change,) = timeline("app", slower(sessions, "rate", 41, 0.95)).changes
    assert change.worse
    assert change.size == pytest.approx(-0.05, abs=0.01)


def test_sessions_come_in_any_order_and_no_clock_decides():
    """Recorded the newest first, by machines whose clocks are wrong by years."""
    values = [
        replace(row, session=replace(row.session, study=100 - i, when_ns=DAY * (5000 if i % 2 else 1)))
        for i, row in enumerate(slower(recorded(), "parse", 41, 1.05))
    ][::-1]
    history = timeline("app", values)
    assert [session.ordinal for session in history.sessions] == list(range(1, 61))
    assert [history.sessions[change.at].ordinal for change in history.changes] == [41]
    (stepped,) = [finding for finding in history.findings if finding.kind == "clock_stepped"]
    assert stepped.numbers["times"] > 20
    assert "does not rest on clocks" in stepped.sentence


@pytest.mark.parametrize(
    ("order", "fields", "basis"),
    [
        ({f"{i:040x}": -i for i in range(1, 4)}, {}, "git"),
        ({}, {}, "ordinal"),
        ({}, {"ordinal": None}, "commit date"),
        ({}, {"ordinal": None, "commit_ns": None}, "as recorded"),
    ],
)
def test_the_order_rests_on_the_best_that_is_known(order, fields, basis):
    rows = [replace(row, session=replace(row.session, **fields)) for row in recorded(3)]
    ordered, result = in_order(rows, order)
    assert result == basis
    numbers = [row.session.study for row in ordered]
    assert numbers == ([3, 2, 1] if basis == "git" else [1, 2, 3])


def test_a_commit_that_is_gone_is_named_and_the_others_keep_their_order():
    """A rebase has replaced commit 3; the commits were recorded in the order 4, 3, 2, 1."""
    rows = [replace(row, session=replace(row.session, study=9 - i)) for i, row in enumerate(recorded(4), start=1)]
    order = {f"{number:040x}": number for number in (1, 2, 4)}
    history = timeline("app", rows, order=order)
    assert [session.commit for session in history.sessions] == [f"{number:040x}" for number in (1, 2, 3, 4)]
    assert history.order == "git"
    (lost,) = [finding for finding in history.findings if finding.kind == "lost_commits"]
    assert lost.numbers["commits"] == [f"{3:040x}"]
    assert "is not in this repository" in lost.sentence


def test_a_commit_that_is_gone_without_a_number_stays_behind_the_one_measured_before():
    rows = [replace(row, session=replace(row.session, ordinal=None)) for row in recorded(4)]
    ordered, _ = in_order(rows, {f"{1:040x}": 5, f"{2:040x}": 0, f"{4:040x}": 9})
    assert [row.session.study for row in ordered] == [2, 3, 1, 4]
    ordered, _ = in_order(rows, {f"{4:040x}": 9})
    assert [row.session.study for row in ordered] == [1, 2, 3, 4]


def test_a_session_with_an_unknown_interval_has_no_band_and_is_not_the_surest():
    rows = recorded(30)
    vague = replace(rows[9].measured[0], low=0.0, high=math.inf)
    rows[9] = replace(rows[9], measured=(vague, *rows[9].measured[1:]))
    history = timeline("app", rows)
    (text,) = re.findall(r'id="data">(.*?)</script>', forms.as_html(history), re.DOTALL)
    points = json.loads(text)["benchmarks"][0]["points"]
    assert points[9][2:4] == [0.0, None]
    assert points[8][3] > points[8][1]
    far = replace(vague, value=2 * vague.value)
    rows[9] = replace(rows[9], measured=(far, *rows[9].measured[1:]))
    assert timeline("app", rows).changes == ()


def test_a_benchmark_that_would_not_show_a_doubling_is_too_noisy():
    assert words.visible(0.05) == f"{percent(0.05)} %"
    assert words.visible(188.71) == "too noisy"
    assert words.visible(math.nan) == ""


def test_the_commits_of_changes_are_links_on_the_page():
    rows = slower(recorded(), "render", 41, 1.04)
    rows = [
        replace(row, session=replace(row.session, commit=f"{row.session.ordinal:02d}".ljust(40, "a"))) for row in rows
    ]
    history = timeline("app", rows, links="https://example.org/{commit}")
    page = forms.as_html(history)
    assert f'<a href="https://example.org/41{"a" * 38}" rel="noopener noreferrer">41aaaaaaaa</a>' in page
    assert "<a href" not in forms.as_html(replace(history, links=""))


def test_two_machines_are_joined_by_commits_that_both_have_measured():
    """The second machine is 30 % faster: with a bridge of five sessions, that is no change, and a later one is seen."""
    old = recorded(40, machine=ONE)
    bridge = [replace(row, machine=TWO) for row in recorded(5, seed=2, first=36, factor=0.7)]
    new = slower(recorded(40, machine=TWO, seed=3, first=41, factor=0.7), "parse", 60, 1.04)
    history = timeline("app", old + bridge + new)
    assert [machine.chain for machine in history.machines] == [0, 0]
    assert history.machines[1].bridges == 5
    assert [(history.sessions[change.at].ordinal, change.chain) for change in history.changes] == [(60, 0)]
    assert not [finding for finding in history.findings if finding.kind == "other_machine"]


def test_two_machines_without_a_bridge_are_two_histories():
    history = timeline(
        "app", recorded(40) + slower(recorded(60, machine=TWO, seed=3, first=41, factor=0.7), "parse", 80, 1.04)
    )
    assert [machine.chain for machine in history.machines] == [0, 1]
    assert [history.sessions[change.at].ordinal for change in history.changes] == [80]
    (other,) = [finding for finding in history.findings if finding.kind == "other_machine"]
    assert other.numbers["commit"] == f"{41:040x}"
    assert "not compared with the others" in other.sentence


def test_a_unit_that_changes_begins_a_new_history_and_a_new_name_is_guessed():
    rows = recorded(30) + [
        replace(row, measured=(measured("parse", 10.0, unit="ms"), measured("draw", 1e7)))
        for row in recorded(30, seed=2, first=31)
    ]
    history = timeline("app", rows)
    assert {(benchmark.name, benchmark.unit, len(benchmark.points)) for benchmark in history.benchmarks} == {
        ("parse", "ns", 30), ("parse", "ms", 30), ("render", "ns", 30), ("draw", "ns", 30),
    }  # fmt: skip
    assert history.changes == ()
    kinds = {(finding.kind, finding.program) for finding in history.findings}
    assert ("other_unit", "parse") in kinds
    (gone,) = [finding for finding in history.findings if finding.program == "render"]
    assert "--rename render=draw" in gone.sentence
    renamed = timeline("app", rows, renamed={"render": "draw"})
    assert [len(benchmark.points) for benchmark in renamed.benchmarks if benchmark.name == "draw"] == [60]


def test_a_baseline_is_compared_with_the_present_level():
    rows = slower(recorded(), "parse", 41, 1.05)
    rows[9] = replace(rows[9], session=replace(rows[9].session, baseline="v1"))
    history = timeline("app", rows, baseline="v1")
    sizes = {history.benchmarks[against.benchmark].name: against for against in history.against}
    assert history.sessions[history.baseline].ordinal == 10
    assert sizes["parse"].low < 0.05 < sizes["parse"].high
    assert abs(sizes["render"].size) < 0.02
    assert "Against v1" in said(history)


def test_without_sessions_it_says_how_to_begin():
    history = timeline("app", [])
    assert "becalm record" in history.sentence


def test_the_page_holds_hostile_names_as_text_and_its_script_has_valid_data():
    hostile = "</script><img src=x onerror=alert(1)>"
    rows = slower(recorded(names=("parse", hostile)), hostile, 41, 1.05)
    rows = [replace(row, session=replace(row.session, subject=hostile)) for row in rows]
    history = timeline(hostile, rows, links="https://example.org/{commit}")
    page = forms.as_html(history)
    assert hostile not in page
    assert "<img" not in page
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    data = json.loads(text)
    assert data["benchmarks"][1]["name"] == hostile
    assert data["sessions"][0]["link"] == f"https://example.org/{1:040x}"
    assert [change["at"] for change in data["benchmarks"][1]["changes"]] == [40]
    notes = re.findall(r'<p class="note">(.*?)</p>', page)
    assert len(notes) == len(set(notes)), "each note once"
    assert len(data["benchmarks"][0]["points"]) == 60


@pytest.mark.parametrize("text", ["<!--", "]]>", "&amp;", "\u2028", "</SCRIPT >"])
def test_json_within_a_page_ends_nothing_there(text):
    result = safe({"name": text})
    assert not set("<>&\u2028\u2029") & set(result)
    assert json.loads(result) == {"name": text}


def test_the_terminal_shows_what_changed_first():
    history = timeline("app", slower(recorded(), "render", 41, 1.04))
    text = said(history)
    assert text.index("1 change: 1 for the worse") < text.index("Changes") < text.index("Benchmarks")
    assert re.search(r"0000000000\s+render\s+\+4\.\d+ ± 0\.\d+ %", text)
    assert json.dumps(history.to_json(), allow_nan=False)


def test_a_stray_session_is_a_finding_and_no_change():
    rows = recorded()
    odd = rows[30].measured
    rows[30] = replace(rows[30], measured=(odd[0], replace(odd[1], value=odd[1].value * 1.2)))
    history = timeline("app", rows)
    assert history.changes == ()
    (stray,) = [finding for finding in history.findings if finding.kind == "stray_sessions"]
    assert stray.numbers == {"values": [["render", rows[30].session.commit]], "of": 120}
    assert "1 of 120 values is far from those of the sessions around: render at 000" in stray.sentence
    assert "far from those" in said(history)
