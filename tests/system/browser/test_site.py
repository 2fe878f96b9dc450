"""A published site in a real browser, from its files: filters, links, colours, widths, and nothing is loaded."""

import base64
import json
import os
import re
import subprocess

import pytest
from tests.directories import use_directories
from tests.needs import need
from tests.places import ROOT
from tests.support.no_repository import outside_of_repositories
from tests.support.sites import HOSTILE, SESSIONS, fill
from tests.system.browser.browser import ALONE, PHONE
from tests.waiting import HANG_LIMIT_S

import becalm

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.xdist_group("site")]

WIDTHS = (PHONE, 400, 1280)
SCRIPT = ROOT / "tests/system/browser/site.js"
PAPER = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the directory of a site."""
    place = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        use_directories(patch, place)
        outside_of_repositories(patch)
        fill(place, str(place / "runs.db"))
        becalm.publish(place / "site", store=str(place / "runs.db"), reports=2)
    return place / "site"


def browse(site, place, *words):
    """Return the page that a browser shows in the end, what its console said, and its record of the network."""
    words = [
        need("chromium"), *ALONE, f"--user-data-dir={place / 'profile'}", "--enable-logging=stderr",
        f"--log-net-log={place / 'net.json'}", "--virtual-time-budget=60000", "--dump-dom", *words,
    ]  # fmt: skip
    home = {**os.environ, "HOME": str(place)}
    done = subprocess.run(words, capture_output=True, text=True, timeout=HANG_LIMIT_S, check=True, env=home)
    console = re.findall(r":CONSOLE[:(]\d+\)?\] (.*)", done.stderr)
    return done.stdout, console, (place / "net.json").read_text(errors="replace")


@pytest.fixture(scope="module", params=["light", "dark"])
def seen(request, site, tmp_path_factory):
    """Return what was seen at each width in one choice of colours; console and network are checked."""
    place = tmp_path_factory.mktemp("browser")
    wanted = json.dumps({"widths": WIDTHS, "word": "SIM:normal"})
    driver = site / "driver.html"
    driver.write_text(
        f'<!doctype html><meta charset="utf-8"><body><script type="application/json" id="wanted">{wanted}</script>'
        f"<script>{SCRIPT.read_text()}</script>"
    )
    page, console, network = browse(
        site, place, "--allow-file-access-from-files", "--window-size=1320,1000",
        f"--blink-settings=preferredColorScheme={int(request.param == 'light')}", driver.as_uri(),
    )  # fmt: skip
    driver.unlink()
    match = re.search(r"<title>(.*?)</title>", page)
    assert match, f"The site was not looked at: {console}"
    notes = json.loads(base64.b64decode(match[1]))
    assert (console, notes["thrown"]) == ([], [])
    assert "127.0.0.1:9" not in network
    assert [look["width"] for look in notes["seen"]] == list(WIDTHS)
    return notes["seen"], request.param


def test_the_list_is_searched_and_filtered_and_the_choice_is_kept(seen):
    for look in seen[0]:
        assert (look["all"], look["found"], look["compared"], look["again"], look["back"]) == (
            SESSIONS + 2, 2, 1, 1, SESSIONS + 2,
        )  # fmt: skip
        assert look["by_command"] == 1
        assert look["told"] == f"2 of {SESSIONS + 2}."
        assert look["kept"] == "#find=SIM%3Anormal&kind=compare"


def test_links_lead_to_a_study_and_to_a_history(seen):
    for look in seen[0]:
        assert HOSTILE in look["study"]["title"]
        assert look["plots"] == 2
        assert {name for name in look["table"] if "." in name} == {
            "../index.html", f"{SESSIONS + 2}.csv", f"{SESSIONS + 2}-report.html",
        }  # fmt: skip
        assert (look["sparks"], look["graphs"]) == (2, 2)
        assert look["first"] == HOSTILE
        assert look["history"]["title"] == HOSTILE


@pytest.mark.parametrize("page", ["index", "study", "benchmarks", "history"])
def test_pages_have_their_colours_fit_their_width_and_load_only_files_of_the_site(seen, site, page):
    looks, colours = seen
    for look in looks:
        assert look[page]["paper"] == PAPER[colours]
        assert look[page]["wider"] == 0, look["width"]
        assert look[page]["images"] == 0
        assert all(name.startswith(site.as_uri() + "/becalm.") for name in look[page]["resources"])


def test_files_opened_by_hand_are_filtered_by_their_address(site, tmp_path):
    """Without permissions for a driver page: a file's policy 'self' lets its own style and script load."""
    page, console, _ = browse(site, tmp_path, f"{site.as_uri()}/index.html#kind=compare")
    assert console == []
    assert f'id="shown">1 of {SESSIONS + 2}.' in page


def test_a_policy_that_stops_something_is_seen_to_do_so(site, tmp_path):
    """The assertions on the console could fail."""
    text = (site / "index.html").read_text().replace("</main>", "<script>boom()</script></main>")
    (site / "bad.html").write_text(text)
    _, console, _ = browse(site, tmp_path, f"{site.as_uri()}/bad.html")
    (site / "bad.html").unlink()
    assert len(console) == 1
    assert "Content Security Policy" in console[0]
