"""Settings for production on the terminal and as Markdown."""

import io
import json

import pytest
from rich.console import Console
from tests.unit.report.export_settings.test_forms import ORIGIN, PLACES

from becalm.nouns.excluded import Excluded
from becalm.report.export_settings.forms import files
from becalm.report.forms import as_html, as_json, as_markdown, on_terminal
from becalm.results.export_settings import Origin, ProductionFile, ProductionSettings
from becalm.wording.export_settings import whole


@pytest.fixture
def plan():
    settings = ProductionSettings(
        ORIGIN,
        {"swappiness": 10, "aslr": "off"},
        files(ORIGIN, PLACES, None),
        (Excluded("aslr", "systemd has no property for it"),),
        ("made elsewhere",),
    )
    return settings.__class__(
        **{name: getattr(settings, name) for name in settings.__slots__} | {"sentence": whole(settings)}
    )


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_has_every_file_and_what_is_left(plan, width):
    out = io.StringIO()
    Console(file=out, width=width, no_color=True).print(on_terminal(plan, plain=True, columns=width))
    text = " ".join(out.getvalue().split())
    assert text.startswith("aslr is in no file: what to do instead is below. Settings of study 12 for hackbench")
    for file in plan.files:
        assert file.path in text
    assert "vm.swappiness = 10" in text
    assert "systemd has no property for it" in text
    assert "made elsewhere" in text


def test_markdown_has_the_files_as_they_are(plan):
    text = as_markdown(plan)
    for file in plan.files:
        assert f"```\n{file.content}```" in text


def test_json_and_page_have_the_same(plan):
    value = json.loads(as_json(plan))
    assert value["kind"] == "settings for production"
    assert [file["path"] for file in value["files"]] == [file.path for file in plan.files]
    assert value["origin"]["measured"] == list(ORIGIN.measured)
    assert value["left"] == [{"knob": "aslr", "reason": "systemd has no property for it"}]
    page = as_html(plan)
    assert "systemd has no property" in page
    assert page.count("<pre>") == len(plan.files)


def test_no_file_at_all_is_reported():
    settings = ProductionSettings(ORIGIN, {"aslr": "off"}, (), (Excluded("aslr", "x"),))
    assert whole(settings) == "Settings of study 12 for hackbench: no file holds any of these settings."


def test_the_first_line_names_a_setting_that_helped_and_is_in_no_file():
    file = ProductionFile("sysctl", "/etc/sysctl.d/90.conf", "", (), (), ("swappiness",))
    left = (Excluded("isolation", "no file does it"), Excluded("aslr", "no property"))
    some = ProductionSettings(Origin("x", "settings of study 3"), {}, (file,), left, helped=("isolation", "nice"))
    first = whole(some).splitlines()[0]
    assert first.startswith("isolation, which helped most, is in no file, nor is aslr: what to do instead is below.")
    assert some.exit_code == 0
    plain = ProductionSettings(Origin("x", "single settings"), {}, (file,), left)
    assert whole(plain).startswith("isolation and aslr are in no file")
    assert ProductionSettings(Origin("x", "single settings"), {}, (), left).exit_code == 1, "nothing was written"
