"""A fixture for tests that import files: importing draws the page of a study on trial, and commands draw it again."""

import json

import pytest

from becalm.report import forms


@pytest.fixture(scope="module")
def pages():
    """Remember the pages that were drawn, by what they show."""
    return {}


@pytest.fixture
def drawn_once(pages, monkeypatch):
    """Draw the page of each verdict once, whatever the number of its study."""

    def page(verdict):
        key = type(verdict), json.dumps({**verdict.to_json(), "study": None})
        if key not in pages:
            pages[key] = forms.as_html(verdict)
        return pages[key]

    for ending in (".html", ".htm"):
        monkeypatch.setitem(forms.FORMS, ending, page)


@pytest.fixture
def undrawn(monkeypatch):
    """Leave pictures empty, in tests of what else a page has: drawing takes most of its time."""

    def empty(canvas, file, **options):
        file.write('<svg viewBox="0 0 1 1"></svg>')

    monkeypatch.setattr("matplotlib.backends.backend_svg.FigureCanvasSVG.print_svg", empty)
