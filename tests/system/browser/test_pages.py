"""The pages of run, compare, stored comparisons and histories in a real browser: light, dark, wide, on a telephone."""

import pytest
from msgspec.structs import replace
from tests.directories import use_directories
from tests.system.browser.browser import DESK, PHONE, look
from tests.unit.analysis.test_history import TWO, recorded, slower
from tests.unit.load.test_run_report import make

import becalm
from becalm.analysis.history import timeline
from becalm.report import forms

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.xdist_group("pages")]

HOSTILE = "<img src=x onerror=boom()></script><script>boom()</script>\"'&" + "w" * 60
"""A text that, wherever it becomes markup, calls a missing function or makes the page too wide."""

SESSIONS = 80


MACHINES = ("one", "two")
"""The legend of the history has a picture of each machine's colour."""


def history():
    """Return two benchmarks, of which the hostile one is slower from commit 41 on, on two machines one after the
    other."""
    sessions = slower(recorded(SESSIONS, (HOSTILE, "other")), HOSTILE, 41, 1.04)
    sessions = [replace(session, machine=TWO) if session.session.ordinal > 60 else session for session in sessions]
    sessions = [
        replace(session, session=replace(session.session, subject=f"{HOSTILE} {session.session.subject}"))
        for session in sessions
    ]
    return timeline(HOSTILE, sessions, links="https://example.org/commit/{commit}")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages by file name, with a hostile name in each."""
    place = tmp_path_factory.mktemp("pages")
    sim = {"host": "sim:normal", "seed": 1, "store": str(place / "runs.db")}
    with pytest.MonkeyPatch.context() as patch:
        use_directories(patch, place)
        run = becalm.run("spin 20ms", name=HOSTILE, runs=60, **sim)
        again = becalm.run("spin 21ms", name=HOSTILE, runs=60, **sim)
        compared = becalm.compare(["spin 20ms", "spin 21ms", "spin 20ms"], names=[HOSTILE, "b", "c"], runs=30, **sim)
        stored = becalm.compare_stored(str(run.study), str(again.study), store=sim["store"])
    documents = {"run.html": run, "compare.html": compared, "stored.html": stored, "history.html": history()}
    watched = replace(make(), program=HOSTILE, sentence=make().sentence.replace("gzip x", HOSTILE))
    return {name: forms.as_html(look) for name, look in {**documents, "watch.html": watched}.items()}


@pytest.fixture(scope="module", params=["light", "dark"])
def seen(request, pages, tmp_path_factory):
    """Looks at all of them with one choice of colours, and that choice."""
    looks, console = look(tmp_path_factory.mktemp("browser"), pages, dark=request.param == "dark")
    assert {(look.name, look.width) for look in looks} == {(name, width) for name in pages for width in (PHONE, DESK)}
    return looks, console, request.param


def test_no_script_fails_and_no_name_becomes_one(seen):
    looks, console, _ = seen
    assert console == []
    assert [look.thrown for look in looks] == [[]] * len(looks)
    assert all(look.text > 400 for look in looks)


def test_nothing_scrolls_sideways_but_what_is_meant_to(seen):
    looks, _, _ = seen
    assert {(look.name, look.width): look.wider for look in looks if look.wider} == {}


def test_every_text_can_be_read_on_paper_of_the_colour_that_was_asked_for(seen):
    looks, _, colours = seen
    assert all((look.paper < 0.1) == (colours == "dark") for look in looks), [look.paper for look in looks]
    assert {(look.name, look.width): look.faint for look in looks if look.faint} == {}


def test_pictures_are_there(seen, pages):
    looks, _, _ = seen
    assert {look.name: look.pictures for look in looks} == {
        "run.html": 4, "compare.html": 9, "stored.html": 1, "history.html": 2 + len(MACHINES),
        "watch.html": pages["watch.html"].count("<svg"),
    }  # fmt: skip


def test_a_history_tells_zooms_and_finds(seen):
    looks, _, _ = seen
    for used in (page.used for page in looks if page.name == "history.html"):
        assert (used["graphs"], used["dots"], used["back"], used["left"]) == (2, SESSIONS, SESSIONS, 0)
        assert 0 < used["zoomed"] < SESSIONS
        assert used["hues"] == len(MACHINES), "lines of different machines have different colours"
        assert used["marks"] >= 1, "the step is marked"
        assert HOSTILE in used["told"]
        assert used["link"].startswith("https://example.org/commit/")


def test_a_page_that_is_wrong_is_seen_to_be(tmp_path):
    """The assertions above can fail."""
    page = (
        "<!doctype html><body style='background:#fff;color:#999'><p>pale</p><div style='width:2000px'>wide</div>"
        "<script>boom()</script>"
    )
    looks, console = look(tmp_path, {"bad.html": page}, dark=False)
    assert len(console) == len(looks) == 2
    assert "boom is not defined" in console[0]
    assert all(look.wider > 600 for look in looks)
    assert [text.split(":")[0] for text in looks[0].faint] == ["pale", "wide"]
