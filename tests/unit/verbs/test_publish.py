"""Sites: every study has a page, only what changed is written again, and nothing of it is markup or a secret."""

import json
import re

import pytest
from tests.directories import use_directories
from tests.support.no_repository import no_repository, outside_of_repositories  # noqa: F401
from tests.support.page_elements import Page
from tests.support.pages import undrawn  # noqa: F401
from tests.support.sites import HOSTILE, SECRET, SESSIONS, fill

import becalm
from becalm.errors import UsageError
from becalm.report.site import directory
from becalm.report.site.pages import POLICY
from becalm.store import Store
from becalm.verbs import publish as publish_module

KNOWN = {
    "a", "body", "circle", "code", "dd", "details", "div", "dl", "dt", "figcaption", "figure", "footer", "form", "h1",
    "h2", "head", "html", "input", "li", "link", "main", "meta", "nav", "b", "option", "p", "path", "pre", "script",
    "section", "select", "span", "svg", "summary", "table", "tbody", "td", "th", "thead", "title", "tr", "ul",
}  # fmt: skip


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Return a filled store and the numbers of its run and its comparison."""
    place = tmp_path_factory.mktemp("filled")
    with pytest.MonkeyPatch.context() as patch:
        use_directories(patch, place)
        outside_of_repositories(patch)
        numbers = fill(place, str(place / "runs.db"))
    return str(place / "runs.db"), numbers


@pytest.fixture(scope="module")
def site(places, tmp_path_factory):
    """Return the directory of a published site, and the result."""
    path = tmp_path_factory.mktemp("site") / "new"
    with pytest.MonkeyPatch.context() as patch:
        outside_of_repositories(patch)
        return path, becalm.publish(path, store=places[0], reports=0)


@pytest.fixture
def store(store):
    becalm.run("spin 20ms", runs=5, host="sim:normal", seed=1, store=store)
    becalm.run("spin 21ms", runs=5, host="sim:normal", seed=2, store=store)
    return store


def pages(path):
    return {str(file.relative_to(path)): file.read_text() for file in path.rglob("*.html")}


def test_every_study_has_a_row_a_page_and_its_runs(site, places):
    path, published = site
    run, compared = places[1]
    page = Page((path / "index.html").read_text())
    assert {f"studies/{study.number}.html" for study in published.studies} <= set(page.values("href"))
    assert len(published.studies) == SESSIONS + 2
    assert (path / f"studies/{run}.csv").read_text().count("\n") == 1 + 20 + 1, "a head, a warm-up, 20 runs"
    text = Page((path / f"studies/{compared}.html").read_text()).text
    shown = becalm.show(compared, places[0])
    assert shown.sentence.splitlines()[0] in text
    assert "sim:normal" in text
    assert "the machine as it was" in text


def test_links_lead_to_files_of_the_site(site):
    path, _ = site
    for name, text in pages(path).items():
        for address in Page(text).values("href", "src"):
            assert (path / name).parent.joinpath(address).resolve().is_file(), f"{name}: {address}"


def test_hostile_names_are_text_and_pages_permit_nothing_else(site):
    path, _ = site
    published = pages(path)
    for name, text in published.items():
        elements = Page(text)
        if not name.startswith("projects/"):
            assert set(elements.names) <= KNOWN, name
            assert elements.values("style") == [], name
            assert POLICY in text.replace("&#39;", "'"), name
        else:
            assert "img" not in elements.names
            assert re.search(r"script-src 'sha256-[\w+/=]{44}'", text.replace("&#39;", "'")), name
    assert HOSTILE in Page(published["index.html"]).text


def test_values_of_environment_variables_are_left_out(places, tmp_path, no_repository, undrawn):  # noqa: F811
    path = tmp_path / "site"
    becalm.publish(path, store=places[0], reports=2)
    texts = {str(file): file.read_text() for file in path.rglob("*") if file.is_file()}
    assert [name for name, text in texts.items() if SECRET in text] == []
    assert any("TOKEN=" in text for text in texts.values())


def test_benchmarks_are_listed_the_worst_first_with_their_course(site):
    path, published = site
    assert published.projects == (HOSTILE,)
    text = (path / "benchmarks.html").read_text()
    rows = [Page(row).text for row in re.findall(r"<tr><th scope=\"row\">.*?</tr>", text, re.DOTALL)]
    assert [row.startswith((HOSTILE, "steady")) for row in rows] == [True, True]
    assert rows[0].startswith(HOSTILE)
    assert "+29.93" in rows[0]
    assert f"{25:040x}"[:10] in rows[0]
    assert text.count('class="spark"') == 2
    assert 'class="worse"' in text


def test_only_changed_studies_are_written_again(store, tmp_path):
    path = tmp_path / "site"
    first = becalm.publish(path, store=store, reports=0)
    before = {file: file.stat().st_ino for file in path.rglob("*") if file.is_file()}
    again = becalm.publish(path, store=store, reports=0)
    assert (first.drawn, again.drawn) == ((1, 2), ())
    assert {file: file.stat().st_ino for file in path.rglob("*") if file.is_file()} == before
    becalm.run("spin 22ms", runs=5, host="sim:normal", seed=3, store=store)
    assert becalm.publish(path, store=store, reports=0).drawn == (3,)
    (path / "studies/1.html").unlink()
    assert becalm.publish(path, store=store, reports=0).drawn == (1,)


def test_pages_of_deleted_studies_are_removed(store, tmp_path):
    path = tmp_path / "site"
    becalm.publish(path, store=store, reports=0)
    becalm.delete(1, store)
    assert becalm.publish(path, store=store, reports=0).removed == (1,)
    assert sorted(file.name for file in (path / "studies").iterdir()) == ["2.csv", "2.html"]
    assert "studies/1.html" not in (path / "index.html").read_text()


def test_full_reports_are_drawn_for_the_newest_and_kept(store, tmp_path, undrawn):  # noqa: F811
    path = tmp_path / "site"
    becalm.publish(path, store=store, reports=1)
    assert [file.name for file in (path / "studies").glob("*-report.html")] == ["2-report.html"]
    assert 'href="2-report.html"' in (path / "studies/2.html").read_text()
    assert 'href="1-report.html"' not in (path / "studies/1.html").read_text()
    assert becalm.publish(path, store=store, reports=1).drawn == ()


def test_a_site_of_another_version_is_written_anew(store, tmp_path, monkeypatch):
    path = tmp_path / "site"
    becalm.publish(path, store=store, reports=0)
    monkeypatch.setattr(directory, "FORM", directory.FORM + 1)
    assert becalm.publish(path, store=store, reports=0).drawn == (1, 2)


@pytest.mark.parametrize("manifest", [None, "", "[]", '{"kind": "other"}'])
def test_a_directory_of_somebody_else_is_refused_unchanged(store, tmp_path, manifest):
    path = tmp_path / "mine"
    path.mkdir()
    (path / "index.html").write_text("my own")
    if manifest is not None:
        (path / directory.MANIFEST).write_text(manifest)
    before = sorted(path.iterdir())
    with pytest.raises(UsageError, match="becalm did not write it"):
        becalm.publish(path, store=store)
    assert sorted(path.iterdir()) == before
    assert (path / "index.html").read_text() == "my own"


@pytest.mark.parametrize("studies", ["7", '[{"number": "../../x", "stamp": ""}]', '[{"number": 1}]', "[[]]"])
def test_a_damaged_list_of_a_site_is_as_if_empty(store, tmp_path, studies):
    path = tmp_path / "site"
    becalm.publish(path, store=store, reports=0)
    head = json.loads((path / directory.MANIFEST).read_text())
    (path / directory.MANIFEST).write_text(json.dumps({**head, "studies": json.loads(studies)}))
    assert becalm.publish(path, store=store, reports=0).drawn == (1, 2)


def test_a_damaged_study_is_listed_with_the_reason(store, tmp_path):
    with Store.open(store) as opened, opened.reading() as db:
        db.execute("UPDATE study SET options = '{' WHERE id = 1")
    warnings = []
    published = becalm.publish(tmp_path / "site", store=store, reports=0, warned=warnings.append)
    assert [study.state for study in published.studies] == ["finished", "damaged"]
    assert "Study 1 is listed without its results" in published.sentence
    assert len(warnings) == 1
    assert (tmp_path / "site/studies/1.html").is_file()


def test_a_study_that_cannot_be_concluded_does_not_stop_the_others(store, tmp_path, monkeypatch):
    real = publish_module.conclude

    def broken(document):
        if document.number == 1:
            raise KeyError("spread")
        return real(document)

    monkeypatch.setattr(publish_module, "conclude", broken)
    published = becalm.publish(tmp_path / "site", store=store, reports=0)
    assert published.drawn == (1, 2)
    assert published.left_out == ("Study 1 is listed without its results: KeyError: 'spread'.",)
    assert (tmp_path / "site/studies/1.csv").is_file()


def test_names_that_are_no_text_are_written_out(tmp_path, store):
    becalm.run("spin 20ms", name="a\udcff\x1b[31m\u202eb", runs=3, host="sim:normal", seed=1, store=store)
    becalm.publish(tmp_path / "site", store=store, reports=0)
    for text in pages(tmp_path / "site").values():
        assert not set(text) & set("\x1b\u202e")
    assert "a\\xff\\x1b[31m\\u202eb" in (tmp_path / "site/index.html").read_text()


def test_a_study_without_a_conclusion_has_its_runs(store, tmp_path):
    with Store.open(store) as opened, opened.reading() as db:
        db.execute("DELETE FROM verdict WHERE study_id = 1")
    published = becalm.publish(tmp_path / "site", store=store, reports=0)
    assert published.studies[-1].state == "unfinished"
    assert "20" in (tmp_path / "site/studies/1.html").read_text()


def test_an_empty_store_gives_an_empty_list(tmp_path):
    published = becalm.publish(tmp_path / "site", store=str(tmp_path / "empty.db"))
    assert published.studies == ()
    assert "0 studies" in published.sentence
    assert published.to_json()["studies"] == []
