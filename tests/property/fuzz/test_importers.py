"""Files of other programs, edited at random: imported whole and shown, or refused in a sentence."""

import contextlib
import functools
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.places import ROOT
from tests.property.fuzz.command_line import output_of
from tests.property.fuzz.edits import as_text, damaged, edited, examples
from tests.support.pages import drawn_once, pages  # noqa: F401

import becalm
from becalm.errors import BecalmError, StoreError, UsageError
from becalm.load import sadf
from becalm.report.formats import FORMATS
from becalm.study.stored import stored
from becalm.verbs import records

pytestmark = pytest.mark.usefixtures("drawn_once")

DATA = ROOT / "tests/data"
KINDS = ("run", "compare", "tune", "hyperfine", "pyperf")


@functools.cache
def original(kind):
    """Return a valid file of this kind, as JSON."""
    if kind == "hyperfine":
        return json.loads((DATA / "hyperfine-1.20.json").read_text())
    if kind == "pyperf":
        return json.loads((DATA / "pyperf-1.0.json").read_text())
    with tempfile.TemporaryDirectory() as scratch:
        store = f"{scratch}/runs.db"
        common = {"host": "sim:normal", "seed": 1, "store": store}
        match kind:
            case "run":
                becalm.run("spin 1s", runs=4, **common)
            case "compare":
                becalm.compare(["spin 1s", "spin 2s"], runs=4, **common)
            case "tune":
                becalm.tune(["spin 1s"], **{**common, "host": "sim:laptop-a"}, budget="10s")
        return json.loads(records.export("last", store=store))


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_file_is_imported(kind, tmp_path):
    assert check(as_text(original(kind)), tmp_path)


@pytest.mark.parametrize("kind", KINDS)
@examples(6, 300)
@given(data=st.data())
def test_an_edited_file_is_imported_or_refused(kind, data, tmp_path):
    check(as_text(data.draw(edited(original(kind)), label="file")), tmp_path)


@pytest.mark.parametrize("kind", KINDS)
@examples(8, 300)
@given(data=st.data())
def test_a_damaged_file_is_imported_or_refused(kind, data, tmp_path):
    check(data.draw(damaged(as_text(original(kind))), label="text"), tmp_path)


def check(text, scratch):
    """Import a text and read it in every form; return the numbers of its studies, none where it is refused."""
    with tempfile.TemporaryDirectory(dir=scratch) as place:
        return check_in(Path(place), text)


def check_in(place, text):
    path, store = place / "file.json", str(place / "runs.db")
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    numbers, refusal = (), ""
    try:
        numbers = records.import_(path, store)
    except (UsageError, StoreError) as error:
        refusal = str(error)
    assert numbers or refusal.endswith(".")
    if refusal:
        with contextlib.suppress(StoreError):
            assert not becalm.list_studies(store).studies, "all or none"
    for number in numbers:
        document = stored(number, store)
        for row in FORMATS:
            with contextlib.suppress(BecalmError):
                assert isinstance(records.written(document, row), str)
        # The command writes the same: each file is exported in another format.
        row, file = FORMATS[len(text) % len(FORMATS)], str(place / "out")
        assert "defect" not in output_of("export", str(number), "--store", store, "--format", row.name, "--to", file)
        for more in ((), ("--json",), ("--markdown",)):
            assert "defect" not in output_of("show", str(number), "--store", store, *more)
    if numbers:
        assert "defect" not in output_of("list", "--store", store)
        assert "defect" not in output_of("list", "--store", store, "--json")
    return numbers


@examples(40, 1000)
@given(data=st.data())
def test_an_edited_record_of_sysstat_is_read_or_refused(data):
    path = data.draw(st.sampled_from(sorted((DATA / "sadf").glob("*.json"))))
    text = data.draw(st.one_of(edited(json.loads(path.read_text())).map(as_text), damaged(path.read_text())))
    with contextlib.suppress(UsageError):
        sadf.read(text)
